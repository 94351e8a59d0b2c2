"""Collect the references found while interpreting a body, as edges."""

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


class FoundEdges:
    """Edges of one module; `source` is the key of the definition being interpreted, and `quiet` suspends recording."""

    def __init__(self, inference: Inference) -> None:
        self.source = ""
        self.quiet = 0
        self._inference = inference
        self._edges: dict[tuple[int, str, str, str, EdgeKind], str] = {}

    def note(self, line: int, name: str, entities: Sequence[Entity], kind: EdgeKind) -> None:
        """Add an edge to each entity of the project."""
        if self.quiet:
            return
        if kind == "import":
            entities = without_overloads(entities)
        if len(entities) > MAX_TARGETS:
            self.note_unknown(line, name, kind)
            return
        for entity in entities:
            if isinstance(entity, DEFINED):
                origin = "name" if type(entity) is ModuleInfo or _last_name_part(entity.key) == name else ALIAS
                self._edges[(line, self.source, entity.path, entity.key, kind)] = origin
            elif type(entity) is External and entity.is_missing:
                self.note_missing(line, entity.name.rpartition(".")[2], kind)

    def note_missing(self, line: int, name: str, kind: EdgeKind) -> None:
        """Add possible edges for the use and the import of a name that a missing module should define."""
        self.note_unknown(line, name, kind)
        self.note_unknown(line, name, "import")

    def note_unknown(self, line: int, name: str, kind: EdgeKind) -> None:
        """Add a possible edge that may refer to any symbol with the name."""
        if not self.quiet and not name.startswith("__"):
            self._edges.setdefault((line, self.source, "", name, kind), "unknown receiver")

    def note_unparsed(self, names: Sequence[UnparsedName]) -> None:
        """Add a possible edge for each unparsed name on a line without another edge for that name."""
        known = {(line, _last_name_part(key)) for line, _, _, key, _ in self._edges} if names else set()
        for each in names:
            if (each.line, each.name) not in known:
                self.source = each.source
                self.note_unknown(each.line, each.name, UNPARSED)

    def note_construction(self, info: ClassInfo, function: Expression) -> None:
        """Add calls of `__init__` and `__new__` for a call of their class, except overloaded constructors, which are
        ambiguous."""
        if type(function) is not Name or function.name != info.name:
            return
        for name in ("__init__", "__new__"):
            constructors = self._inference.own_member(info, name) if name in info.bindings else ()
            if len(constructors) == 1:
                self.note(function.line, name, constructors, "call")

    def found(self) -> tuple[Edge, ...]:
        """Return all edges, sorted by line."""
        return tuple(
            Edge(line, source, path, key, kind, origin, certain=bool(path))
            for (line, source, path, key, kind), origin in sorted(self._edges.items())
        )


def without_overloads(entities: Sequence[Entity]) -> Sequence[Entity]:
    """Keep only the first of several functions with the same name and location (overloads, setters)."""
    if len(entities) < 2:
        return entities
    kept: dict[tuple[str, str], Entity] = {}
    for entity in entities:
        if isinstance(entity, DEFINED):
            kept.setdefault((entity.path, entity.key.partition("#")[0]), entity)
    return tuple(kept.values())


def _last_name_part(key: str) -> str:
    return key.rpartition(".")[2].partition("#")[0]
