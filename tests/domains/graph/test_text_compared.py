"""An answer is complete only where the text has the name nowhere else; what is defined in several places is one thing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from deltos.errors import NotFound
from deltos.languages.code_text import code_text
from tests.calling import Desk

if TYPE_CHECKING:
    from tests.domains.graph.small_project import SmallProject

PORTABLE = {
    "include/uv.h": "#define UV_EXTERN\ntypedef struct uv_loop_s uv_loop_t;\nUV_EXTERN int uv_spawn(uv_loop_t* loop);\n"
    "struct uv_tcp_s {\n  UV_HANDLE_FIELDS\n  UV_STREAM_FIELDS\n};\n",
    "src/unix/process.c": '#include "uv.h"\nint uv_spawn(uv_loop_t* loop) { return 1; }\n',
    "src/win/process.c": '#include "uv.h"\nint uv_spawn(uv_loop_t* loop) { return 2; }\n',
    "test/test-spawn.c": '#include "uv.h"\nint main(void) { return uv_spawn(0); }\n',
    "one.c": "int usage(void) { return 1; }\n",
    "two.c": "int usage(void) { return 2; }\n",
    "three.c": "int usage(void);\nint other(void) { return usage(); }\n",
}


def desk_of(project: SmallProject) -> Desk:
    return Desk(project.app.tools(), project.root)


def test_a_function_of_c_for_two_platforms_is_one_with_all_its_uses(project: SmallProject) -> None:
    desk = desk_of(project.write(PORTABLE))
    for symbol in ("uv_spawn", "src/win/process.c::uv_spawn"):
        text = desk.call("find_references", symbol=symbol).text
        assert "also defined: src/" in text
        assert "2 references in 2 files, 1 in tests; complete: no other uses in code" in text
        assert "test/test-spawn.c\n 2 call" in text
        assert "of other definitions" not in text
    assert "1 test" in desk.call("get_impact", symbol="uv_spawn").text
    assert "include/uv.h:4-7" in desk.call("find_symbol", symbol="uv_tcp_s").text


def test_functions_of_c_that_no_header_declares_may_be_meant_all(project: SmallProject) -> None:
    text = desk_of(project.write(PORTABLE)).call("find_references", symbol="usage").text
    assert "0 references in 0 files, 2 possible" in text
    assert " 2 call int other(void) { return usage(); }" in text


CSHARP = {
    "Shop/Shop.csproj": "<Project/>\n",
    "Shop/GlobalUsings.cs": "global using Shop.Core;\nglobal using Coin = Shop.Core.Money;\n",
    "Shop/Core/Money.cs": "namespace Shop.Core;\n\npublic partial class Money\n{\n    public Money(int cents) {}\n}\n",
    "Shop/Core/MoneyText.cs": 'namespace Shop.Core;\n\npublic partial class Money\n{\n    public string Text() => "";\n}\n',
    "Shop/Till.cs": "namespace Shop.Front;\n\nclass Till\n{\n    Money m = new Money(1);\n    object c = new Coin(2);\n}\n",
    "Other/Other.csproj": "<Project/>\n",
    "Other/Purse.cs": "namespace Other;\n\nclass Purse\n{\n    Money m;\n}\n",
}


def test_parts_of_a_class_are_one_and_global_usings_hold_in_their_project(project: SmallProject) -> None:
    text = desk_of(project.write(CSHARP)).call("find_references", symbol="Money").text
    assert text.count("\ndef ") + text.startswith("def ") == 1  # the constructor is no second answer
    assert "also defined: Shop/Core/MoneyText.cs:3" in text
    assert "Shop/Till.cs\n 5" in text
    assert " 6 call object c = new Coin(2);" in text
    cycles = desk_of(project).call("detect_circular").text
    assert "Those of 5 files of C# are not known: its imports name no files." in cycles
    possible = text.partition("--- possible")[2]
    assert "Other/Purse.cs\n 5" in possible  # another project: its usings are not these


def test_a_line_that_has_the_name_and_is_known_as_nothing_is_told(project: SmallProject) -> None:
    files = {
        "work.py": "def do_work():\n    return 1\n",
        "table.py": "# do_work is fine here\nTEXT = 'we do_work hard'\nBY_NAME = ['do_work', 'rest']\n",
        "calls.py": "import work\n\n\nwork.do_work()\n",
    }
    desk = desk_of(project.write(files))
    text = desk.call("find_references", symbol="do_work").text
    assert "complete" not in text
    assert "1 more line with the name, as what is not known: table.py:3" in text
    project.write({"table.py": "# do_work is fine here\nTEXT = 'we do_work hard'\n"})
    assert "complete: no other uses in code" in desk.call("find_references", symbol="do_work").text


def test_what_runs_without_being_named_is_never_complete(project: SmallProject) -> None:
    project.write({"v.py": "class Vec:\n    def __add__(self, other):\n        return self\n\n\nVec() + Vec()\n"})
    text = desk_of(project).call("find_references", symbol="Vec.__add__").text
    assert "calls that do not write its name are not known" in text
    assert "complete" not in text


@pytest.mark.parametrize(
    ("language", "source", "expected"),
    [
        ("python", "a = 'b c'  # d\n'''e\nf'''\n'g'", "a =           \n     \n     \n'g'"),
        ("c", 'a /* b\n c */ \'d\' "e f" "g" // h', "a 'd' \"g\""),
        ("rust", "fn f<'a>(x: &'a T) { '\\'' }", "fn f<'a>(x: &'a T) {      }"),
        ("php", "#[Attr]\n# no\n$a = 'b';", "#[Attr]\n    \n$a = 'b';"),
        ("java", '"open\nnext /* never', '"open\nnext         '),
    ],
)
def test_comments_and_texts_are_no_code(language: str, source: str, expected: str) -> None:
    found = code_text(source, language)
    assert len(found) == len(source)
    assert found.split() == expected.split()


def test_a_name_that_is_gone_but_written_somewhere_is_told(project: SmallProject) -> None:
    project.write({"a.php": "<?php\nclass A {\n  function newName() {}\n}\n", "b.php": "<?php\n(new A)->oldName();\n"})
    with pytest.raises(NotFound) as caught:
        project.graph().targets("A::oldName")
    assert "b.php:2" in caught.value.hint


def test_names_are_understood_as_their_languages_write_them(project: SmallProject) -> None:
    project.write({
        "lib/src/main/java/io/shop/Cart.java": "package io.shop;\npublic class Cart {\n  public Cart() {}\n  void add() {}\n}\n",
        "lib/src/main/java/io/shop/Use.java": "package io.shop;\nclass Use {\n  void go() { new Cart().add(); }\n}\n",
        "src/Handler/Curl.php": "<?php\nnamespace Acme\\Handler;\nclass Curl {\n  public static function send() {}\n}\n",
        "src/functions.php": "<?php\nnamespace Acme;\nfunction describe_type() {}\n",
    })  # fmt: skip
    graph = project.graph()
    named = {
        "io.shop.Cart": "Cart",
        "io.shop.Cart.add": "Cart.add",
        "\\Acme\\Handler\\Curl": "Curl",
        "Acme\\Handler\\Curl::send": "Curl.send",
        "Acme\\describe_type": "describe_type",
    }
    assert {name: [target.first.label for target in graph.targets(name)] for name in named} == {
        name: [label] for name, label in named.items()
    }
    assert [row.name for row in graph.find(r"\bdescribe\w+")] == ["describe_type"]
    text = desk_of(project).call("find_references", symbol="src/functions.php").text
    assert "files are not what this language refers to" in text


def test_a_plain_word_in_quotes_is_not_compared_and_that_is_said(project: SmallProject) -> None:
    web = "def unsign(text):\n    return text\n\n\ndef shown():\n    return unsign('a')\n"
    desk = desk_of(project.write({"web.py": web}))
    sure = "complete: no other uses in code, compared with every line that has the name\n"
    assert sure in desk.call("find_references", symbol="unsign").text
    project.write({"late.py": "import web\n\nTABLE = {'x': 'unsign'}\nprint(getattr(web, 'unsign'))\n# 'unsign'\n"})
    text = desk.call("find_references", symbol="unsign").text
    told = "compared with every line of code that has the name, not with texts in quotes: late.py:3, late.py:4\n"
    assert f"complete: no other uses in code, {told}" in text
    project.write({"web.py": web.replace("unsign('a')", "1")})
    impact = desk.call("get_impact", symbol="unsign").text
    assert "refers to it by this name, except perhaps texts in quotes: late.py:3, late.py:4" in impact


def test_a_word_on_a_line_of_its_own_counts_unless_all_lists_it(project: SmallProject) -> None:
    work = "__all__ = [\n    'do_work',\n]\n\n\ndef do_work():\n    return 1\n"
    desk = desk_of(project.write({"work.py": work}))
    assert "complete" in desk.call("find_references", symbol="do_work").text
    project.write({"names.py": "NAMES = [\n    'do_work',\n]\n"})
    assert "as what is not known: names.py:2" in desk.call("find_references", symbol="do_work").text


def test_a_name_that_is_found_in_other_case_only_is_told(project: SmallProject) -> None:
    desk = desk_of(project.write({"time.py": "def duration():\n    return 1\n\n\nclass Hour:\n    pass\n"}))
    for tool in ("find_symbol", "find_references", "get_impact", "get_context"):
        assert "No Duration; found duration." in desk.call(tool, symbol="Duration").text
        assert "Note:" not in desk.call(tool, symbol="Hour").text
