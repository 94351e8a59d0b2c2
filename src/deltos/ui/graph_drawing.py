"""Layout and SVG rendering of graphs. Neighbours are drawn on two sides of a symbol, and affected symbols in rings
around it."""

from __future__ import annotations

import math
from bisect import bisect
from collections import defaultdict
from typing import TYPE_CHECKING
from unicodedata import east_asian_width
from xml.sax.saxutils import escape

from msgspec.structs import replace

from deltos.ui.structs import GraphRing

if TYPE_CHECKING:
    from deltos.ui.structs import GraphNode, GraphPage

    Position = tuple[float, float]

_FIRST_RING_RADIUS, _RING_GAP = 84.0, 50.0
_ROW_HEIGHT = 15.0  # vertical distance between labels
_SIDE_RADIUS = 216.0  # minimum radius of the arcs on both sides
_ARC_HEIGHT = math.sin(1.1)  # half the height of an arc, as a fraction of its radius
_CHARACTER_WIDTH = 7.0  # width of a label character at 11.5 px
_LABEL_GAP = 10.0  # distance between a node and its label
_RING_LABEL_WIDTH = 42.0  # free width on both sides of the label at the top of a ring
_MARGIN = 16.0  # margin around the drawing
_MAX_LABEL_CHARACTERS = 34
_STYLESHEET = """\
.ground{fill:#fff}.edge{stroke:#5c6462;stroke-opacity:.35;fill:none}.possible{stroke-dasharray:4 4}
.ring{fill:none;stroke:#b3aea4}
text{font:11.5px ui-monospace,Menlo,Consolas,monospace;fill:#1f2423;paint-order:stroke;stroke:#fff;stroke-width:3px}
text.distance{font-size:10.5px;fill:#5c6462}circle.node{fill:#0f766e}circle.test{fill:#8b9591}
circle.out{fill:#1f5fa8}circle.middle{fill:#1f2423}
@media (prefers-color-scheme:dark){.ground{fill:#1b1f1e}text{fill:#e6e9e7;stroke:#1b1f1e}.ring{stroke:#4a524f}
text.distance{fill:#9ea8a4}circle.middle{fill:#e6e9e7}.edge{stroke:#9ea8a4}}"""


def draw_svg(page: GraphPage, *, by_sides: bool) -> str:
    """Return the SVG of a graph. The output is deterministic."""
    positions = {node.id: (node.x, node.y) for node in page.nodes}
    outermost = max((ring.radius for ring in page.rings), default=0.0)
    width = max([240.0, outermost, *map(_outer_extent, page.nodes)]) + _MARGIN
    height = max([160.0, outermost, *(abs(y) for _, y in positions.values())]) + 2 * _MARGIN
    box = f"{-width:.0f} {-height:.0f} {2 * width:.0f} {2 * height:.0f}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{box}" width="{2 * width:.0f}" height="{2 * height:.0f}">',
        f"<title>{_xml_text(page.symbol)}</title><style>{_STYLESHEET}</style>",
        f'<rect class="ground" x="{-width:.0f}" y="{-height:.0f}" width="{2 * width:.0f}" height="{2 * height:.0f}"/>',
        *(f'<circle class="ring" r="{ring.radius:.1f}"/>' for ring in page.rings),
    ]
    for edge in page.edges:
        (x1, y1), (x2, y2) = positions[edge.source], positions[edge.target]
        kind = "edge" if edge.certain else "edge possible"
        bend = f"{(x1 + x2) * 0.42:.1f} {(y1 + y2) * 0.42:.1f}"
        parts.append(f'<path class="{kind}" d="M{x1:.1f} {y1:.1f}Q{bend} {x2:.1f} {y2:.1f}"/>')
    parts += [_draw_ring_label(ring) for ring in page.rings]
    parts += [_draw_node(node, by_sides=by_sides) for node in page.nodes]
    return "\n".join([*parts, "</svg>\n"])


def lay_out(page: GraphPage, *, by_sides: bool) -> GraphPage:
    """Return the graph with node positions, on two sides or in rings. Labels do not overlap.

    The layout is deterministic. In rings, nodes are placed near the nodes that they reference.
    """
    at_distance: defaultdict[int, list[GraphNode]] = defaultdict(list)
    for node in page.nodes:
        at_distance[node.ring].append(node)
    middle = at_distance.pop(0, [])
    positions: dict[str, Position] = {node.id: (0.0, 0.0) for node in middle}
    rings: list[GraphRing] = []
    inner_neighbours = _inner_neighbours(page)
    rows = _LabelRows(max((_text_width(node) / 2 for node in middle), default=0.0))
    for distance, inside in sorted(at_distance.items()):
        if by_sides:
            positions |= _place_on_arc(inside, -1 if distance == 1 else 1)
        else:
            min_radius = rings[-1].radius + _RING_GAP if rings else _FIRST_RING_RADIUS
            wanted_angles = {node.id: _mean_angle(inner_neighbours[node.id], positions) for node in inside}
            radius, placed = _place_on_ring(inside, max(min_radius, len(inside) * _ROW_HEIGHT / 4), wanted_angles, rows)
            positions |= placed
            rings.append(GraphRing(distance, round(radius, 1)))
    nodes = [replace(node, x=round(positions[node.id][0], 1), y=round(positions[node.id][1], 1)) for node in page.nodes]
    return replace(page, nodes=nodes, rings=rings)


def _inner_neighbours(page: GraphPage) -> dict[str, list[str]]:
    """Return, for each node, the neighbours that are in rings closer to the middle."""
    ring_of = {node.id: node.ring for node in page.nodes}
    inner_neighbours: defaultdict[str, list[str]] = defaultdict(list)
    for edge in page.edges:
        if ring_of[edge.target] < ring_of[edge.source]:
            inner_neighbours[edge.source].append(edge.target)
    return inner_neighbours


def _mean_angle(neighbours: list[str], positions: dict[str, Position]) -> float | None:
    """Return the mean angle of the neighbours as seen from the middle, or None if there are no neighbours."""
    x, y = (sum(positions[name][axis] for name in neighbours) for axis in (0, 1))
    return math.atan2(y, x) % math.tau if abs(x) + abs(y) > 1 else None


class _LabelRows:
    """Horizontal extent of the labels on the left and right side of each row."""

    def __init__(self, middle: float) -> None:
        self._outer_extent: dict[tuple[int, int], float] = {}
        for side in (-1, 1):
            self.occupy((side * middle, -14.0), 0.0)
            self.occupy((side * middle, 0.0), 0.0)

    def is_free(self, position: Position) -> bool:
        """Whether a node at `position` does not touch labels closer to the middle."""
        x, y = position
        return abs(x) > self._outer_extent.get((1 if x > 0 else -1, round(y / _ROW_HEIGHT)), 0.0) + _LABEL_GAP

    def occupy(self, position: Position, width: float) -> None:
        """Reserve space for a node at `position` and its label of the given width."""
        x, y = position
        key = (1 if x > 0 else -1, round(y / _ROW_HEIGHT))
        self._outer_extent[key] = max(self._outer_extent.get(key, 0.0), abs(x) + _LABEL_GAP + width)


def _place_on_ring(
    nodes: list[GraphNode], radius: float, wanted_angles: dict[str, float | None], rows: _LabelRows
) -> tuple[float, dict[str, Position]]:
    """Place nodes on a circle near the wanted angles. Return the (possibly enlarged) radius and the positions."""
    while len(free := [position for position in _label_positions(radius) if rows.is_free(position)]) < len(nodes):
        radius += _ROW_HEIGHT
    even_angles = {node.id: (number + 0.5) / len(nodes) * math.tau for number, node in enumerate(nodes)}
    angles_or_even = {
        name: angle if (angle := wanted_angles[name]) is not None else even_angles[name] for name in even_angles
    }
    angles = [math.atan2(y, x) % math.tau for x, y in free]
    circle = _CircularSlots(len(free))
    ordered = sorted(nodes, key=lambda node: (angles_or_even[node.id], node.id))
    placed = {node.id: free[circle.take(bisect(angles, angles_or_even[node.id]))] for node in ordered}
    for node in nodes:
        rows.occupy(placed[node.id], _text_width(node))
    return radius, placed


def _label_positions(radius: float) -> list[Position]:
    """Return the positions on a circle where labels do not touch, sorted by angle. The top is reserved."""
    most = int((radius - _ROW_HEIGHT / 2) / _ROW_HEIGHT)
    right = [(math.sqrt(radius**2 - (row * _ROW_HEIGHT) ** 2), row * _ROW_HEIGHT) for row in range(-most, most + 1)]
    positions = [(side * x, y) for x, y in right for side in (-1, 1) if y > 0 or x > _RING_LABEL_WIDTH]
    return sorted(positions, key=lambda position: math.atan2(position[1], position[0]) % math.tau)


class _CircularSlots:
    """Free and occupied positions around a circle."""

    def __init__(self, count: int) -> None:
        self._count = count
        # For each direction, union-find pointers to the next free position.
        self._next_free = {step: list(range(count)) for step in (1, -1)}

    def take(self, wanted: int) -> int:
        """Occupy the free position closest to `wanted`, and return its number."""
        after, before = (self._next_free_slot(wanted % self._count, step) for step in (1, -1))
        is_after = (after - wanted) % self._count <= (wanted - before) % self._count
        number = after if is_after else before
        for step, pointers in self._next_free.items():
            pointers[number] = (number + step) % self._count
        return number

    def _next_free_slot(self, number: int, step: int) -> int:
        pointers = self._next_free[step]
        while pointers[number] != number:
            pointers[number] = pointers[pointers[number]]  # path compression of union-find
            number = pointers[number]
        return number


def _place_on_arc(nodes: list[GraphNode], side: int) -> dict[str, Position]:
    """Place nodes on the left or right arc at equal vertical distances."""
    radius = max(_SIDE_RADIUS, (len(nodes) - 1) * _ROW_HEIGHT / (2 * _ARC_HEIGHT))
    positions: dict[str, Position] = {}
    for number, node in enumerate(nodes):
        y = 0.0 if len(nodes) == 1 else (2 * number / (len(nodes) - 1) - 1) * _ARC_HEIGHT * radius
        positions[node.id] = (side * math.sqrt(radius**2 - y**2), y)
    return positions


def _truncated_label(node: GraphNode) -> str:
    return node.label if len(node.label) <= _MAX_LABEL_CHARACTERS else f"{node.label[: _MAX_LABEL_CHARACTERS - 1]}…"


def _text_width(node: GraphNode) -> float:
    """Return the width of a label. Wide East Asian characters count twice."""
    return sum(
        2 * _CHARACTER_WIDTH if east_asian_width(letter) in "WF" else _CHARACTER_WIDTH
        for letter in _truncated_label(node)
    )


def _outer_extent(node: GraphNode) -> float:
    """Return the horizontal distance between the middle and the outer end of a label."""
    return _text_width(node) / 2 if node.ring == 0 else abs(node.x) + _LABEL_GAP + _text_width(node)


def _draw_ring_label(ring: GraphRing) -> str:
    return (
        f'<text class="distance" x="0" y="{4 - ring.radius:.1f}" text-anchor="middle">distance {ring.distance}</text>'
    )


def _draw_node(node: GraphNode, *, by_sides: bool) -> str:
    x, y = node.x, node.y
    if node.ring == 0:
        kind, size, anchor, dx, dy = "middle", 8.0, "middle", 0.0, -14.0
    else:
        kind = "test" if node.is_test else "out" if by_sides and node.ring > 1 else "inside"
        size, dy = 5.5, 4.0
        anchor, dx = ("end", -_LABEL_GAP) if x < 0 else ("start", _LABEL_GAP)
    return (
        f"<g><title>{_xml_text(f'{node.kind} {node.label} {node.path}:{node.line}')}</title>"
        f'<circle class="node {kind}" cx="{x:.1f}" cy="{y:.1f}" r="{size}"/>'
        f'<text x="{x + dx:.1f}" y="{y + dy:.1f}" text-anchor="{anchor}">{_xml_text(_truncated_label(node))}</text></g>'
    )


def _xml_text(text: str) -> str:
    """Escape text for XML and replace unprintable characters."""
    return escape("".join(letter if letter.isprintable() else "\ufffd" for letter in text))
