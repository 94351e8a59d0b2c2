"""Record the references in a module as graph edges while its statements are analysed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.domains.graph.model import ALIAS, MAX_TARGETS, UNPARSED, Edge
from deltos.domains.graph.python.entities import DEFINED, External, ModuleInfo
from deltos.domains.graph.python.nodes import Name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deltos.domains.graph.model import EdgeKind
    from deltos.domains.graph.python.entities import ClassInfo, Entity
    from deltos.domains.graph.python.infer import Inference
    from deltos.domains.graph.python.nodes import Expression, UnparsedName


class EdgeCollector:
    """Collector of the graph edges that start in one module.

    `source` is the key of the definition whose body is being analysed. While `quiet_depth` is above 0, no edges are
    recorded.
    """

    def __init__(self, inference: Inference) -> None:
        self.source = ""
        self.quiet_depth = 0
        self._inference = inference
        self._edges: dict[tuple[int, str, str, str, EdgeKind], str] = {}

    def add(self, line: int, name: str, entities: Sequence[Entity], kind: EdgeKind) -> None:
        """Add an edge to each entity that the project defines, or one possible edge if there are too many entities."""
        if self.quiet_depth:
            return
        if kind == "import":
            entities = without_overloads(entities)
        if len(entities) > MAX_TARGETS:
            self.add_possible(line, name, kind)
            return
        for entity in entities:
            if isinstance(entity, DEFINED):
                origin = "name" if type(entity) is ModuleInfo or _last_name_part(entity.key) == name else ALIAS
                self._edges[(line, self.source, entity.path, entity.key, kind)] = origin
            elif type(entity) is External and entity.is_missing:
                self.add_missing(line, entity.name.rpartition(".")[2], kind)

    def add_missing(self, line: int, name: str, kind: EdgeKind) -> None:
        """Add two possible edges, a use and an import, for a name that the imported module does not define."""
        self.add_possible(line, name, kind)
        self.add_possible(line, name, "import")

    def add_possible(self, line: int, name: str, kind: EdgeKind) -> None:
        """Add an edge for a reference that may refer to any symbol with this name."""
        if not self.quiet_depth and not name.startswith("__"):
            self._edges.setdefault((line, self.source, "", name, kind), "unknown receiver")

    def add_unparsed(self, names: Sequence[UnparsedName]) -> None:
        """Add a possible edge for each name near syntax errors, unless its line already has an edge for this name."""
        known = {(line, _last_name_part(key)) for line, _, _, key, _ in self._edges} if names else set()
        for each in names:
            if (each.line, each.name) not in known:
                self.source = each.source
                self.add_possible(each.line, each.name, UNPARSED)

    def add_constructor_calls(self, info: ClassInfo, function: Expression) -> None:
        """Add edges to `__init__` and `__new__` for a call of their class, unless these methods are overloaded."""
        if type(function) is not Name or function.name != info.name:
            return
        for name in ("__init__", "__new__"):
            constructors = self._inference.find_own_member(info, name) if name in info.bindings else ()
            if len(constructors) == 1:
                self.add(function.line, name, constructors, "call")

    def sorted_edges(self) -> tuple[Edge, ...]:
        """Return all edges, sorted by line."""
        return tuple(
            Edge(line, source, path, key, kind, origin, certain=bool(path))
            for (line, source, path, key, kind), origin in sorted(self._edges.items())
        )


def without_overloads(entities: Sequence[Entity]) -> Sequence[Entity]:
    """Keep only the first function with each name in a scope, dropping overloads and setters."""
    if len(entities) < 2:
        return entities
    kept: dict[tuple[str, str], Entity] = {}
    for entity in entities:
        if isinstance(entity, DEFINED):
            kept.setdefault((entity.path, entity.key.partition("#")[0]), entity)
    return tuple(kept.values())


def _last_name_part(key: str) -> str:
    return key.rpartition(".")[2].partition("#")[0]
