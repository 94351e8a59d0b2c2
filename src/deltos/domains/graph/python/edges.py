"""The references that running a body finds, as edges."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.domains.graph.model import ALIAS, MOST_TARGETS, UNPARSED, Edge
from deltos.domains.graph.python.entities import DEFINED, External, ModuleInfo
from deltos.domains.graph.python.nodes import Name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deltos.domains.graph.model import EdgeKind
    from deltos.domains.graph.python.entities import ClassInfo, Entity
    from deltos.domains.graph.python.infer import Inference
    from deltos.domains.graph.python.nodes import Expression, UnparsedName


class FoundEdges:
    """The edges found in one module. `source` is the key of the definition that is being run."""

    def __init__(self, inference: Inference) -> None:
        self.source = ""
        self.quiet = 0
        self._inference = inference
        self._edges: dict[tuple[int, str, str, str, EdgeKind], str] = {}

    def note(self, line: int, name: str, entities: Sequence[Entity], kind: EdgeKind) -> None:
        """Add an edge to each definition of the project."""
        if self.quiet:
            return
        if kind == "import":
            entities = first_of_each(entities)
        if len(entities) > MOST_TARGETS:
            self.note_unknown(line, name, kind)
            return
        for entity in entities:
            if isinstance(entity, DEFINED):
                origin = "name" if type(entity) is ModuleInfo or _own_name(entity.key) == name else ALIAS
                self._edges[(line, self.source, entity.path, entity.key, kind)] = origin
            elif type(entity) is External and entity.is_missing:
                self.note_missing(line, entity.name.rpartition(".")[2], kind)

    def note_missing(self, line: int, name: str, kind: EdgeKind) -> None:
        """Add a possible edge to whatever has the name that a missing module should have: also as an import of it."""
        self.note_unknown(line, name, kind)
        self.note_unknown(line, name, "import")

    def note_unknown(self, line: int, name: str, kind: EdgeKind) -> None:
        """Add a possible edge to whatever has that name."""
        if not self.quiet and not name.startswith("__"):
            self._edges.setdefault((line, self.source, "", name, kind), "unknown receiver")

    def note_unparsed(self, names: Sequence[UnparsedName]) -> None:
        """Add a possible edge for each name that is known as nothing else on its line."""
        known = {(line, _own_name(key)) for line, _, _, key, _ in self._edges} if names else set()
        for each in names:
            if (each.line, each.name) not in known:
                self.source = each.source
                self.note_unknown(each.line, each.name, UNPARSED)

    def note_construction(self, info: ClassInfo, function: Expression) -> None:
        """Calling a class calls its own `__init__` and `__new__`; which of several overloads, is not known."""
        if type(function) is not Name or function.name != info.name:
            return
        for name in ("__init__", "__new__"):
            constructors = self._inference.own_member(info, name) if name in info.bindings else ()
            if len(constructors) == 1:
                self.note(function.line, name, constructors, "call")

    def found(self) -> tuple[Edge, ...]:
        """All edges, in the order of lines."""
        return tuple(
            Edge(line, source, path, key, kind, origin, certain=bool(path))
            for (line, source, path, key, kind), origin in sorted(self._edges.items())
        )


def first_of_each(entities: Sequence[Entity]) -> Sequence[Entity]:
    """Of several functions with the same name in the same place (overloads, setters) the first."""
    if len(entities) < 2:
        return entities
    kept: dict[tuple[str, str], Entity] = {}
    for entity in entities:
        if isinstance(entity, DEFINED):
            kept.setdefault((entity.path, entity.key.partition("#")[0]), entity)
    return tuple(kept.values())


def _own_name(key: str) -> str:
    return key.rpartition(".")[2].partition("#")[0]
