"""Expressions of a body: what names mean at one point of it, and the references that are found on the way."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from deltos.domains.graph.model import Edge
from deltos.domains.graph.python.entities import DEFINED, ClassInfo, Instance, ModuleInfo
from deltos.domains.graph.python.evaluate import Evaluator, instances_of
from deltos.domains.graph.python.frames import Frame
from deltos.domains.graph.python.nodes import (
    And,
    Attribute,
    Call,
    Conditional,
    DictDisplay,
    ListDisplay,
    Name,
    Not,
    Or,
    QuotedType,
    SetDisplay,
    Several,
    Starred,
    TupleDisplay,
    Walrus,
    dotted,
)
from deltos.domains.graph.python.values import UNKNOWN, Known, SelfType, SuperOf, Types, either, union

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deltos.domains.graph.model import EdgeKind
    from deltos.domains.graph.python.entities import Entity
    from deltos.domains.graph.python.infer import Inference
    from deltos.domains.graph.python.nodes import Expression
    from deltos.domains.graph.python.values import Value


class BodyExpressions(Evaluator):
    """Evaluates expressions of one module's body and collects the edges."""

    def __init__(self, inference: Inference, module: ModuleInfo) -> None:
        super().__init__(inference)
        self.module = module
        self.edges: dict[tuple[int, str, str, str, EdgeKind], str] = {}
        self._frame = Frame(None)
        self._source = ""
        self._quiet = 0

    def lookup(self, name: str) -> tuple[Sequence[Entity], Types | None]:
        """Look in this frame, in the functions around it, in the module, in builtins."""
        frame = self._frame
        types = frame.environment.get(name)
        if name in frame.local:
            entity = frame.defined.get(name)
            return ((entity,) if entity is not None else ()), self._local_types(frame, name) if types is None else types
        if frame.owner is not None and name in frame.owner.bindings:
            return self.inference.own_member(frame.owner, name), types
        outer = frame.outer
        while outer is not None:
            if name in outer.local and outer.owner is None:
                entity = outer.defined.get(name)
                return ((entity,) if entity is not None else ()), self._outer_types(
                    outer, name
                ) if types is None else types
            outer = outer.outer
        return self.inference.name_in(self.module, name), types

    def _local_types(self, frame: Frame, name: str) -> Types:
        """A local name that was not assigned before this point: a parameter, or unknown."""
        index = frame.parameters.get(name)
        if index is None or frame.function is None:
            return UNKNOWN
        return self.inference.parameter(frame.function, index)

    def _outer_types(self, frame: Frame, name: str) -> Types:
        return either(self._local_types(frame, name), frame.everything.get(name, UNKNOWN))

    def note(self, line: int, name: str, entities: Sequence[Entity], kind: EdgeKind) -> None:
        """Add an edge to each definition of the project."""
        if self._quiet:
            return
        if kind == "import":
            entities = first_of_each(entities)
        for entity in entities:
            if isinstance(entity, DEFINED):
                origin = "name" if type(entity) is ModuleInfo or _own_name(entity.key) == name else "alias"
                self.edges[(line, self._source, entity.path, entity.key, kind)] = origin

    def note_unknown(self, line: int, name: str, kind: EdgeKind) -> None:
        """Add a possible edge to whatever has that name."""
        if not self._quiet and not name.startswith("__"):
            self.edges.setdefault((line, self._source, "", name, kind), "unknown receiver")

    def note_construction(self, info: ClassInfo, function: Expression) -> None:
        """Calling a class calls its own `__init__` and `__new__`; which of several overloads, is not known."""
        if type(function) is not Name or function.name != info.name:
            return
        for name in ("__init__", "__new__"):
            constructors = self.inference.own_member(info, name) if name in info.bindings else ()
            if len(constructors) == 1:
                self.note(function.line, name, constructors, "call")

    def visit_arguments(self, node: Call) -> None:
        """Evaluate every argument once, for its references."""
        for argument in node.arguments:
            self.visit(argument)
        for _, argument in node.keywords:
            self.visit(argument)

    def visit(self, node: Expression) -> None:
        """Evaluate for references alone: what names and calls give is not worked out."""
        if node is None:
            return
        if type(node) is Name:
            if node.name not in self.inner:
                self.note(node.line, node.name, self.lookup(node.name)[0], "read")
        elif type(node) is Attribute:
            self._visit_attribute(node, "read")
        elif type(node) is Call:
            self._visit_call(node)
        elif type(node) is TupleDisplay or type(node) is ListDisplay or type(node) is SetDisplay:
            self._visit_all(node.items)
        elif type(node) is Several:
            self._visit_all(node.operands)
        elif type(node) is DictDisplay:
            self._visit_all((*node.keys, *node.values))
        elif type(node) is Starred:
            self.visit(node.value)
        elif type(node) is Not:
            self.visit(node.operand)
        elif type(node) is QuotedType:
            self.annotate(node.annotation)
        else:
            self.evaluate(node)

    def _visit_all(self, nodes: Sequence[Expression]) -> None:
        for node in nodes:
            self.visit(node)

    def _visit_attribute(self, node: Attribute, kind: EdgeKind) -> None:
        line, name, found = node.line, node.name, False
        for value in self.evaluate(node.value):
            entities = self.inference.attribute_entities(value, name)
            if entities or type(value) is Known:
                found = True
                self.note(line, name, entities, kind)
        if not found and node.value is not None:
            self.note_unknown(line, name, kind)

    def _visit_call(self, node: Call) -> None:
        function = node.function
        if type(function) is Name and function.name not in self.inner:
            entities, _ = self.lookup(function.name)
            self.note(function.line, function.name, entities, "call")
            for entity in entities:
                if type(entity) is ClassInfo:
                    self.note_construction(entity, function)
        elif type(function) is Attribute:
            self._visit_attribute(function, "call")
        else:
            self.evaluate(function)
        self.visit_arguments(node)

    def quietly(self, node: Expression) -> Types:
        """Evaluate again without noting."""
        self._quiet += 1
        types = self.evaluate(node)
        self._quiet -= 1
        return types

    def super_of(self) -> Types:
        """`super()` in the nearest method around this point."""
        frame: Frame | None = self._frame
        while frame is not None and (frame.function is None or frame.function.owner is None):
            frame = frame.outer
        if frame is None or frame.function is None or frame.function.owner is None:
            return UNKNOWN
        owner = frame.function.owner
        return tuple([SuperOf(owner, value) for value in self.inference.receiver(frame.function)])

    def sent(self) -> Types:
        """What the declared generator type says that `yield` gives."""
        function = self._frame.function
        if function is None or function.returns is None:
            return UNKNOWN
        declared = self.inference.returned(function)
        return union([value.arguments[1] for value in declared if type(value) is Known and value.name == "generator"])

    def attribute_of(self, values: Types, node: Attribute, kind: EdgeKind) -> Types:
        """An attribute, as narrowed by an assignment or test before."""
        types = super().attribute_of(values, node, kind)
        if node.name in self._frame.narrowed:
            path = dotted(node)
            if path and path in self._frame.environment:
                return self._frame.environment[path]
        return types

    def test_inner(self, test: Expression) -> None:
        """A condition of a comprehension narrows its variables."""
        self.evaluate(test)
        for name, types in self.narrowings(test, holds=True):
            if name in self.inner:
                self.inner[name] = types

    # --- what tests tell

    def _both(self, node: And) -> Types:
        return self._in_turn(node.operands, holds=True)

    def _either(self, node: Or) -> Types:
        return self._in_turn(node.operands, holds=False)

    def _in_turn(self, operands: Sequence[Expression], *, holds: bool) -> Types:
        """Operands of `and` and `or`: each is reached only when those before it held, or did not."""
        before: dict[str, Types | None] = {}
        results: list[Types] = []
        for operand in operands:
            results.append(self.evaluate(operand))
            for path, types in self.narrowings(operand, holds=holds):
                before.setdefault(path, self._frame.environment.get(path))
                self.set_narrowed(path, types)
        self._restore(before)
        return union(results)

    def _choice(self, node: Conditional) -> Types:
        self.visit(node.test)
        results: list[Types] = []
        for branch, holds in ((node.then, True), (node.otherwise, False)):
            before: dict[str, Types | None] = {}
            for path, types in self.narrowings(node.test, holds=holds):
                before.setdefault(path, self._frame.environment.get(path))
                self.set_narrowed(path, types)
            results.append(self.evaluate(branch))
            self._restore(before)
        return either(*results)

    handlers: ClassVar = {**Evaluator.handlers, And: _both, Or: _either, Conditional: _choice}

    def _restore(self, before: dict[str, Types | None]) -> None:
        """Undo narrowings that hold inside one expression only."""
        for path, types in before.items():
            if types is None:
                self._frame.environment.pop(path, None)
            else:
                self._frame.environment[path] = types

    def narrow(self, test: Expression, *, holds: bool) -> None:
        """From here on, names are what a test says that they are."""
        for path, types in self.narrowings(test, holds=holds):
            self.set_narrowed(path, types)

    def set_narrowed(self, path: str, types: Types) -> None:
        """From here on, a name or dotted attribute is of these types."""
        self._frame.environment[path] = types
        attribute = path.rpartition(".")[2]
        if attribute != path:
            self._frame.narrowed.add(attribute)

    def narrowings(self, test: Expression, *, holds: bool) -> list[tuple[str, Types]]:
        """What a test tells about names when it holds, or when it does not."""
        if type(test) is Not:
            return self.narrowings(test.operand, holds=not holds)
        if (type(test) is And and holds) or (type(test) is Or and not holds):
            return [found for operand in test.operands for found in self.narrowings(operand, holds=holds)]
        if type(test) is Call and type(test.function) is Name and len(test.arguments) == 2:
            return self._class_test(test.function.name, *test.arguments, holds=holds)
        return []

    def _class_test(
        self, function: str, value: Expression, classes: Expression, *, holds: bool
    ) -> list[tuple[str, Types]]:
        if function == "isinstance":
            return self._instance_test(value, classes, holds=holds)
        path = dotted(value) if function == "issubclass" and holds else ""
        if not path:
            return []
        found = tuple([info for info in _flat(self.quietly(classes)) if type(info) is ClassInfo])
        return [(path, found)] if found else []

    def _instance_test(self, value: Expression, classes: Expression, *, holds: bool) -> list[tuple[str, Types]]:
        if type(value) is Walrus:
            value = Name(value.line, value.name)
        path = dotted(value)
        if not path:
            return []
        tested = [info.info for info in instances_of(self.quietly(classes)) if isinstance(info, Instance)]
        current = self.quietly(value)
        if holds:
            kept = tuple([part for part in current if self._is_one_of(part, tested)])
            return [(path, kept or tuple([info.instance for info in tested]))]
        if not current or not tested:
            return []
        return [(path, tuple([part for part in current if not self._is_one_of(part, tested)]))]

    def _is_one_of(self, value: Value, classes: list[ClassInfo]) -> bool:
        return isinstance(value, (Instance, SelfType)) and any(
            base in classes for base in self.inference.mro(value.info)
        )

    def result_edges(self) -> tuple[Edge, ...]:
        """All edges, in the order of lines."""
        return tuple(
            Edge(line, source, path, key, kind, origin, certain=bool(path))
            for (line, source, path, key, kind), origin in sorted(self.edges.items())
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


def _flat(types: Types) -> Types:
    parts = [_flat(part) for value in types if type(value) is Known for part in value.arguments]
    return union([tuple([value for value in types if type(value) is not Known]), *parts])
