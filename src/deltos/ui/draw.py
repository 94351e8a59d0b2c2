"""A drawn graph as a standalone SVG: a symbol in the middle, its neighbourhood by sides or its impact by rings."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

if TYPE_CHECKING:
    from deltos.ui.structs import GraphNode, GraphPage

    Spot = tuple[float, float]

_RING = 190.0
_LABEL_ROOM = 15.0  # between two labels of a ring
_ARC = 2.2  # radians of one side
_MARGIN_X, _MARGIN_Y = 250.0, 50.0
_LONGEST_LABEL = 34
_STYLE = """\
.edge{stroke:#5c6462;stroke-opacity:.35;fill:none}.possible{stroke-dasharray:4 4}.ring{fill:none;stroke:#bbb;stroke-dasharray:2 5}
text{font:11.5px ui-monospace,Menlo,Consolas,monospace;fill:#1f2423}circle.node{fill:#0f766e}circle.test{fill:#8b9591}
circle.out{fill:#1f5fa8}circle.middle{fill:#1f2423}
@media (prefers-color-scheme:dark){text{fill:#e6e9e7}circle.middle{fill:#e6e9e7}.edge{stroke:#9ea8a4}}"""


def draw_svg(page: GraphPage, *, by_sides: bool) -> str:
    """The picture; equal graphs give equal bytes."""
    spots, radii = ring_layout(page.nodes, by_sides=by_sides)
    width = max([240.0, *(abs(x) for x, _ in spots.values())]) + _MARGIN_X
    height = max([160.0, *(abs(y) for _, y in spots.values())]) + _MARGIN_Y
    box = f"{-width:.0f} {-height:.0f} {2 * width:.0f} {2 * height:.0f}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{box}" width="{2 * width:.0f}" height="{2 * height:.0f}">',
        f"<title>{_xml(page.symbol)}</title><style>{_STYLE}</style>",
        *(f'<circle class="ring" r="{radius:.1f}"/>' for radius in radii),
    ]
    for edge in page.edges:
        (x1, y1), (x2, y2) = spots[edge.source], spots[edge.target]
        kind = "edge" if edge.certain else "edge possible"
        bend = f"{(x1 + x2) * 0.42:.1f} {(y1 + y2) * 0.42:.1f}"
        parts.append(f'<path class="{kind}" d="M{x1:.1f} {y1:.1f}Q{bend} {x2:.1f} {y2:.1f}"/>')
    parts += [_drawn_node(node, spots[node.id], by_sides=by_sides) for node in page.nodes]
    return "\n".join([*parts, "</svg>\n"])


def ring_layout(nodes: list[GraphNode], *, by_sides: bool) -> tuple[dict[str, Spot], list[float]]:
    """Where each node lies, and the radii of the rings."""
    rings: defaultdict[int, list[GraphNode]] = defaultdict(list)
    for node in nodes:
        rings[node.ring].append(node)
    spots: dict[str, Spot] = {}
    radii: list[float] = []
    radius = 0.0
    for ring, inside in sorted(rings.items()):
        if ring == 0:
            spots |= {node.id: (0.0, 0.0) for node in inside}
        elif by_sides:
            spots |= _side(inside, -1 if ring == 1 else 1)
        else:
            radius = max(radius + _RING, len(inside) * _LABEL_ROOM / math.tau)
            radii.append(radius)
            for number, node in enumerate(inside):
                angle = number / len(inside) * math.tau - math.pi / 2 + ring * 0.35
                spots[node.id] = (radius * math.cos(angle), radius * math.sin(angle))
    return spots, radii


def _side(nodes: list[GraphNode], side: int) -> dict[str, Spot]:
    radius = max(_RING * 1.2, len(nodes) * _LABEL_ROOM / _ARC)
    spots: dict[str, Spot] = {}
    for number, node in enumerate(nodes):
        angle = 0.0 if len(nodes) == 1 else (number / (len(nodes) - 1) - 0.5) * _ARC
        spots[node.id] = (side * radius * math.cos(angle), radius * math.sin(angle))
    return spots


def _drawn_node(node: GraphNode, spot: Spot, *, by_sides: bool) -> str:
    x, y = spot
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
