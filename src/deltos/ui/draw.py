"""Where the symbols of a graph lie, and the picture of it as SVG: a neighbourhood by sides, an impact by rings."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

from msgspec.structs import replace

if TYPE_CHECKING:
    from deltos.ui.structs import GraphNode, GraphPage

    Spot = tuple[float, float]

_RING = 120.0
_LABEL_ROOM = 15.0  # between two labels of a ring
_ARC = 2.2  # radians of one side
_MARGIN_X, _MARGIN_Y = 210.0, 45.0
_LONGEST_LABEL = 34
_STYLE = """\
.edge{stroke:#5c6462;stroke-opacity:.35;fill:none}.possible{stroke-dasharray:4 4}
.ring{fill:none;stroke:#bbb;stroke-dasharray:2 5}
text{font:11.5px ui-monospace,Menlo,Consolas,monospace;fill:#1f2423}circle.node{fill:#0f766e}circle.test{fill:#8b9591}
circle.out{fill:#1f5fa8}circle.middle{fill:#1f2423}
@media (prefers-color-scheme:dark){text{fill:#e6e9e7}circle.middle{fill:#e6e9e7}.edge{stroke:#9ea8a4}}"""


def draw_svg(page: GraphPage, *, by_sides: bool) -> str:
    """The picture of a graph that is laid out; equal graphs give equal bytes."""
    spots = {node.id: (node.x, node.y) for node in page.nodes}
    width = max([240.0, *(abs(x) for x, _ in spots.values())]) + _MARGIN_X
    height = max([160.0, *(abs(y) for _, y in spots.values())]) + _MARGIN_Y
    box = f"{-width:.0f} {-height:.0f} {2 * width:.0f} {2 * height:.0f}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{box}" width="{2 * width:.0f}" height="{2 * height:.0f}">',
        f"<title>{_xml(page.symbol)}</title><style>{_STYLE}</style>",
        *(f'<circle class="ring" r="{radius:.1f}"/>' for radius in page.radii),
    ]
    for edge in page.edges:
        (x1, y1), (x2, y2) = spots[edge.source], spots[edge.target]
        kind = "edge" if edge.certain else "edge possible"
        bend = f"{(x1 + x2) * 0.42:.1f} {(y1 + y2) * 0.42:.1f}"
        parts.append(f'<path class="{kind}" d="M{x1:.1f} {y1:.1f}Q{bend} {x2:.1f} {y2:.1f}"/>')
    parts += [_drawn_node(node, by_sides=by_sides) for node in page.nodes]
    return "\n".join([*parts, "</svg>\n"])


def lay_out(page: GraphPage, *, by_sides: bool) -> GraphPage:
    """The graph with a place for each node, always the same: by sides, or in rings near what it leads to."""
    rings: defaultdict[int, list[GraphNode]] = defaultdict(list)
    for node in page.nodes:
        rings[node.ring].append(node)
    spots: dict[str, Spot] = {node.id: (0.0, 0.0) for node in rings.pop(0, [])}
    radii: list[float] = []
    inner = _inner_neighbours(page)
    for ring, inside in sorted(rings.items()):
        if by_sides:
            spots |= _side(inside, -1 if ring == 1 else 1)
        else:
            radii.append(max((radii[-1] if radii else 40.0) + _RING, len(inside) * _LABEL_ROOM / math.tau))
            spots |= _ring(inside, radii[-1], {node.id: _angle(inner[node.id], spots) for node in inside})
    nodes = [replace(node, x=round(spots[node.id][0], 1), y=round(spots[node.id][1], 1)) for node in page.nodes]
    return replace(page, nodes=nodes, radii=[round(radius, 1) for radius in radii])


def _inner_neighbours(page: GraphPage) -> dict[str, list[str]]:
    """Of each node, the ones nearer to the middle that it leads to."""
    ring_of = {node.id: node.ring for node in page.nodes}
    inner: defaultdict[str, list[str]] = defaultdict(list)
    for edge in page.edges:
        if ring_of[edge.target] < ring_of[edge.source]:
            inner[edge.source].append(edge.target)
    return inner


def _angle(neighbours: list[str], spots: dict[str, Spot]) -> float | None:
    """The direction in which the neighbours lie; None when they lie in none."""
    x, y = (sum(spots[name][axis] for name in neighbours) for axis in (0, 1))
    return math.atan2(y, x) % math.tau if abs(x) + abs(y) > 1 else None


def _ring(nodes: list[GraphNode], radius: float, wanted: dict[str, float | None]) -> dict[str, Spot]:
    """Nodes around a circle, each as near to its wanted direction as labels leave room for."""
    even = {node.id: (number + 0.5) / len(nodes) * math.tau for number, node in enumerate(nodes)}
    aims = {name: angle if (angle := wanted[name]) is not None else even[name] for name in even}
    ordered = sorted(nodes, key=lambda node: (aims[node.id], node.id))
    room = min(math.tau / len(nodes), 2 * _LABEL_ROOM / radius)
    angles: list[float] = []
    for node in ordered:
        angles.append(max(aims[node.id], angles[-1] + room) if angles else aims[node.id])
    if angles[-1] - angles[0] > math.tau - room:  # all the way around: no room to choose
        angles = [angles[0] + number / len(nodes) * math.tau for number in range(len(nodes))]
    return {
        node.id: (radius * math.cos(angle), radius * math.sin(angle))
        for node, angle in zip(ordered, angles, strict=True)
    }


def _side(nodes: list[GraphNode], side: int) -> dict[str, Spot]:
    radius = max(_RING * 1.8, len(nodes) * _LABEL_ROOM / _ARC)
    spots: dict[str, Spot] = {}
    for number, node in enumerate(nodes):
        angle = 0.0 if len(nodes) == 1 else (number / (len(nodes) - 1) - 0.5) * _ARC
        spots[node.id] = (side * radius * math.cos(angle), radius * math.sin(angle))
    return spots


def _drawn_node(node: GraphNode, *, by_sides: bool) -> str:
    x, y = node.x, node.y
    if node.ring == 0:
        kind, size, anchor, dx, dy = "middle", 8.0, "middle", 0.0, -14.0
    else:
        kind = "test" if node.is_test else "out" if by_sides and node.ring > 1 else "inside"
        size, dy = 5.5, 4.0
        anchor, dx = ("end", -10.0) if x < -1 else ("start", 10.0)
    label = node.label if len(node.label) <= _LONGEST_LABEL else f"{node.label[: _LONGEST_LABEL - 1]}…"
    return (
        f"<g><title>{_xml(f'{node.kind} {node.label} {node.path}:{node.line}')}</title>"
        f'<circle class="node {kind}" cx="{x:.1f}" cy="{y:.1f}" r="{size}"/>'
        f'<text x="{x + dx:.1f}" y="{y + dy:.1f}" text-anchor="{anchor}">{_xml(label)}</text></g>'
    )


def _xml(text: str) -> str:
    """Text for XML, which has no place for most control characters."""
    return escape("".join(letter if letter.isprintable() else "\ufffd" for letter in text))
