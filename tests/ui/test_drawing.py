"""SVG drawings of graphs are deterministic and show names as text."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest
from msgspec.structs import replace

from deltos.cli.main import main
from deltos.ui.graph_drawing import draw_svg, lay_out
from deltos.ui.structs import GraphEdge, GraphNode, GraphPage
from tests.repositories import make_repository

if TYPE_CHECKING:
    from pathlib import Path

SVG = "{http://www.w3.org/2000/svg}"
FILES = {
    "shop.py": "def price():\n    return 1\n\n\ndef order():\n    return price()\n",
    "cart.py": "from shop import order\n\n\ndef check_out():\n    return order()\n",
}


def test_a_symbol_is_drawn_with_its_neighbours_and_its_impact_in_rings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DELTOS_HOME", str(tmp_path / "home"))
    root = make_repository(tmp_path / "shop", FILES)
    around, rings = tmp_path / "around.svg", tmp_path / "rings.svg"
    assert main(["graph", "draw", "order", "--project", str(root), "-o", str(around)]) == 0
    assert main(["graph", "draw", "price", "--impact", "--project", str(root), "-o", str(rings)]) == 0
    assert {text.text for text in ET.parse(around).iter(f"{SVG}text")} == {"order", "check_out", "price", "cart.py"}
    assert [each.get("class") for each in ET.parse(rings).iter(f"{SVG}circle")].count("ring") == 2
    assert {"distance 1", "distance 2"} < {text.text for text in ET.parse(rings).iter(f"{SVG}text")}


def test_names_are_drawn_as_text_and_equal_graphs_give_equal_pictures() -> None:
    nodes = [
        GraphNode(f"n{i}", f"</text><script>{i}\x1b", "function", "a.py", i, i % 3, is_test=False) for i in range(9)
    ]
    edges = [GraphEdge(f"n{i}", "n0", "call", certain=i % 2 == 0) for i in range(1, 9)]
    for by_sides in (True, False):
        page = lay_out(GraphPage("n0", nodes, edges, 0, []), by_sides=by_sides)
        picture = draw_svg(page, by_sides=by_sides)
        assert picture == draw_svg(lay_out(page, by_sides=by_sides), by_sides=by_sides)
        drawn = ET.fromstring(picture)
        assert not list(drawn.iter(f"{SVG}script"))
        assert len({(node.x, node.y) for node in page.nodes if node.ring}) == sum(node.ring > 0 for node in nodes)


def label_boxes(picture: str) -> list[tuple[float, float, float, float]]:
    """Return the label boxes of a drawing: left, right, top, bottom. A character is at least 6.9 wide."""
    found = []
    for text in ET.fromstring(picture).iter(f"{SVG}text"):
        x, y, width = float(text.get("x", "")), float(text.get("y", "")), 6.9 * len(text.text or "")
        left = x - {"start": 0.0, "middle": width / 2, "end": width}[text.get("text-anchor", "start")]
        found.append((left, left + width, y - 9, y + 3))
    return found


@pytest.mark.parametrize("by_sides", [True, False])
@pytest.mark.parametrize("count", [1, 2, 40, 300])
def test_labels_neither_overlap_nor_cross_the_edge(by_sides: bool, count: int) -> None:
    nodes = [
        GraphNode(f"n{i}", f"name_{i}" * (1 + i % 6), "function", "a.py", i, min(i, 1 + i % 5), is_test=False)
        for i in range(count)
    ]
    edges = [GraphEdge(f"n{i}", f"n{i // 3}", "call", certain=True) for i in range(1, count)]
    if by_sides:
        nodes = [replace(node, ring=min(node.ring, 2)) for node in nodes]
    picture = draw_svg(lay_out(GraphPage("n0", nodes, edges, 0, []), by_sides=by_sides), by_sides=by_sides)
    left, top, width, height = map(float, ET.fromstring(picture).get("viewBox", "").split())
    labels = label_boxes(picture)
    assert len(labels) >= count
    for a, b in itertools.combinations(labels, 2):
        assert a[1] <= b[0] or b[1] <= a[0] or a[3] <= b[2] or b[3] <= a[2], (a, b)
    assert all(left <= a[0] and a[1] <= left + width and top <= a[2] and a[3] <= top + height for a in labels)
