"""Completeness is checked against the text, and parts of one definition in several places are one symbol."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from deltos.errors import NotFound
from deltos.languages.code_text import code_text
from tests.calling import ToolClient

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


def open_client(project: SmallProject) -> ToolClient:
    """Return all tools of a project."""
    return ToolClient(project.app.tools(), project.root)


def test_a_c_function_for_two_platforms_is_one_symbol(project: SmallProject) -> None:
    client = open_client(project.write(PORTABLE))
    for symbol in ("uv_spawn", "src/win/process.c::uv_spawn"):
        text = client.call("find_references", symbol=symbol).text
        assert "also defined: src/" in text
        assert "2 references in 2 files; 1 of 2 in tests. No other uses in code" in text
        assert "test/test-spawn.c\n 2 call" in text
        assert "other definitions" not in text
    assert "1 test" in client.call("get_impact", symbol="uv_spawn").text
    assert "include/uv.h:4-7" in client.call("find_symbol", symbol="uv_tcp_s").text


def test_a_call_of_an_undeclared_c_function_may_refer_to_each_definition(project: SmallProject) -> None:
    text = open_client(project.write(PORTABLE)).call("find_references", symbol="usage").text
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


def test_parts_of_a_class_are_one_symbol_and_global_usings_apply_to_their_project(project: SmallProject) -> None:
    text = open_client(project.write(CSHARP)).call("find_references", symbol="Money").text
    assert text.count("\ndef ") + text.startswith("def ") == 1  # the constructor has no separate answer
    assert "also defined: Shop/Core/MoneyText.cs:3" in text
    assert "Shop/Till.cs\n 5" in text
    assert " 6 call object c = new Coin(2);" in text
    cycles = open_client(project).call("detect_circular").text
    assert "5 C# files not checked: C# imports refer to namespaces, not files." in cycles
    possible = text.partition(" possible reference (")[2]
    assert "Other/Purse.cs\n 5" in possible  # another project, to which these global usings do not apply


def test_an_unresolved_line_with_the_name_is_reported(project: SmallProject) -> None:
    files = {
        "work.py": "def do_work():\n    return 1\n",
        "table.py": "# do_work is fine here\nTEXT = 'we do_work hard'\nBY_NAME = ['do_work', 'rest']\n",
        "calls.py": "import work\n\n\nwork.do_work()\n",
    }
    client = open_client(project.write(files))
    text = client.call("find_references", symbol="do_work").text
    assert "No other uses" not in text
    assert "1 more line contains the name but could not be resolved: table.py:3." in text
    project.write({"table.py": "# do_work is fine here\nTEXT = 'we do_work hard'\n"})
    assert "No other uses in code" in client.call("find_references", symbol="do_work").text


def test_references_of_implicitly_called_methods_are_never_complete(project: SmallProject) -> None:
    project.write({"v.py": "class Vec:\n    def __add__(self, other):\n        return self\n\n\nVec() + Vec()\n"})
    text = open_client(project).call("find_references", symbol="Vec.__add__").text
    assert "Implicit calls, which do not contain the name, are not tracked." in text
    assert "No other uses" not in text


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
def test_comments_and_long_strings_are_blanked(language: str, source: str, expected: str) -> None:
    found = code_text(source, language)
    assert len(found) == len(source)
    assert found.split() == expected.split()


def test_lines_with_an_undefined_name_are_reported(project: SmallProject) -> None:
    project.write({"a.php": "<?php\nclass A {\n  function newName() {}\n}\n", "b.php": "<?php\n(new A)->oldName();\n"})
    with pytest.raises(NotFound) as caught:
        project.graph().targets("A::oldName")
    assert "b.php:2" in caught.value.hint


def test_qualified_names_are_accepted_in_the_syntax_of_each_language(project: SmallProject) -> None:
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
    text = open_client(project).call("find_references", symbol="src/functions.php").text
    assert "Code in this language refers to definitions, not to files" in text


def test_strings_equal_to_a_single_word_name_are_reported_as_not_checked(project: SmallProject) -> None:
    web = "def unsign(text):\n    return text\n\n\ndef shown():\n    return unsign('a')\n"
    client = open_client(project.write({"web.py": web}))
    complete = "No other uses in code (checked against every line that contains the name).\n"
    assert complete in client.call("find_references", symbol="unsign").text
    project.write({"late.py": "import web\n\nTABLE = {'x': 'unsign'}\nprint(getattr(web, 'unsign'))\n# 'unsign'\n"})
    text = client.call("find_references", symbol="unsign").text
    scope = "checked against every line that contains the name; strings were not checked: late.py:3, late.py:4"
    assert f"No other uses in code ({scope}).\n" in text
    project.write({"web.py": web.replace("unsign('a')", "1")})
    impact = client.call("get_impact", symbol="unsign").text
    assert "refers to it by this name (strings were not checked: late.py:3, late.py:4)." in impact


def test_a_string_on_its_own_line_is_reported_unless_it_is_an_entry_of_dunder_all(project: SmallProject) -> None:
    work = "__all__ = [\n    'do_work',\n]\n\n\ndef do_work():\n    return 1\n"
    client = open_client(project.write({"work.py": work}))
    assert "No other uses" in client.call("find_references", symbol="do_work").text
    project.write({"names.py": "NAMES = [\n    'do_work',\n]\n"})
    assert "could not be resolved: names.py:2." in client.call("find_references", symbol="do_work").text


def test_a_name_found_only_with_different_capitalisation_has_a_note(project: SmallProject) -> None:
    client = open_client(project.write({"time.py": "def duration():\n    return 1\n\n\nclass Hour:\n    pass\n"}))
    for tool in ("find_symbol", "find_references", "get_impact", "get_context"):
        assert (
            "Duration is not defined; showing duration (different case)." in client.call(tool, symbol="Duration").text
        )
        assert "Note:" not in client.call(tool, symbol="Hour").text


def test_symbol_literals_in_ruby_and_paths_through_rust_modules_may_be_other_uses(project: SmallProject) -> None:
    client = open_client(
        project.write(
            {
                "shell.rb": "class Shell\n  def show_command(cmd)\n    cmd\n  end\n  private :show_command\nend\n",
                "src/lib.rs": "mod read;\npub use self::read::Reader;\n",
                "src/read.rs": "pub struct Reader;\n",
            }
        )
    )
    for symbol in ("shell.rb:2", "src/lib.rs:1"):
        assert "No other uses" not in client.call("find_references", symbol=symbol).text


def test_an_import_through_an_alias_of_a_folder_may_be_another_use(project: SmallProject) -> None:
    client = open_client(
        project.write(
            {
                "lib/tags.ts": "export function listTags() {}\n",
                "use.ts": 'import { listTags } from "~/tags"\nlistTags()\n',
            }
        )
    )
    assert "No other uses" not in client.call("find_references", symbol="lib/tags.ts:1").text
