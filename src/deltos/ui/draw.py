"""Where the symbols of a graph lie, and the picture of it as SVG: a neighbourhood by sides, an impact by rings."""

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

    Spot = tuple[float, float]

_FIRST_RING, _RING_GAP = 84.0, 50.0
_ROW = 15.0  # between two labels, one above the other
_SIDE_RADIUS = 216.0
_ARC_HEIGHT = math.sin(1.1)  # of a side, as a part of its radius
_CHARACTER = 7.0  # the width of one in a label, of 11.5 px
_LABEL_GAP = 10.0  # from a node to its label
_DISTANCE_ROOM = 42.0  # to both sides of the top of a ring, for the label that says its distance
_MARGIN = 16.0
_LONGEST_LABEL = 34
_STYLE = """\
.ground{fill:#fff}.edge{stroke:#5c6462;stroke-opacity:.35;fill:none}.possible{stroke-dasharray:4 4}
.ring{fill:none;stroke:#b3aea4}
text{font:11.5px ui-monospace,Menlo,Consolas,monospace;fill:#1f2423;paint-order:stroke;stroke:#fff;stroke-width:3px}
text.distance{font-size:10.5px;fill:#5c6462}circle.node{fill:#0f766e}circle.test{fill:#8b9591}
circle.out{fill:#1f5fa8}circle.middle{fill:#1f2423}
@media (prefers-color-scheme:dark){.ground{fill:#1b1f1e}text{fill:#e6e9e7;stroke:#1b1f1e}.ring{stroke:#4a524f}
text.distance{fill:#9ea8a4}circle.middle{fill:#e6e9e7}.edge{stroke:#9ea8a4}}"""


def draw_svg(page: GraphPage, *, by_sides: bool) -> str:
    """The picture of a graph that is laid out; equal graphs give equal bytes."""
    spots = {node.id: (node.x, node.y) for node in page.nodes}
    outermost = max((ring.radius for ring in page.rings), default=0.0)
    width = max([240.0, outermost, *map(_reach, page.nodes)]) + _MARGIN
    height = max([160.0, outermost, *(abs(y) for _, y in spots.values())]) + 2 * _MARGIN
    box = f"{-width:.0f} {-height:.0f} {2 * width:.0f} {2 * height:.0f}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{box}" width="{2 * width:.0f}" height="{2 * height:.0f}">',
        f"<title>{_xml(page.symbol)}</title><style>{_STYLE}</style>",
        f'<rect class="ground" x="{-width:.0f}" y="{-height:.0f}" width="{2 * width:.0f}" height="{2 * height:.0f}"/>',
        *(f'<circle class="ring" r="{ring.radius:.1f}"/>' for ring in page.rings),
    ]
    for edge in page.edges:
        (x1, y1), (x2, y2) = spots[edge.source], spots[edge.target]
        kind = "edge" if edge.certain else "edge possible"
        bend = f"{(x1 + x2) * 0.42:.1f} {(y1 + y2) * 0.42:.1f}"
        parts.append(f'<path class="{kind}" d="M{x1:.1f} {y1:.1f}Q{bend} {x2:.1f} {y2:.1f}"/>')
    parts += [_drawn_distance(ring) for ring in page.rings]
    parts += [_drawn_node(node, by_sides=by_sides) for node in page.nodes]
    return "\n".join([*parts, "</svg>\n"])


def lay_out(page: GraphPage, *, by_sides: bool) -> GraphPage:
    """The graph with a place for each node, always the same, no label upon another: by sides, or in rings near what
    it leads to."""
    at_distance: defaultdict[int, list[GraphNode]] = defaultdict(list)
    for node in page.nodes:
        at_distance[node.ring].append(node)
    middle = at_distance.pop(0, [])
    spots: dict[str, Spot] = {node.id: (0.0, 0.0) for node in middle}
    rings: list[GraphRing] = []
    inner = _inner_neighbours(page)
    rows = _Rows(max((_text_width(node) / 2 for node in middle), default=0.0))
    for distance, inside in sorted(at_distance.items()):
        if by_sides:
            spots |= _side(inside, -1 if distance == 1 else 1)
        else:
            least = rings[-1].radius + _RING_GAP if rings else _FIRST_RING
            aims = {node.id: _angle(inner[node.id], spots) for node in inside}
            radius, placed = _ring(inside, max(least, len(inside) * _ROW / 4), aims, rows)
            spots |= placed
            rings.append(GraphRing(distance, round(radius, 1)))
    nodes = [replace(node, x=round(spots[node.id][0], 1), y=round(spots[node.id][1], 1)) for node in page.nodes]
    return replace(page, nodes=nodes, rings=rings)


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


class _Rows:
    """How far labels reach to the left and to the right, by rows as high as a label."""

    def __init__(self, middle: float) -> None:
        self._reach: dict[tuple[int, int], float] = {}
        for side in (-1, 1):
            self.take((side * middle, -14.0), 0.0)
            self.take((side * middle, 0.0), 0.0)

    def is_free(self, spot: Spot) -> bool:
        """Whether a node can lie there and its label outwards of it: what is nearer to the middle ends before."""
        x, y = spot
        return abs(x) > self._reach.get((1 if x > 0 else -1, round(y / _ROW)), 0.0) + _LABEL_GAP

    def take(self, spot: Spot, width: float) -> None:
        """A node lies there, with a label of that width."""
        x, y = spot
        key = (1 if x > 0 else -1, round(y / _ROW))
        self._reach[key] = max(self._reach.get(key, 0.0), abs(x) + _LABEL_GAP + width)


def _ring(
    nodes: list[GraphNode], radius: float, aims: dict[str, float | None], rows: _Rows
) -> tuple[float, dict[str, Spot]]:
    """Nodes on a circle that is large enough, each as near to its wanted direction as labels leave room for."""
    while len(free := [spot for spot in _spots_on(radius) if rows.is_free(spot)]) < len(nodes):
        radius += _ROW
    even = {node.id: (number + 0.5) / len(nodes) * math.tau for number, node in enumerate(nodes)}
    wanted = {name: angle if (angle := aims[name]) is not None else even[name] for name in even}
    angles = [math.atan2(y, x) % math.tau for x, y in free]
    circle = _Circle(len(free))
    ordered = sorted(nodes, key=lambda node: (wanted[node.id], node.id))
    placed = {node.id: free[circle.take(bisect(angles, wanted[node.id]))] for node in ordered}
    for node in nodes:
        rows.take(placed[node.id], _text_width(node))
    return radius, placed


def _spots_on(radius: float) -> list[Spot]:
    """Places on a circle whose labels do not touch, by angle; the top is left to the label of the ring."""
    most = int((radius - _ROW / 2) / _ROW)
    right = [(math.sqrt(radius**2 - (row * _ROW) ** 2), row * _ROW) for row in range(-most, most + 1)]
    spots = [(side * x, y) for x, y in right for side in (-1, 1) if y > 0 or x > _DISTANCE_ROOM]
    return sorted(spots, key=lambda spot: math.atan2(spot[1], spot[0]) % math.tau)


class _Circle:
    """Numbers around a circle, each of which is taken once."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._next = {step: list(range(count)) for step in (1, -1)}  # leads to the next that is free

    def take(self, wanted: int) -> int:
        """The free number nearest to the wanted one, which then is taken."""
        after, before = (self._free(wanted % self._count, step) for step in (1, -1))
        is_after = (after - wanted) % self._count <= (wanted - before) % self._count
        number = after if is_after else before
        for step, leads in self._next.items():
            leads[number] = (number + step) % self._count
        return number

    def _free(self, number: int, step: int) -> int:
        leads = self._next[step]
        while leads[number] != number:
            leads[number] = leads[leads[number]]  # shortens the way for who comes next
            number = leads[number]
        return number


def _side(nodes: list[GraphNode], side: int) -> dict[str, Spot]:
    """Nodes on an arc, each as far above the next."""
    radius = max(_SIDE_RADIUS, (len(nodes) - 1) * _ROW / (2 * _ARC_HEIGHT))
    spots: dict[str, Spot] = {}
    for number, node in enumerate(nodes):
        y = 0.0 if len(nodes) == 1 else (2 * number / (len(nodes) - 1) - 1) * _ARC_HEIGHT * radius
        spots[node.id] = (side * math.sqrt(radius**2 - y**2), y)
    return spots


def _shown_label(node: GraphNode) -> str:
    return node.label if len(node.label) <= _LONGEST_LABEL else f"{node.label[: _LONGEST_LABEL - 1]}…"


def _text_width(node: GraphNode) -> float:
    """How wide a label is drawn: characters of East Asia are twice as wide."""
    return sum(2 * _CHARACTER if east_asian_width(letter) in "WF" else _CHARACTER for letter in _shown_label(node))


def _reach(node: GraphNode) -> float:
    """How far a node and its label reach from the middle to the side."""
    return _text_width(node) / 2 if node.ring == 0 else abs(node.x) + _LABEL_GAP + _text_width(node)


def _drawn_distance(ring: GraphRing) -> str:
    return (
        f'<text class="distance" x="0" y="{4 - ring.radius:.1f}" text-anchor="middle">distance {ring.distance}</text>'
    )


def _drawn_node(node: GraphNode, *, by_sides: bool) -> str:
    x, y = node.x, node.y
    if node.ring == 0:
        kind, size, anchor, dx, dy = "middle", 8.0, "middle", 0.0, -14.0
    else:
        kind = "test" if node.is_test else "out" if by_sides and node.ring > 1 else "inside"
        size, dy = 5.5, 4.0
        anchor, dx = ("end", -_LABEL_GAP) if x < 0 else ("start", _LABEL_GAP)
    return (
        f"<g><title>{_xml(f'{node.kind} {node.label} {node.path}:{node.line}')}</title>"
        f'<circle class="node {kind}" cx="{x:.1f}" cy="{y:.1f}" r="{size}"/>'
        f'<text x="{x + dx:.1f}" y="{y + dy:.1f}" text-anchor="{anchor}">{_xml(_shown_label(node))}</text></g>'
    )


def _xml(text: str) -> str:
    """Text for XML, which has no place for most control characters."""
    return escape("".join(letter if letter.isprintable() else "\ufffd" for letter in text))
