"""Answers and errors of the six graph tools."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from deltos.budget import estimate_tokens
from deltos.errors import DeltosError
from deltos.workspace import project_index
from tests.calling import ToolClient

if TYPE_CHECKING:
    from pathlib import Path

    from tests.domains.graph.small_project import SmallProject

FILES = {
    "shop/__init__.py": "from shop.cart import Cart\n",
    "shop/cart.py": (
        '"""Carts."""\n\nfrom __future__ import annotations\n\nfrom typing import TYPE_CHECKING\n\n'
        "if TYPE_CHECKING:\n    from shop.order import Order\n\n\n"
        'class Cart:\n    """What is going to be bought."""\n\n    def add(self, item: str) -> None:\n'
        '        """Put an item in."""\n        self.items = [item]\n\n    def order(self) -> Order:\n'
        "        from shop.order import Order\n\n        return Order(self)\n"
    ),
    "shop/order.py": (
        "from shop.cart import Cart\nfrom shop.price import total\n\n\nclass Order:\n    def __init__(self, cart: Cart) -> None:\n"
        "        self.total = total(cart)\n\n\nclass Express(Order):\n    pass\n"
    ),
    "shop/price.py": "import shop.tax\n\n\ndef total(cart):\n    return shop.tax.tax(1)\n",
    "shop/tax.py": "import shop.price\n\n\ndef tax(amount):\n    return amount or shop.price.total(None)\n",
    "shop/other.py": "def total():\n    return 2\n",
    "tests/test_cart.py": "from shop.cart import Cart\n\n\ndef test_add():\n    Cart().add('x')\n",
}


class Tools:
    """Client that calls tools as a server does."""

    def __init__(self, project: SmallProject) -> None:
        self._desk = ToolClient([tool for tool in project.app.tools() if tool.toolset == "graph"], project.root)
        self.by_name = self._desk.tools

    def call(self, name: str, **given: Any) -> str:
        """Call a tool and return the text of its answer."""
        return self._desk.call(name, **given).text

    def error(self, name: str, **given: Any) -> str:
        """Call a tool that must fail and return the error message."""
        with pytest.raises(DeltosError) as caught:
            self.call(name, **given)
        return str(caught.value)


@pytest.fixture
def tools(project: SmallProject) -> Tools:
    """Return the graph tools of the shop."""
    return Tools(project.write(FILES))


def test_the_toolset_has_six_tools_in_under_900_tokens(tools: Tools) -> None:
    assert list(tools.by_name) == [
        "find_symbol", "find_references", "get_impact", "detect_circular", "get_context", "get_stats",
    ]  # fmt: skip
    listing = json.dumps({"tools": [tool.listing() for tool in tools.by_name.values()]}, separators=(",", ":"))
    assert estimate_tokens(listing) < 900


def test_find_symbol_lists_every_definition(tools: Tools) -> None:
    text = tools.call("find_symbol", symbol="total")
    assert text.splitlines()[0].startswith("3 definitions")
    assert "def total shop/price.py:4-5 function (cart)" in text
    assert "def total shop/other.py:1-2 function ()" in text


def test_error_messages_contain_the_same_notes_about_the_index_as_answers(
    tools: Tools, project: SmallProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(project_index, "OTHER_PROCESS_TIMEOUT_SECONDS", 0.1)
    tools.call("find_symbol", symbol="total")
    (project.root / "shop/late.py").write_text("def late():\n    return 1\n")
    with project.app.domains.projects.index_of(project.root).store.try_lock() as held:
        assert held
        for name in ("find_symbol", "find_references", "get_impact", "get_context"):
            assert "re-indexed by another call or process" in tools.error(name, symbol="late")
    assert "def late shop/late.py" in tools.call("find_symbol", symbol="late")


def test_find_symbol_filters_by_kind_and_path(tools: Tools) -> None:
    assert "def Cart shop/cart.py:11-21 class — What is going to be bought." in tools.call(
        "find_symbol", symbol="Cart", kind="class,interface", path="shop"
    )
    assert "not found" in tools.error("find_symbol", symbol="Cart", kind="enum")
    assert "banana" in tools.error("find_symbol", symbol="Cart", kind="banana")


def test_find_symbol_accepts_dotted_names_and_patterns(tools: Tools) -> None:
    assert "def Cart.add shop/cart.py:14-16 method (self, item: str) -> None — Put an item in." in tools.call(
        "find_symbol", symbol="Cart.add"
    )
    assert "Express" in tools.call("find_symbol", symbol="^Ex.*s$")
    assert "No symbol matches" in tools.error("find_symbol", symbol="(a+)+$")


def test_a_truncated_list_states_it_in_the_first_line(tools: Tools) -> None:
    first = tools.call("find_symbol", symbol=".*", limit=2).splitlines()[0]
    assert first.startswith("Showing 2 of ")
    assert "increase limit" in first


def test_references_are_grouped_by_file_with_their_kind(tools: Tools) -> None:
    text = tools.call("find_references", symbol="Cart")
    assert "shop/order.py\n" in text
    assert "import" in text
    assert "type" in text
    assert "tests/test_cart.py" in text


def test_an_ambiguous_name_is_answered_with_qualified_candidates(tools: Tools) -> None:
    text = tools.call("find_references", symbol="total")
    assert "shop.price.total" in text
    assert "shop.other.total" in text


def test_impact_is_ordered_by_distance_with_tests_listed_separately(tools: Tools) -> None:
    text = tools.call("get_impact", symbol="Cart.add")
    assert "test" in text
    text = tools.call("get_impact", symbol="tax")
    assert "distance 1" in text
    assert "shop/price.py" in text


def test_circular_imports_are_grouped_by_mode(tools: Tools) -> None:
    text = tools.call("detect_circular")
    assert text.startswith("2 circular components: 1 at run time")
    assert "shop/price.py -> shop/tax.py -> shop/price.py" in text


def test_context_shows_the_definition_and_its_neighbours(tools: Tools) -> None:
    text = tools.call("get_context", symbol="Order")
    assert "shop/order.py" in text
    assert "Express" in text
    text = tools.call("get_context", symbol="Cart")
    assert "What is going to be bought." in text
    assert "add" in text


def test_repeated_definitions_are_distinguished_by_their_lines(project: SmallProject) -> None:
    both = "import os\n\nif os.name == 'nt':\n    def lock():\n        pass\nelse:\n    def lock():\n        pass\n"
    project.write({"shop/lock.py": both + "\n\ndef hold():\n    lock()\n"})
    tools = Tools(project)
    assert "def lock shop/lock.py:4-5 function ()\ndef lock shop/lock.py:7-8 function ()" in tools.call(
        "find_symbol", symbol="lock"
    )
    assert "shop/lock.py\n 4 lock()\n 7 lock()" in tools.call("get_context", symbol="hold")
    assert "#" not in tools.call("get_context", symbol="hold")


def test_stats_state_how_much_is_resolved(tools: Tools) -> None:
    text = tools.call("get_stats")
    assert "python" in text
    assert "unresolved" in text
    assert "complete" in text


@pytest.mark.parametrize("tool", ["find_symbol", "find_references", "get_impact", "get_context"])
def test_an_unknown_symbol_is_an_error_with_suggestions(tool: str, tools: Tools) -> None:
    assert "Did you mean" in tools.error(tool, symbol="Carrt")


@pytest.mark.parametrize("tool", ["find_symbol", "find_references", "get_impact"])
def test_an_empty_symbol_gives_a_clear_error(tool: str, tools: Tools) -> None:
    assert tools.error(tool, symbol="  ")


def test_an_invalid_pattern_gives_a_clear_error(tools: Tools) -> None:
    assert "[a-" in tools.error("find_symbol", symbol="[a-")
    assert "missing ): (unclosed. Use RE2 syntax" in tools.error("find_symbol", symbol="(unclosed")


def test_a_path_outside_the_project_is_refused(tools: Tools) -> None:
    assert "outside" in tools.error("find_symbol", symbol="Cart", path="../..")


def test_a_folder_without_code_gives_a_clear_error(project: SmallProject) -> None:
    assert "No files to index" in Tools(project).error("get_stats")


def test_graph_tools_accept_another_project(tools: Tools, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "z.py").write_text("def zed():\n    pass\n")
    assert "z.py:1" in tools.call("find_symbol", symbol="zed", project_path=str(other))


def test_ten_symbols_fit_200_tokens_and_are_shorter_than_json(project: SmallProject) -> None:
    project.write({f"m{n}.py": f"def thing_{n}(a, b):\n    return a\n" for n in range(10)})
    text = Tools(project).call("find_symbol", symbol="thing_.*")
    rows = project.graph().find("thing_.*")
    as_json = json.dumps(
        [
            {
                "name": r.name,
                "file": r.path,
                "line": r.line,
                "kind": r.kind,
                "end_line": r.end_line,
                "key": r.key,
                "signature": r.signature,
            }
            for r in rows
        ]
    )
    assert estimate_tokens(text) < 200
    assert len(text) < 0.4 * len(as_json)


def test_deep_nesting_and_long_files_are_answered(project: SmallProject) -> None:
    deep = "(\n" * 10_000 + ")\n" * 10_000
    long = "x = 1\n" * 50_000 + "def last():\n    return x\n"
    project.write({"deep.py": f"def first():\n    pass\n\n\nx = {deep}\n", "long.py": long}).index()
    assert "deep.py:1" in Tools(project).call("find_symbol", symbol="first")
    assert "long.py:50001" in Tools(project).call("find_symbol", symbol="last")
