"""Source lines in graph answers: current text, kinds, columns, truncation and filters."""

from __future__ import annotations

import json
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from deltos.app import App
from deltos.budget import estimate_tokens
from deltos.config import Config
from deltos.domains.graph.source_lines import occurrences, printable, shorten_around, use_offsets
from tests.calling import ToolClient

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from deltos.isolated.process_pool import ProcessPool
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


def graph_client(project: SmallProject) -> ToolClient:
    """Return the graph tools of a project."""
    return ToolClient([tool for tool in project.app.tools() if tool.toolset == "graph"], project.root)


@pytest.fixture
def client(project: SmallProject) -> ToolClient:
    """Return the graph tools of a project in which one file uses the definitions of another."""
    return graph_client(project.write({"store.py": STORE, "user.py": USER}))


@pytest.fixture
def small_budget_client(project: SmallProject, tmp_path: Path, workers: ProcessPool) -> Iterator[ToolClient]:
    """Yield the graph tools of the project with a budget of 500 tokens."""
    with closing(App(Config(home=tmp_path / "tight", token_budget=500), workers=workers)) as app:
        yield ToolClient([tool for tool in app.tools() if tool.toolset == "graph"], project.root)


def test_a_reference_is_shown_with_its_line_kind_and_enclosing_definition(client: ToolClient) -> None:
    text = client.call("find_references", symbol="Store").text
    assert text.startswith(
        "def Store store.py:8-20 class (Base)\n4 references in 2 files; no test files. No other uses in code "
        "(checked against every line that contains the name).\n"
    )
    assert "store.py\n 18 call return Store()  Store.made.inner\n" in text
    assert " 1 from store import Base, Store\n" in text
    assert " 4 type def fill(store: Store, base: Base, other):\n" in text
    assert " 11 call store = Store()  Shelf" in text


def test_uses_through_a_base_class_and_possible_uses_are_separate_groups(client: ToolClient) -> None:
    text = client.call("find_references", symbol="Store.put").text
    assert text.split("\n---")[0].endswith(
        "2 references in 1 file, 1 through a base or override, 1 possible; no test files. "
        "No other uses in code (checked against every line that contains the name).\nuser.py\n"
        " 5:11,21 call store.put(store.put(1))  fill\n"
        " 15 call self.store.put(4)  Shelf.refill.twice"
    )
    assert "--- through Base.put, which it implements or overrides ---\nuser.py\n 6 call base.put(2)  fill\n" in text
    title = "--- 1 possible reference (same name, receiver type unknown; 2 definitions have the name) ---"
    assert f"{title}\nuser.py\n 7 call other.put(3)" in text


def test_a_class_with_matching_methods_implements_a_protocol_it_does_not_name(project: SmallProject) -> None:
    project.write({
        "shape.py": "from typing import Protocol\n\n\nclass Keeps(Protocol):\n    def put(self, key): ...\n\n\n"
        "class Loses(Protocol):\n    def put(self, key): ...\n    def lose(self): ...\n",
        "disk.py": "class Disk:\n    def put(self, key):\n        return key\n",
        "use.py": "from shape import Keeps, Loses\n\n\ndef run(keeps: Keeps, loses: Loses):\n    keeps.put(1)\n    loses.put(2)\n",
    })  # fmt: skip
    text = graph_client(project).call("find_references", symbol="Disk.put").text
    assert "through Keeps.put" in text
    assert "5 call keeps.put(1)  run" in text
    assert "loses.put" not in text.split("possible")[0]


def test_go_interfaces_are_implemented_by_methods(project: SmallProject) -> None:
    project.write({
        "go.mod": "module example.com/a\n",
        "a.go": "package a\n\ntype Putter interface {\n\tPut(key string)\n}\n\ntype Disk struct{}\n\n"
        "// Put keeps a key. It never fails.\nfunc (d *Disk) Put(key string) {\n}\n\nfunc fill(p Putter) {\n\tp.Put(\"a\")\n}\n",
    })  # fmt: skip
    text = graph_client(project).call("find_references", symbol="Disk.Put").text
    assert 'through Putter.Put, which it implements or overrides ---\na.go\n 14 call p.Put("a")  fill' in text
    assert text.startswith("def Disk.Put a.go:10-11 method func (d *Disk) Put(key string)\n")


def test_decorators_defaults_and_class_bodies_belong_to_their_definition(project: SmallProject) -> None:
    project.write({
        "marks.py": "def mark(value):\n    return value\n\n\ndef limit():\n    return 3\n",
        "use.py": "from marks import limit, mark\n\n\nclass Case:\n    most = limit()\n\n    @mark\n    def run(self, n=limit()):\n"
        "        return [limit() for _ in range(n)]\n",
    })  # fmt: skip
    client = graph_client(project)
    assert " 7 decorate @mark  Case.run" in client.call("find_references", symbol="mark").text
    text = client.call("find_references", symbol="limit").text
    assert " 5 call most = limit()  Case\n" in text
    assert " 9 call return [limit() for _ in range(n)]  Case.run" in text


def test_direct_dependants_are_shown_with_their_source_line(client: ToolClient) -> None:
    text = client.call("get_impact", symbol="Store.put").text
    assert "--- distance 1 ---\nuser.py\n 5:11,21 call store.put(store.put(1))  fill (+1 line)\n" in text
    assert " 15 call self.store.put(4)  Shelf.refill.twice" in text
    assert "--- distance 2 ---\nuser.py 13 Shelf.refill" in text


def test_context_shows_the_source_of_a_short_definition_and_its_callers(client: ToolClient) -> None:
    text = client.call("get_context", symbol="Store.put").text
    assert text.startswith(
        'def Store.put store.py:11-13 method (self, key)\ndef put(self, key):\n    """Keep a thing; once."""\n    return key\n'
    )
    assert "--- callers (2) ---\nuser.py\n 5:11,21 call store.put(store.put(1))  fill" in text
    assert "--- overrides (1) ---\nstore.py\n 5 Base.put(self, key)" in text
    members = client.call("get_context", symbol="Store").text
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
def test_a_symbol_can_be_given_by_its_location(tool: str, symbol: str, found: str, client: ToolClient) -> None:
    assert found in client.call(tool, symbol=symbol).text


def test_errors_for_unknown_locations_name_existing_definitions(client: ToolClient) -> None:
    with pytest.raises(Exception, match=r"No file 'gone.py' in the graph"):
        client.call("find_references", symbol="gone.py:3")
    with pytest.raises(Exception, match=r"No definition on store.py:1. Nearest: Base on line 4"):
        client.call("find_references", symbol="store.py:1")
    with pytest.raises(Exception, match=r"store.py defines Base, Base.put, Store"):
        client.call("find_references", symbol="store.py::nothing")
    with pytest.raises(Exception, match="outside the project"):
        client.call("find_references", symbol="../store.py:3")


def test_answers_after_an_edit_show_the_new_lines(client: ToolClient, project: SmallProject) -> None:
    assert " 15 call self.store.put(4)" in client.call("find_references", symbol="Store.put").text
    # The disk may not be checked again directly after an answer; the source text shows that the file has changed.
    project.write({"user.py": "# one more line\n" + USER.replace("put(4)", "put(44)")})
    text = client.call("find_references", symbol="Store.put").text
    assert " 16 call self.store.put(44)  Shelf.refill.twice" in text
    assert "put(4)" not in text


def test_lines_of_a_file_that_changed_after_indexing_are_not_shown(project: SmallProject) -> None:
    graph = project.write({"store.py": STORE, "user.py": USER}).graph()
    (target,) = graph.targets("Store.put")
    found = graph.references(target)
    project.write({"user.py": "\n\n" + USER})
    assert graph.source.lines((row.path, row.line) for row in found.certain) == {}
    assert graph.source.changed == {"user.py"}


def test_a_small_budget_shortens_lines_around_the_use_and_then_drops_lines(
    project: SmallProject, small_budget_client: ToolClient
) -> None:
    padding = " + ".join(f"filler_{n}" for n in range(9))
    calls = "".join(f"    value_{n} = {padding} + keep({n}) + {padding}\n" for n in range(60))
    project.write({"a.py": f"def keep(n):\n    return n\n\n\ndef run():\n{calls}"})
    text = small_budget_client.call("find_references", symbol="keep", limit=8).text
    assert estimate_tokens(text) <= 500
    for number in range(8):
        assert f"keep({number})" in text
    assert "…" in text
    everything = small_budget_client.call("find_references", symbol="keep", limit=60).text
    assert estimate_tokens(everything) <= 500
    shown = everything.count("keep(")
    assert 20 < shown < 60
    assert everything.startswith(f"Showing {shown} of 60 references (the token budget is full")


def test_uses_beyond_the_limit_are_counted_by_file(project: SmallProject) -> None:
    project.write(
        {"a.py": "def keep():\n    pass\n", **{f"u{n}.py": "from a import keep\n\nkeep()\n" for n in range(9)}}
    )
    text = graph_client(project).call("find_references", symbol="keep", limit=3).text
    assert text.startswith("Showing 3 of 18 references (increase limit for more).\n")
    assert "--- not shown: u2.py 2, u3.py 2, u4.py 2, u5.py 2, u6.py 2, u7.py 2, u8.py 2, u1.py 1 ---" in text


def test_equal_lines_of_one_definition_are_merged(project: SmallProject) -> None:
    project.write(
        {"a.py": "def keep():\n    pass\n\n\ndef run():\n    keep()\n    keep()\n\n\ndef more():\n    keep()\n"}
    )
    text = graph_client(project).call("find_references", symbol="keep").text
    assert text.endswith("that contains the name).\na.py\n 6,7 call keep()  run\n 11 call keep()  more")


def test_control_characters_are_replaced_and_long_lines_shortened(project: SmallProject) -> None:
    line = "keep('\x1b[2J\u202e\x07')" + "; x = 'y'" * 400 + "; keep(2)"
    project.write({"a.py": "# many short lines\n" * 20 + f"def keep(n):\n    return n\n\n\n{line}\n"})
    text = graph_client(project).call("find_references", symbol="keep").text
    assert text.replace("\n", "").isprintable()
    assert "keep('\ufffd[2J\ufffd\ufffd')" in text
    assert len(text) < 400


def test_a_line_is_shortened_around_the_use() -> None:
    text = "a" * 300 + " use() " + "b" * 300
    shown = shorten_around(text, 301, 60)
    assert len(shown) <= 60
    assert "use()" in shown
    assert shown[0] == shown[-1] == "…"
    assert shorten_around("short", 0, 60) == "short"
    assert shorten_around(text, 0, 20) == "a" * 18 + "…"


def test_columns_are_those_of_whole_words_that_fit_the_kind_of_use() -> None:
    assert occurrences("put(input, x.put, put_all, $put)", "put") == [0, 13]
    assert occurrences("x", "") == []
    assert use_offsets("put = self.put(put)", ["put"], "call", is_member=True) == [11]
    assert use_offsets("put = put(put(1))", ["put"], "call", is_member=False) == [6, 10]
    assert use_offsets("return Cart()", ["__init__", "Cart"], "call", is_member=True) == [7]
    assert printable("a\tb\x00c\u2029 ") == "a b\ufffdc"


def test_a_line_of_thousands_of_uses_is_shown_with_its_first_columns(project: SmallProject) -> None:
    line = "; ".join(["keep(1)"] * 12_000)
    project.write({"a.py": "# many short lines\n" * 500 + f"def keep(n):\n    return n\n\n\n{line}\n"})
    text = graph_client(project).call("find_references", symbol="keep").text
    assert " 505:1,10,19,28,… call keep(1); keep(1)" in text
    assert len(text) < 400


def test_json_references_contain_their_source_line(project: SmallProject, capsys: pytest.CaptureFixture[str]) -> None:
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


def second_line(client: ToolClient, **arguments: Any) -> str:
    """Return the summary line of find_references."""
    return client.call("find_references", **arguments).text.split("\n")[1]


def test_references_to_other_definitions_of_the_name_are_counted(project: SmallProject) -> None:
    project.write(
        {
            "a.py": "class A:\n    def put(self): ...\n\n\nclass B:\n    def put(self): ...\n",
            "use.py": "from a import A, B\n\nA().put()\nB().put()\nB().put()\n",
            "tests/test_use.py": "from a import A\n\n\ndef test_put():\n    A().put()\n",
        }
    )
    assert second_line(graph_client(project), symbol="A.put") == (
        "2 references in 2 files; 1 of 2 in tests. "
        "No other uses in code (checked against every line that contains the name). "
        "2 references to other definitions named put are not listed (B.put a.py:6)."
    )
    assert "2 references in 1 file; none in 1 test file. No other" in second_line(graph_client(project), symbol="B.put")


def test_uses_can_be_filtered_by_path_and_tests(project: SmallProject) -> None:
    use = "from a import keep\n\nkeep()\n"
    project.write({"a.py": "def keep(): ...\n", "src/u.py": use, "other/u.py": use, "tests/test_a.py": use})
    client = graph_client(project)
    complete = "No other uses in the selected files (checked against every line that contains the name)."
    below = f"2 references in 1 file. {complete} 4 more outside the given path (omit path to list them)."
    assert second_line(client, symbol="keep", path="src/") == below
    assert second_line(client, symbol="keep", path="src/*.py") == below
    text = client.call("find_references", symbol="keep", tests=False).text
    assert f"4 references in 2 files. {complete} 2 more in tests (pass tests=include to list them)." in text
    assert "tests/test_a.py" not in text
    text = second_line(client, symbol="keep", path="[st]*/*.py", tests=False)
    assert text.endswith(
        "2 more in tests (pass tests=include to list them). 2 more outside the given path (omit path to list them)."
    )


def test_a_truncated_list_states_whether_more_uses_than_counted_may_exist(project: SmallProject) -> None:
    project.write({"a.py": "def keep(): ...\n\n\nkeep()\nkeep(1)\n"})
    text = graph_client(project).call("find_references", symbol="keep", limit=1).text
    assert text.startswith("Showing 1 of 2 references")
    assert "No other uses in code" in text


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


def test_a_possible_call_with_a_different_number_of_arguments_is_not_listed(project: SmallProject) -> None:
    project.write({"Shop.java": JAVA})
    text = graph_client(project).call("find_references", symbol="Maker.make").text
    certain, possible = text.split("--- 3 possible")
    assert "3 call void all(Maker maker) { maker.make(this, null); }" in certain
    assert [line.split()[0] for line in possible.splitlines()[2:]] == ["7", "8", "9"]
    assert "1 possible call with a different number of arguments is not listed." in text


def test_columns_on_a_line_shared_with_another_definition_are_alternatives(project: SmallProject) -> None:
    project.write(
        {
            "url.py": "class Url:\n    def port(self) -> int: ...\n",
            "use.py": "from url import Url\n\n\nclass Pattern:\n    def port(self) -> int: ...\n\n"
            "    def is_like(self, url: Url) -> bool:\n        return self.port() == url.port()\n",
        }
    )
    assert (
        " 8:21|35 call return self.port() == url.port()"
        in graph_client(project).call("find_references", symbol="Url.port").text
    )
