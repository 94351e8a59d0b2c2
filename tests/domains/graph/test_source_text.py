"""Answers of the graph carry the lines they speak of, as these are on disk now."""

from __future__ import annotations

import json
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from deltos.app import App
from deltos.budget import estimate_tokens
from deltos.config import Config
from deltos.domains.graph.source import around, occurrences, printable, used_at
from tests.calling import Desk

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from deltos.isolated.process import Workers
    from tests.domains.graph.small_project import SmallProject

STORE = '''"""Where things are kept."""


class Base:
    def put(self, key): ...


class Store(Base):
    """Keeps things. Also counts them."""

    def put(self, key):
        """Keep a thing; once."""
        return key

    @staticmethod
    def made():
        def inner():
            return Store()

        return inner
'''
USER = """from store import Base, Store


def fill(store: Store, base: Base, other):
    store.put(store.put(1))
    base.put(2)
    other.put(3)


class Shelf:
    store = Store()

    def refill(self):
        def twice():
            self.store.put(4)

        twice()
"""


def tools_of(project: SmallProject) -> Desk:
    return Desk([tool for tool in project.app.tools() if tool.toolset == "graph"], project.root)


@pytest.fixture
def desk(project: SmallProject) -> Desk:
    return tools_of(project.write({"store.py": STORE, "user.py": USER}))


@pytest.fixture
def tight(project: SmallProject, tmp_path: Path, workers: Workers) -> Iterator[Desk]:
    """The same tools within 500 tokens."""
    with closing(App(Config(home=tmp_path / "tight", token_budget=500), workers=workers)) as app:
        yield Desk([tool for tool in app.tools() if tool.toolset == "graph"], project.root)


def test_a_reference_has_its_line_its_kind_and_the_definition_around_it(desk: Desk) -> None:
    text = desk.call("find_references", symbol="Store").text
    assert text.startswith(
        "def Store store.py:8-20 class (Base)\n4 references in 2 files, no test files; complete: no other uses in code"
        ", compared with every line that has the name\n"
    )
    assert "store.py\n 18 call return Store()  Store.made.inner\n" in text
    assert " 1 from store import Base, Store\n" in text
    assert " 4 type def fill(store: Store, base: Base, other):\n" in text
    assert " 11 call store = Store()  Shelf" in text


def test_calls_through_a_base_and_possible_ones_are_groups_of_their_own(desk: Desk) -> None:
    text = desk.call("find_references", symbol="Store.put").text
    assert text.split("\n---")[0].endswith(
        "2 references in 1 file, 1 through another definition, 1 possible, no test files; "
        "complete with those: no other uses in code, compared with every line that has the name\nuser.py\n"
        " 5:11,21 call store.put(store.put(1))  fill\n"
        " 15 call self.store.put(4)  Shelf.refill.twice"
    )
    assert "--- through Base.put, which it implements or overrides ---\nuser.py\n 6 call base.put(2)  fill\n" in text
    assert "--- possible: unknown receiver, 2 definitions share the name ---\nuser.py\n 7 call other.put(3)" in text


def test_a_protocol_is_fulfilled_without_being_named(project: SmallProject) -> None:
    project.write({
        "shape.py": "from typing import Protocol\n\n\nclass Keeps(Protocol):\n    def put(self, key): ...\n\n\n"
        "class Loses(Protocol):\n    def put(self, key): ...\n    def lose(self): ...\n",
        "disk.py": "class Disk:\n    def put(self, key):\n        return key\n",
        "use.py": "from shape import Keeps, Loses\n\n\ndef run(keeps: Keeps, loses: Loses):\n    keeps.put(1)\n    loses.put(2)\n",
    })  # fmt: skip
    text = tools_of(project).call("find_references", symbol="Disk.put").text
    assert "through Keeps.put" in text
    assert "5 call keeps.put(1)  run" in text
    assert "loses.put" not in text.split("possible")[0]


def test_interfaces_of_go_are_fulfilled_by_methods(project: SmallProject) -> None:
    project.write({
        "go.mod": "module example.com/a\n",
        "a.go": "package a\n\ntype Putter interface {\n\tPut(key string)\n}\n\ntype Disk struct{}\n\n"
        "// Put keeps a key. It never fails.\nfunc (d *Disk) Put(key string) {\n}\n\nfunc fill(p Putter) {\n\tp.Put(\"a\")\n}\n",
    })  # fmt: skip
    text = tools_of(project).call("find_references", symbol="Disk.Put").text
    assert 'through Putter.Put, which it implements or overrides ---\na.go\n 14 call p.Put("a")  fill' in text
    assert text.startswith("def Disk.Put a.go:10-11 method func (d *Disk) Put(key string)\n")


def test_decorators_defaults_and_class_bodies_belong_to_their_definition(project: SmallProject) -> None:
    project.write({
        "marks.py": "def mark(value):\n    return value\n\n\ndef limit():\n    return 3\n",
        "use.py": "from marks import limit, mark\n\n\nclass Case:\n    most = limit()\n\n    @mark\n    def run(self, n=limit()):\n"
        "        return [limit() for _ in range(n)]\n",
    })  # fmt: skip
    desk = tools_of(project)
    assert " 7 decorate @mark  Case.run" in desk.call("find_references", symbol="mark").text
    text = desk.call("find_references", symbol="limit").text
    assert " 5 call most = limit()  Case\n" in text
    assert " 9 call return [limit() for _ in range(n)]  Case.run" in text


def test_direct_dependants_show_the_line_that_depends(desk: Desk) -> None:
    text = desk.call("get_impact", symbol="Store.put").text
    assert "--- distance 1 ---\nuser.py\n 5:11,21 call store.put(store.put(1))  fill (+1 line)\n" in text
    assert " 15 call self.store.put(4)  Shelf.refill.twice" in text
    assert "--- distance 2 ---\nuser.py 13 Shelf.refill" in text


def test_context_shows_a_short_definition_whole_and_callers_with_their_lines(desk: Desk) -> None:
    text = desk.call("get_context", symbol="Store.put").text
    assert text.startswith(
        'def Store.put store.py:11-13 method (self, key)\ndef put(self, key):\n    """Keep a thing; once."""\n    return key\n'
    )
    assert "--- callers (2) ---\nuser.py\n 5:11,21 call store.put(store.put(1))  fill" in text
    assert "--- overrides (1) ---\nstore.py\n 5 Base.put(self, key)" in text
    members = desk.call("get_context", symbol="Store").text
    assert " 11 put(self, key) — Keep a thing; once." in members
    assert "--- bases (1) ---\nstore.py\n 4 Base" in members


@pytest.mark.parametrize(
    ("symbol", "found"),
    [
        ("store.py:11", "def Store.put store.py:11-13"),
        ("./store.py:13", "def Store.put store.py:11-13"),
        ("store.py:18:9", "def Store.made.inner store.py:17-18"),
        ("store.py:9-12", "def Store store.py:8-20"),
        ("store.py::Store.put", "def Store.put store.py:11-13"),
        ("user.py::twice", "def Shelf.refill.twice user.py:14-15"),
        ("store.Store.put", "def Store.put store.py:11-13"),
    ],
)
@pytest.mark.parametrize("tool", ["find_symbol", "find_references", "get_impact", "get_context"])
def test_a_symbol_can_be_given_by_its_place(tool: str, symbol: str, found: str, desk: Desk) -> None:
    assert found in desk.call(tool, symbol=symbol).text


def test_a_place_that_is_not_there_says_what_is(desk: Desk) -> None:
    with pytest.raises(Exception, match=r"No file 'gone.py' in the graph"):
        desk.call("find_references", symbol="gone.py:3")
    with pytest.raises(Exception, match=r"No definition on store.py:1. Nearest: Base on line 4"):
        desk.call("find_references", symbol="store.py:1")
    with pytest.raises(Exception, match=r"store.py defines Base, Base.put, Store"):
        desk.call("find_references", symbol="store.py::nothing")
    with pytest.raises(Exception, match="outside the project"):
        desk.call("find_references", symbol="../store.py:3")


def test_an_edit_moves_the_lines_that_are_shown(desk: Desk, project: SmallProject) -> None:
    assert " 15 call self.store.put(4)" in desk.call("find_references", symbol="Store.put").text
    # Right after an answer the disk may not be looked at again: the text itself shows that the file is another.
    project.write({"user.py": "# one more line\n" + USER.replace("put(4)", "put(44)")})
    text = desk.call("find_references", symbol="Store.put").text
    assert " 16 call self.store.put(44)  Shelf.refill.twice" in text
    assert "put(4)" not in text


def test_lines_of_a_file_that_changed_unseen_are_not_shown(project: SmallProject) -> None:
    graph = project.write({"store.py": STORE, "user.py": USER}).graph()
    (target,) = graph.targets("Store.put")
    found = graph.references(target)
    project.write({"user.py": "\n\n" + USER})
    assert graph.source.lines((row.path, row.line) for row in found.certain) == {}
    assert graph.source.changed == {"user.py"}


def test_a_tight_budget_shortens_lines_around_the_use_and_then_cuts_between_them(
    project: SmallProject, tight: Desk
) -> None:
    padding = " + ".join(f"filler_{n}" for n in range(9))
    calls = "".join(f"    value_{n} = {padding} + keep({n}) + {padding}\n" for n in range(60))
    project.write({"a.py": f"def keep(n):\n    return n\n\n\ndef run():\n{calls}"})
    text = tight.call("find_references", symbol="keep", limit=8).text
    assert estimate_tokens(text) <= 500
    for number in range(8):
        assert f"keep({number})" in text
    assert "…" in text
    everything = tight.call("find_references", symbol="keep", limit=60).text
    assert estimate_tokens(everything) <= 500
    shown = everything.count("keep(")
    assert 20 < shown < 60
    assert everything.startswith(f"showing {shown}/60 references (the token budget is full")


def test_what_the_limit_leaves_out_is_counted_by_file(project: SmallProject) -> None:
    project.write(
        {"a.py": "def keep():\n    pass\n", **{f"u{n}.py": "from a import keep\n\nkeep()\n" for n in range(9)}}
    )
    text = tools_of(project).call("find_references", symbol="keep", limit=3).text
    assert text.startswith("showing 3/18 references (increase limit for more)\n")
    assert "--- not shown: u2.py 2, u3.py 2, u4.py 2, u5.py 2, u6.py 2, u7.py 2, u8.py 2, u1.py 1 ---" in text


def test_lines_of_one_definition_that_say_the_same_are_told_once_with_all_their_numbers(project: SmallProject) -> None:
    project.write(
        {"a.py": "def keep():\n    pass\n\n\ndef run():\n    keep()\n    keep()\n\n\ndef more():\n    keep()\n"}
    )
    text = tools_of(project).call("find_references", symbol="keep").text
    assert text.endswith("that has the name\na.py\n 6,7 call keep()  run\n 11 call keep()  more")


def test_hostile_text_of_a_line_is_neutralised_and_short(project: SmallProject) -> None:
    line = "keep('\x1b[2J\u202e\x07')" + "; x = 'y'" * 400 + "; keep(2)"
    project.write({"a.py": "# many short lines\n" * 20 + f"def keep(n):\n    return n\n\n\n{line}\n"})
    text = tools_of(project).call("find_references", symbol="keep").text
    assert text.replace("\n", "").isprintable()
    assert "keep('\ufffd[2J\ufffd\ufffd')" in text
    assert len(text) < 400


def test_a_line_is_shortened_around_the_use() -> None:
    text = "a" * 300 + " use() " + "b" * 300
    shown = around(text, 301, 60)
    assert len(shown) <= 60
    assert "use()" in shown
    assert shown[0] == shown[-1] == "…"
    assert around("short", 0, 60) == "short"
    assert around(text, 0, 20) == "a" * 18 + "…"


def test_a_name_is_found_as_a_whole_word_where_it_is_used_as_said() -> None:
    assert occurrences("put(input, x.put, put_all, $put)", "put") == [0, 13]
    assert occurrences("x", "") == []
    assert used_at("put = self.put(put)", ["put"], "call", is_member=True) == [11]
    assert used_at("put = put(put(1))", ["put"], "call", is_member=False) == [6, 10]
    assert used_at("return Cart()", ["__init__", "Cart"], "call", is_member=True) == [7]
    assert printable("a\tb\x00c\u2029 ") == "a b\ufffdc"


def test_a_line_of_many_uses_takes_no_longer_than_it_is_long(project: SmallProject) -> None:
    line = "; ".join(["keep(1)"] * 12_000)
    project.write({"a.py": "# many short lines\n" * 500 + f"def keep(n):\n    return n\n\n\n{line}\n"})
    text = tools_of(project).call("find_references", symbol="keep").text
    assert " 505:1,10,19,28,… call keep(1); keep(1)" in text
    assert len(text) < 400


def test_every_reference_has_its_text_as_data(project: SmallProject, capsys: pytest.CaptureFixture[str]) -> None:
    from deltos.cli.main import main

    project.write({"store.py": STORE, "user.py": USER})
    assert main(["graph", "refs", "Store.put", "--json", "--project", str(project.root)]) == 0
    (answer,) = map(json.loads, capsys.readouterr().out.splitlines())
    assert [(row["line"], row["certain"], row["via"], row["text"]) for row in answer["references"]] == [
        (5, True, "direct", "store.put(store.put(1))"),
        (15, True, "direct", "self.store.put(4)"),
        (6, False, "interface", "base.put(2)"),
        (7, False, "text", "other.put(3)"),
    ]


def second_line(desk: Desk, **asked: Any) -> str:
    return desk.call("find_references", **asked).text.split("\n")[1]


def test_what_belongs_to_other_definitions_of_the_name_is_counted_and_these_are_named(project: SmallProject) -> None:
    project.write(
        {
            "a.py": "class A:\n    def put(self): ...\n\n\nclass B:\n    def put(self): ...\n",
            "use.py": "from a import A, B\n\nA().put()\nB().put()\nB().put()\n",
            "tests/test_use.py": "from a import A\n\n\ndef test_put():\n    A().put()\n",
        }
    )
    assert second_line(tools_of(project), symbol="A.put") == (
        "2 references in 2 files, 1 in tests; complete: no other uses in code, compared with every line that has the name; "
        "not listed: 2 of other definitions named put (B.put a.py:6)"
    )
    assert "2 references in 1 file, none in 1 test file; complete" in second_line(tools_of(project), symbol="B.put")


def test_uses_are_narrowed_to_a_folder_or_to_what_is_no_test(project: SmallProject) -> None:
    use = "from a import keep\n\nkeep()\n"
    project.write({"a.py": "def keep(): ...\n", "src/u.py": use, "other/u.py": use, "tests/test_a.py": use})
    desk = tools_of(project)
    asked = "complete: no other uses in what was asked for, compared with every line that has the name"
    below = f"2 references in 1 file; {asked}; not listed: 4 elsewhere"
    assert second_line(desk, symbol="keep", path="src/") == below
    assert second_line(desk, symbol="keep", path="src/*.py") == below
    text = desk.call("find_references", symbol="keep", tests=False).text
    assert f"4 references in 2 files; {asked}; not listed: 2 elsewhere" in text
    assert "tests/test_a.py" not in text


def test_a_list_that_was_cut_is_not_called_complete(project: SmallProject) -> None:
    project.write({"a.py": "def keep(): ...\n\n\nkeep()\nkeep(1)\n"})
    assert "complete" not in tools_of(project).call("find_references", symbol="keep", limit=1).text


JAVA = """\
class Shop {
  interface Maker { <T> Box<T> make(Shop shop, Kind<T> kind); }
  void all(Maker maker) { maker.make(this, null); }
  void some() {
    var one = Lists.of(1).get(0);
    one.make();
    one.make("a, b", 2);
    one.make(f(1, 2));
    one.make(
        1);
  }
}
"""


def test_a_call_on_an_unknown_value_with_another_number_of_arguments_is_none(project: SmallProject) -> None:
    project.write({"Shop.java": JAVA})
    text = tools_of(project).call("find_references", symbol="Maker.make").text
    certain, possible = text.split("--- possible")
    assert "3 call void all(Maker maker) { maker.make(this, null); }" in certain
    assert [line.split()[0] for line in possible.splitlines()[2:]] == ["7", "8", "9"]
    assert "not listed: 1 with another number of arguments" in text


def test_columns_of_a_line_that_has_another_definition_of_the_name_are_alternatives(project: SmallProject) -> None:
    project.write(
        {
            "url.py": "class Url:\n    def port(self) -> int: ...\n",
            "use.py": "from url import Url\n\n\nclass Pattern:\n    def port(self) -> int: ...\n\n"
            "    def is_like(self, url: Url) -> bool:\n        return self.port() == url.port()\n",
        }
    )
    assert (
        " 8:21|35 call return self.port() == url.port()"
        in tools_of(project).call("find_references", symbol="Url.port").text
    )
