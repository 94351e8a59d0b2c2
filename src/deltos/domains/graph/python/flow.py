"""References out of bodies: runs each statement in order, keeping what every name may be at that point."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, ClassVar, Never

from deltos.domains.graph.model import Edge, Import
from deltos.domains.graph.python import nodes
from deltos.domains.graph.python.builtins import element_of
from deltos.domains.graph.python.entities import (
    DEFINED,
    ClassInfo,
    External,
    Instance,
    ModuleInfo,
    VariableInfo,
)  # fmt: skip
from deltos.domains.graph.python.evaluate import Evaluator, entered, instances_of, unpacked
from deltos.domains.graph.python.nodes import (
    And,
    Attribute,
    Call,
    Index,
    ListDisplay,
    Name,
    Not,
    Or,
    Starred,
    TupleDisplay,
    Walrus,
    dotted,
    last_name,
)  # fmt: skip
from deltos.domains.graph.python.types import UNKNOWN, Known, SelfType, SuperOf, Types, either, union

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from deltos.domains.graph.model import EdgeKind, ImportMode
    from deltos.domains.graph.python.entities import Entity, FunctionInfo
    from deltos.domains.graph.python.infer import Inference
    from deltos.domains.graph.python.nodes import Block, Expression, Expressions
    from deltos.domains.graph.python.types import Value

MAX_LOOP_REPEATS = 2
"""Loops nested deeper than this are run once: each level would double the work."""

Environment = dict[str, Types]


class Frame:
    """A module, class body or function that is being run."""

    __slots__ = (
        "assigned",
        "declared", "defined", "environment", "everything", "function", "local", "narrowed", "outer",
                 "owner", "parameters")  # fmt: skip

    def __init__(
        self,
        outer: Frame | None,
        *,
        function: FunctionInfo | None = None,
        owner: ClassInfo | None = None,
        local: AbstractSet[str] = frozenset(),
    ) -> None:
        self.outer = outer
        self.function = function
        self.owner = owner
        self.local = local
        self.environment: Environment = {}
        self.everything: Environment = {}
        self.declared: Environment = {}
        self.defined: dict[str, Entity] = {}
        self.narrowed: set[str] = set()
        self.parameters: dict[str, int] = {}
        self.assigned: AbstractSet[str] = frozenset()

    def bind(self, name: str, types: Types) -> None:
        """Let a name be this from here on; functions inside see the union of all it was."""
        self.environment[name] = types
        self.everything[name] = either(self.everything.get(name, ()), types)

    def in_function(self) -> bool:
        """Whether this code runs only when a function is called."""
        frame: Frame | None = self
        while frame is not None:
            if frame.function is not None:
                return True
            frame = frame.outer
        return False


def merged(environments: Sequence[Environment], assigned: AbstractSet[str]) -> Environment:
    """What names may be where several paths meet.

    A name that the function assigns is unbound where a path lacks it; for any other, what a path lacks is a narrowing,
    and one that not every path has is void.
    """
    first, *rest = environments
    if not rest:
        return first
    result = dict(first)
    for other in rest:
        for name in result.keys() - other.keys():
            if name not in assigned:
                del result[name]
        for name, types in other.items():
            known = result.get(name)
            if known is None:
                if name in assigned:
                    result[name] = types
            elif known is not types:
                result[name] = either(known, types)
    return result


class Frames:
    """The point that a running body has reached: implements `evaluate.Position`."""

    def __init__(self, inference: Inference, module: ModuleInfo) -> None:
        self.frame = Frame(None)
        self._inference = inference
        self._module = module

    def lookup(self, name: str) -> tuple[Sequence[Entity], Types | None]:
        """Look in this frame, in the functions around it, in the module, in builtins."""
        frame = self.frame
        types = frame.environment.get(name)
        if name in frame.local:
            entity = frame.defined.get(name)
            return ((entity,) if entity is not None else ()), self._local_types(frame, name) if types is None else types
        if frame.owner is not None and name in frame.owner.bindings:
            return self._inference.own_member(frame.owner, name), types
        outer = frame.outer
        while outer is not None:
            if name in outer.local and outer.owner is None:
                entity = outer.defined.get(name)
                return ((entity,) if entity is not None else ()), self._outer_types(
                    outer, name
                ) if types is None else types
            outer = outer.outer
        return self._inference.names.name_in(self._module, name), types

    def _local_types(self, frame: Frame, name: str) -> Types:
        """A local name that was not assigned before this point: a parameter, or unknown."""
        index = frame.parameters.get(name)
        if index is None or frame.function is None:
            return UNKNOWN
        return self._inference.parameter(frame.function, index)

    def _outer_types(self, frame: Frame, name: str) -> Types:
        return either(self._local_types(frame, name), frame.everything.get(name, UNKNOWN))

    def self_type(self) -> Types:
        """Not known: only interfaces are asked for what `Self` declares."""
        return UNKNOWN

    def super_of(self) -> Types:
        """`super()` in the nearest method around this point."""
        frame: Frame | None = self.frame
        while frame is not None and (frame.function is None or frame.function.owner is None):
            frame = frame.outer
        if frame is None or frame.function is None or frame.function.owner is None:
            return UNKNOWN
        owner = frame.function.owner
        return tuple([SuperOf(owner, value) for value in self._inference.receiver(frame.function)])

    def sent(self) -> Types:
        """What the declared generator type says that `yield` gives."""
        function = self.frame.function
        if function is None or function.returns is None:
            return UNKNOWN
        declared = self._inference.returned(function)
        return union([value.arguments[1] for value in declared if type(value) is Known and value.name == "generator"])


class References:
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
        for entity in entities:
            if isinstance(entity, DEFINED):
                origin = "name" if type(entity) is ModuleInfo or _own_name(entity.key) == name else "alias"
                self._edges[(line, self.source, entity.path, entity.key, kind)] = origin

    def note_unknown(self, line: int, name: str, kind: EdgeKind) -> None:
        """Add a possible edge to whatever has that name."""
        if not self.quiet and not name.startswith("__"):
            self._edges.setdefault((line, self.source, "", name, kind), "unknown receiver")

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


class Narrowing:
    """What tests and assignments tell about names and dotted attributes at the point that is being run."""

    def __init__(self, evaluator: Evaluator, frames: Frames) -> None:
        self._evaluator = evaluator
        self._frames = frames

    def of(self, node: Attribute) -> Types | None:
        """What an attribute was narrowed to; None where it was not."""
        frame = self._frames.frame
        return frame.environment.get(dotted(node)) if node.name in frame.narrowed else None

    def narrow(self, test: Expression, *, holds: bool, before: dict[str, Types | None] | None = None) -> None:
        """From here on, names are what a test says that they are; what they were is added to `before`."""
        for path, types in self.told_by(test, holds=holds):
            if before is not None:
                before.setdefault(path, self._frames.frame.environment.get(path))
            self.set(path, types)

    def restore(self, before: Mapping[str, Types | None]) -> None:
        """Undo narrowings that hold inside one expression only."""
        environment = self._frames.frame.environment
        for path, types in before.items():
            if types is None:
                environment.pop(path, None)
            else:
                environment[path] = types

    def set(self, path: str, types: Types) -> None:
        """From here on, a name or dotted attribute is of these types."""
        self._frames.frame.environment[path] = types
        attribute = path.rpartition(".")[2]
        if attribute != path:
            self._frames.frame.narrowed.add(attribute)

    def told_by(self, test: Expression, *, holds: bool) -> list[tuple[str, Types]]:
        """What a test tells about names when it holds, or when it does not."""
        if type(test) is Not:
            return self.told_by(test.operand, holds=not holds)
        if (type(test) is And and holds) or (type(test) is Or and not holds):
            return [found for operand in test.operands for found in self.told_by(operand, holds=holds)]
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
        found = tuple([info for info in _flat(self._evaluator.quietly(classes)) if type(info) is ClassInfo])
        return [(path, found)] if found else []

    def _instance_test(self, value: Expression, classes: Expression, *, holds: bool) -> list[tuple[str, Types]]:
        if type(value) is Walrus:
            value = Name(value.line, value.name)
        path = dotted(value)
        if not path:
            return []
        tested = [info.info for info in instances_of(self._evaluator.quietly(classes)) if isinstance(info, Instance)]
        current = self._evaluator.quietly(value)
        if holds:
            kept = tuple([part for part in current if self._is_one_of(part, tested)])
            return [(path, kept or tuple([info.instance for info in tested]))]
        if not current or not tested:
            return []
        return [(path, tuple([part for part in current if not self._is_one_of(part, tested)]))]

    def _is_one_of(self, value: Value, classes: list[ClassInfo]) -> bool:
        return isinstance(value, (Instance, SelfType)) and any(
            base in classes for base in self._evaluator.inference.mro(value.info)
        )


def _flat(types: Types) -> Types:
    parts = [_flat(part) for value in types if type(value) is Known for part in value.arguments]
    return union([tuple([value for value in types if type(value) is not Known]), *parts])


class Flow:
    """Runs the body of one module and collects its references and imports."""

    def __init__(self, inference: Inference, module: ModuleInfo) -> None:
        self.references = References(inference)
        self.imports: dict[Import, None] = {}
        self.external_imports = 0
        self.unresolved_imports = 0
        self._inference = inference
        self._module = module
        self._frames = Frames(inference, module)
        self._evaluator = Evaluator(inference, self._frames, self.references, self._store_name)
        self._narrowing = self._evaluator.narrowing = Narrowing(self._evaluator, self._frames)
        self._pending: deque[tuple[nodes.Define, Frame, FunctionInfo]] = deque()
        self._type_only = False
        self._loops = 0
        self._breaks: list[list[Environment]] = []

    def run_module(self, body: Block) -> None:
        """Run the module's own statements, then every function, outer ones first."""
        self.run(body)
        while self._pending:
            node, outer, function = self._pending.popleft()
            self._run_function(node, outer, function)

    def run(self, body: Block) -> bool:
        """Run statements; whether control reaches the end."""
        statements = self._statements
        return all(statements[type(node)](self, node) is not False for node in body)  # type: ignore[arg-type]

    # --- functions and classes

    def _run_function(self, node: nodes.Define, outer: Frame, function: FunctionInfo) -> None:
        parameters = [parameter.name for parameter in function.parameters]
        frame = self._frames.frame = Frame(outer, function=function, local=frozenset((*parameters, *node.local)))
        self.references.source = function.key
        frame.assigned = frozenset(node.local)
        frame.parameters = {name: index for index, name in enumerate(parameters)}
        for name in frame.parameters.keys() & frame.assigned:
            frame.bind(name, self._inference.parameter(function, frame.parameters[name]))
        self.run(node.body)

    def _define(self, node: nodes.Define) -> None:
        function = self._module.function_of(node.key)
        if function is None:
            return
        outer_source, self.references.source = self.references.source, node.key
        self._decorate(node.decorators)
        for parameter in node.parameters:
            self._evaluator.visit(parameter.default)
            self._evaluator.annotate(parameter.annotation)
        self._evaluator.annotate(node.returns)
        self.references.source = outer_source
        frame = self._frames.frame
        frame.defined.setdefault(node.name, function)
        frame.bind(node.name, self._inference.function_value(function))
        outer = frame if frame.owner is None else frame.outer
        self._pending.append((node, outer or frame, function))

    def _decorate(self, decorators: Expressions) -> None:
        for decorator in decorators:
            if type(decorator) is Name:
                self._evaluator.name(decorator, "decorate")
            elif type(decorator) is Attribute:
                self._evaluator.attribute(decorator, "decorate")
            elif type(decorator) is Call and type(decorator.function) in (Name, Attribute):
                self._decorate((decorator.function,))
                for value in self._evaluator.quietly(decorator.function):
                    if isinstance(value, ClassInfo):
                        self.references.note_construction(value, decorator.function)
                self._evaluator.visit_arguments(decorator)
            else:
                self._evaluator.evaluate(decorator)

    def _class(self, node: nodes.DefineClass) -> None:
        info = self._module.class_of(node.key)
        if info is None:
            return
        outer_source, self.references.source = self.references.source, node.key
        self._decorate(node.decorators)
        for base in node.bases:
            self._inherit(base)
        for keyword, value in node.keywords:
            self._inherit(value) if keyword == "metaclass" else self._evaluator.evaluate(value)
        frame = self._frames.frame
        frame.defined.setdefault(node.name, info)
        frame.bind(node.name, (info,))
        self._frames.frame = Frame(frame if frame.owner is None else frame.outer, owner=info)
        self.run(node.body)
        self._frames.frame, self.references.source = frame, outer_source

    def _inherit(self, base: Expression) -> None:
        if type(base) is Name:
            self._evaluator.name(base, "inherit")
        elif type(base) is Attribute:
            self._evaluator.attribute(base, "inherit")
        elif type(base) is Index:
            self._inherit(base.value)
            self._evaluator.annotate(base.index)
        else:
            self._evaluator.evaluate(base)

    # --- imports

    def _import(self, node: nodes.Import) -> None:
        for entity in self._inference.names.imported(node.module, 0, self._module):
            self._count_import(node.line, entity)
            self.references.note(node.line, node.module, (entity,), "import")
        top = node.alias or node.module.partition(".")[0]
        if top in self._frames.frame.local:
            bound = self._inference.names.imported(node.module if node.alias else top, 0, self._module)
            self._frames.frame.bind(top, self._inference.types_of(bound))

    def _from_import(self, node: nodes.FromImport) -> None:
        modules = self._inference.names.imported(node.module, node.level, self._module)
        for entity in modules:
            self._count_import(node.line, entity)
            self.references.note(node.line, node.module, (entity,), "import")
        if not modules:
            self.unresolved_imports += 1
        for imported in node.names:
            if imported.name != "*":
                self._import_name(node, imported, modules)

    def _import_name(self, node: nodes.FromImport, imported: nodes.ImportedName, modules: tuple[Entity, ...]) -> None:
        entities = self._inference.names.imported_name(node.module, node.level, imported.name, self._module)
        self.references.note(imported.line, imported.name, entities, "import")
        for entity in entities:
            if type(entity) is ModuleInfo and entity not in modules:
                self.imports[Import(imported.line, entity.path, self._mode())] = None
        bound = imported.alias or imported.name
        if bound in self._frames.frame.local:
            self._frames.frame.bind(bound, self._inference.types_of(entities))
            if len(entities) == 1:
                self._frames.frame.defined.setdefault(bound, entities[0])

    def _count_import(self, line: int, entity: Entity) -> None:
        if type(entity) is External:
            self.external_imports += 1
        elif type(entity) is ModuleInfo:
            self.imports[Import(line, entity.path, self._mode())] = None

    def _mode(self) -> ImportMode:
        if self._type_only:
            return "type"
        return "deferred" if self._frames.frame.in_function() else "runtime"

    # --- assignments

    def _evaluate(self, node: nodes.Evaluate) -> None:
        self._evaluator.visit(node.value)

    def _assign(self, node: nodes.Assign) -> None:
        types = self._evaluator.evaluate(node.value)
        for target in node.targets:
            self._store(target, types)

    def _declare(self, node: nodes.Declare) -> None:
        declared = self._evaluator.annotate(node.annotation)
        types = self._evaluator.evaluate(node.value)
        if type(node.target) is Name:
            self._frames.frame.declared[node.target.name] = declared
        self._store(node.target, types or declared)

    def _augment(self, node: nodes.Augment) -> None:
        right = self._evaluator.evaluate(node.value)
        left = self._evaluator.quietly(node.target)
        in_place = f"__i{node.method.removeprefix('__')}"
        types = self._evaluator.operate(left, in_place, UNKNOWN) or self._evaluator.operate(left, node.method, right)
        self._store(node.target, types or left)

    def _store(self, target: Expression, types: Types) -> None:
        """Assign to a name, an attribute, an item or each part of a tuple."""
        if type(target) is Name:
            self._store_name(target, types)
        elif type(target) is Attribute:
            self._store_attribute(target, types)
        elif type(target) is TupleDisplay or type(target) is ListDisplay:
            for index, part in enumerate(target.items):
                if type(part) is Starred:
                    self._store(part.value, (Known("list", (element_of(types, self._inference),)),))
                else:
                    self._store(part, unpacked(types, index, self._inference))
        else:
            self._evaluator.evaluate(target)

    def _store_name(self, target: Name, types: Types) -> None:
        name, frame = target.name, self._frames.frame
        if name in self._evaluator.inner:
            self._evaluator.inner[name] = types
            return
        if name not in frame.local:
            # Where the name also stands for something imported, that thing is not what is written.
            written = [entity for entity in self._frames.lookup(name)[0] if isinstance(entity, VariableInfo)]
            self.references.note(target.line, name, written, "write")
        types = types or frame.declared.get(name, UNKNOWN)
        if types or name in frame.local:
            frame.bind(name, types)
        else:
            frame.environment.pop(name, None)

    def _store_attribute(self, target: Attribute, types: Types) -> None:
        line, name = target.line, target.name
        values = self._evaluator.evaluate(target.value)
        for value in values:
            # A property is its getter: the setter is a part of it, not a second thing to refer to.
            self.references.note(line, name, first_of_each(self._inference.attribute(value, name)[0]), "write")
        if not values:
            self.references.note_unknown(line, name, "write")
        path = dotted(target)
        if not path:
            return
        if types:
            self._frames.frame.environment[path] = types
            self._frames.frame.narrowed.add(name)
        else:
            self._frames.frame.environment.pop(path, None)

    # --- control flow

    def _return(self, node: nodes.Return) -> bool:
        self._evaluator.visit(node.value)
        return False

    def _raise(self, node: nodes.Raise) -> bool:
        for value in node.values:
            self._evaluator.visit(value)
        return False

    def _stop(self, _node: nodes.Stop) -> bool:
        if self._breaks:
            self._breaks[-1].append(self._frames.frame.environment)
        return False

    def _assert(self, node: nodes.Assert) -> None:
        self._evaluator.visit(node.test)
        self._narrowing.narrow(node.test, holds=True)
        self._evaluator.visit(node.message)

    def _if(self, node: nodes.If) -> bool:
        frame = self._frames.frame
        ends: list[Environment] = []
        for branch in node.branches:
            self._evaluator.visit(branch.test)
            before = dict(frame.environment)
            self._narrowing.narrow(branch.test, holds=True)
            type_only, self._type_only = self._type_only, self._type_only or last_name(branch.test) == "TYPE_CHECKING"
            if self.run(branch.body):
                ends.append(frame.environment)
            self._type_only = type_only
            frame.environment = before
            self._narrowing.narrow(branch.test, holds=False)
        if self.run(node.otherwise):
            ends.append(frame.environment)
        if not ends:
            return False
        frame.environment = merged(ends, frame.assigned)
        return True

    def _for(self, node: nodes.For) -> None:
        item = element_of(self._evaluator.evaluate(node.iterable), self._inference, is_async=node.is_async)

        def once() -> bool:
            self._store(node.target, item)
            return self.run(node.body)

        self._loop(once)
        self.run(node.otherwise)

    def _while(self, node: nodes.While) -> None:
        def once() -> bool:
            self._evaluator.visit(node.test)
            self._narrowing.narrow(node.test, holds=True)
            return self.run(node.body)

        self._loop(once)
        self._narrowing.narrow(node.test, holds=False)
        self.run(node.otherwise)

    def _loop(self, once: Callable[[], bool]) -> None:
        """Run a loop's body, once more if what names may be at its start changed."""
        frame = self._frames.frame
        self._loops += 1
        for _ in range(2 if self._loops <= MAX_LOOP_REPEATS else 1):
            before = dict(frame.environment)
            self._breaks.append([])
            completed = once()
            ends = [before, *self._breaks.pop()]
            if completed:
                ends.append(frame.environment)
            frame.environment = merged(ends, frame.assigned)
            if all(frame.environment.get(name) == types for name, types in before.items()):
                break
        self._loops -= 1

    def _with(self, node: nodes.With) -> None:
        for value, target in node.items:
            types = self._evaluator.evaluate(value)
            if target is not None:
                self._store(target, entered(types, self._inference, is_async=node.is_async))
        self.run(node.body)  # whether or not it ends: the context manager may swallow what was raised

    def _try(self, node: nodes.Try) -> bool:
        frame = self._frames.frame
        before = dict(frame.environment)
        ends: list[Environment] = []
        completed = self.run(node.body)
        after = dict(frame.environment)
        if completed and self.run(node.otherwise):
            ends.append(frame.environment)
        for handler in node.handlers:
            frame.environment = merged([before, after], frame.assigned)
            caught = instances_of(self._evaluator.evaluate(handler.classes))
            if handler.name:
                self._store(Name(0, handler.name), caught)
            if self.run(handler.body):
                ends.append(frame.environment)
        frame.environment = merged(ends or [before, after], frame.assigned)
        return self.run(node.final) and bool(ends)

    def _match(self, node: nodes.Match) -> None:
        self._evaluator.evaluate(node.subject)
        path = dotted(node.subject)
        frame = self._frames.frame
        before = dict(frame.environment)
        ends = [before]
        for case in node.cases:
            frame.environment = dict(before)
            narrowed = union([instances_of(self._evaluator.evaluate(info)) for info in case.classes])
            for use in case.uses:
                self._evaluator.evaluate(use)
            if path and narrowed:
                self._narrowing.set(path, narrowed)
            for capture in case.captures:
                self._store(capture, UNKNOWN)
            self._evaluator.evaluate(case.guard)
            if self.run(case.body):
                ends.append(frame.environment)
        frame.environment = merged(ends, frame.assigned)

    _statements: ClassVar[dict[type, Callable[[Flow, Never], bool | None]]] = {
        nodes.Evaluate: _evaluate,
        nodes.Assign: _assign,
        nodes.Declare: _declare,
        nodes.Augment: _augment,
        nodes.Return: _return,
        nodes.If: _if,
        nodes.For: _for,
        nodes.While: _while,
        nodes.With: _with,
        nodes.Try: _try,
        nodes.Define: _define,
        nodes.DefineClass: _class,
        nodes.Import: _import,
        nodes.FromImport: _from_import,
        nodes.Stop: _stop,
        nodes.Raise: _raise,
        nodes.Assert: _assert,
        nodes.Match: _match,
    }
