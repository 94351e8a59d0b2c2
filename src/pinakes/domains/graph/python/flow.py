"""References out of bodies: runs each statement in order, keeping what every name may be at that point."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinakes.domains.graph.model import Edge, Import
from pinakes.domains.graph.python import ir
from pinakes.domains.graph.python.entities import ClassInfo, External, FunctionInfo, Instance, ModuleInfo
from pinakes.domains.graph.python.evaluate import Evaluator, entered, instances_of, unpacked
from pinakes.domains.graph.python.frames import Frame, merged
from pinakes.domains.graph.python.known import element_of
from pinakes.domains.graph.python.values import UNKNOWN, Known, Namespace, SelfType, SuperOf, Types, either, union

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinakes.domains.graph.model import EdgeKind, ImportMode
    from pinakes.domains.graph.python.entities import Entity
    from pinakes.domains.graph.python.frames import Environment
    from pinakes.domains.graph.python.infer import Inference
    from pinakes.domains.graph.python.ir import Expression, Node
    from pinakes.domains.graph.python.values import Value

MAX_LOOP_REPEATS = 2
"""Loops nested deeper than this are run once: each level would double the work."""


class BodyEvaluator(Evaluator):
    """Runs the body of one module and collects its edges and imports."""

    def __init__(self, inference: Inference, module: ModuleInfo) -> None:
        super().__init__(inference)
        self.module = module
        self.edges: dict[tuple[int, str, str, str, EdgeKind], str] = {}
        self.imports: dict[Import, None] = {}
        self.external_imports = 0
        self.unresolved_imports = 0
        self._frame = Frame("", None)
        self._pending: list[tuple[Node, Frame, FunctionInfo]] = []
        self._source = ""
        self._quiet = 0
        self._type_only = False
        self._loops = 0
        self._breaks: list[list[Environment]] = []
        self._statements = (
            self._evaluate, self._assign, self._declare, self._augment, self._return, self._if, self._for, self._while,
            self._with, self._try, self._define, self._class, self._import, self._from, self._stop, self._raise, self._assert,
            self._match,
        )  # fmt: skip

    def run_module(self, body: tuple[Node, ...]) -> None:
        """Run the module's own statements, then every function, outer ones first."""
        self.run(body)
        while self._pending:
            node, outer, function = self._pending.pop(0)
            self._run_function(node, outer, function)

    def run(self, body: tuple[Node, ...]) -> bool:
        """Run statements; whether control reaches the end."""
        statements = self._statements
        for node in body:
            if statements[node[0]](node) is False:
                return False
        return True

    # --- what the evaluator asks

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
                return ((entity,) if entity is not None else ()), self._outer_types(outer, name) if types is None else types
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
            entities = _first_of_each(entities)
        for entity in entities:
            if type(entity) is not External and type(entity) is not Namespace:
                origin = "name" if type(entity) is ModuleInfo or _own_name(entity.key) == name else "alias"
                self.edges[(line, self._source, entity.path, entity.key, kind)] = origin

    def note_unknown(self, line: int, name: str, kind: EdgeKind) -> None:
        """Add a possible edge to whatever has that name."""
        if not self._quiet and not name.startswith("__"):
            self.edges.setdefault((line, self._source, "", name, kind), "unknown receiver")

    def note_construction(self, info: ClassInfo, function: Node) -> None:
        """Calling a class calls its `__init__`."""
        if function[0] == ir.NAME and function[2] == info.name and "__init__" in info.bindings:
            self.note(function[1], "__init__", self.inference.own_member(info, "__init__"), "call")

    def visit_arguments(self, node: Node) -> None:
        """Evaluate every argument once, for its references."""
        for argument in node[2]:
            self.visit(argument)
        for _, argument in node[3]:
            self.visit(argument)

    def visit(self, node: Expression) -> None:
        """Evaluate for references alone: what names and calls give is not worked out."""
        if node is None:
            return
        match node[0]:
            case ir.NAME:
                if node[2] not in self.inner:
                    self.note(node[1], node[2], self.lookup(node[2])[0], "read")
            case ir.ATTR:
                self._visit_attribute(node, "read")
            case ir.CALL:
                self._visit_call(node)
            case ir.TUPLE | ir.LIST | ir.SET | ir.MANY | ir.EITHER:
                for part in node[1]:
                    self.visit(part)
            case ir.DICT:
                for part in (*node[1], *node[2]):
                    self.visit(part)
            case ir.STAR | ir.NOT:
                self.visit(node[1])
            case _:
                self.evaluate(node)

    def _visit_attribute(self, node: Node, kind: EdgeKind) -> None:
        line, name, found = node[1], node[3], False
        for value in self.evaluate(node[2]):
            entities = self.inference.attribute_entities(value, name)
            if entities or type(value) is Known:
                found = True
                self.note(line, name, entities, kind)
        if not found and node[2] is not None:
            self.note_unknown(line, name, kind)

    def _visit_call(self, node: Node) -> None:
        function = node[1]
        if function is not None and function[0] == ir.NAME and function[2] not in self.inner:
            entities, _ = self.lookup(function[2])
            self.note(function[1], function[2], entities, "call")
            for entity in entities:
                if type(entity) is ClassInfo:
                    self.note_construction(entity, function)
        elif function is not None and function[0] == ir.ATTR:
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

    def assign_name(self, name: str, line: int, types: Types) -> None:
        """Bind a name from here on."""
        self._store((ir.NAME, line, name), types)

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

    def attribute_of(self, values: Types, node: Node, kind: EdgeKind) -> Types:
        """An attribute, as narrowed by an assignment or test before."""
        types = super().attribute_of(values, node, kind)
        if node[3] in self._frame.narrowed:
            path = dotted(node)
            if path and path in self._frame.environment:
                return self._frame.environment[path]
        return types

    def test_inner(self, test: Expression) -> None:
        """A condition of a comprehension narrows its variables."""
        self.evaluate(test)
        for name, types in self._narrowings(test, holds=True):
            if name in self.inner:
                self.inner[name] = types

    # --- functions and classes

    def _run_function(self, node: Node, outer: Frame, function: FunctionInfo) -> None:
        parameters = [parameter[0] for parameter in function.parameters]
        frame = self._frame = Frame(function.key, outer, function=function, local=frozenset((*parameters, *node[7])))
        self._source = function.key
        frame.parameters = {name: index for index, name in enumerate(parameters)}
        for name in frame.parameters.keys() & set(node[7]):
            frame.bind(name, self.inference.parameter(function, frame.parameters[name]))
        self.run(node[8])

    def _define(self, node: Node) -> None:
        _, _, name, key, decorators, parameters, returns, _, _ = node
        function = self.module.function_of(key)
        if function is None:
            return
        outer_source, self._source = self._source, key
        self._decorate(decorators)
        for _, _, annotation, default in parameters:
            self.visit(default)
            self.annotate(annotation)
        self.annotate(returns)
        self._source = outer_source
        frame = self._frame
        frame.defined.setdefault(name, function)
        frame.bind(name, self.inference.function_value(function))
        outer = frame if frame.owner is None else frame.outer
        self._pending.append((node, outer or frame, function))

    def _decorate(self, decorators: tuple[Expression, ...]) -> None:
        for decorator in decorators:
            if decorator is None:
                continue
            if decorator[0] == ir.NAME:
                self._name(decorator, "decorate")
            elif decorator[0] == ir.ATTR:
                self._attribute(decorator, "decorate")
            elif decorator[0] == ir.CALL and decorator[1] is not None and decorator[1][0] in (ir.NAME, ir.ATTR):
                self._decorate((decorator[1],))
                self.visit_arguments(decorator)
            else:
                self.evaluate(decorator)

    def _class(self, node: Node) -> None:
        _, _, name, key, decorators, bases, keywords, body = node
        info = self.module.class_of(key)
        if info is None:
            return
        outer_source, self._source = self._source, key
        self._decorate(decorators)
        for base in bases:
            self._inherit(base)
        for keyword, value in keywords:
            self._inherit(value) if keyword == "metaclass" else self.evaluate(value)
        frame = self._frame
        frame.defined.setdefault(name, info)
        frame.bind(name, (info,))
        self._frame = Frame(key, frame if frame.owner is None else frame.outer, owner=info)
        self.run(body)
        self._frame, self._source = frame, outer_source

    def _inherit(self, base: Expression) -> None:
        match base:
            case (ir.NAME, *_):
                self._name(base, "inherit")
            case (ir.ATTR, *_):
                self._attribute(base, "inherit")
            case (ir.INDEX, value, index):
                self._inherit(value)
                self.annotate(index)
            case _:
                self.evaluate(base)

    # --- imports

    def _import(self, node: Node) -> None:
        _, line, module, alias = node
        for entity in self.inference.imported(module, 0, self.module):
            self._count_import(line, entity)
            self.note(line, module, (entity,), "import")
        top = alias or module.partition(".")[0]
        if top in self._frame.local:
            self._frame.bind(top, self.inference.types_of(self.inference.imported(module if alias else top, 0, self.module)))

    def _from(self, node: Node) -> None:
        _, line, origin, level, names = node
        modules = self.inference.imported(origin, level, self.module)
        for entity in modules:
            self._count_import(line, entity)
            self.note(line, origin, (entity,), "import")
        if not modules:
            self.unresolved_imports += 1
        for name_line, name, alias in names:
            if name == "*":
                continue
            entities = self.inference.imported_name(origin, level, name, self.module)
            self.note(name_line, name, entities, "import")
            for entity in entities:
                if type(entity) is ModuleInfo and entity not in modules:
                    self.imports[Import(name_line, entity.path, self._mode())] = None
            if (alias or name) in self._frame.local:
                self._frame.bind(alias or name, self.inference.types_of(entities))
                if len(entities) == 1:
                    self._frame.defined.setdefault(alias or name, entities[0])

    def _count_import(self, line: int, entity: Entity) -> None:
        if type(entity) is External:
            self.external_imports += 1
        elif type(entity) is ModuleInfo:
            self.imports[Import(line, entity.path, self._mode())] = None

    def _mode(self) -> ImportMode:
        if self._type_only:
            return "type"
        return "deferred" if self._frame.in_function() else "runtime"

    # --- assignments

    def _evaluate(self, node: Node) -> None:
        self.visit(node[1])

    def _assign(self, node: Node) -> None:
        value = node[2]
        types = self.evaluate(value)
        for target in node[1]:
            self._store(target, types)

    def _declare(self, node: Node) -> None:
        _, target, annotation, value = node
        declared = self.annotate(annotation)
        types = self.evaluate(value)
        if target is not None and target[0] == ir.NAME:
            self._frame.declared[target[2]] = declared
        self._store(target, types or declared)

    def _augment(self, node: Node) -> None:
        _, target, method, value = node
        right = self.evaluate(value)
        left = self.quietly(target)
        types = self.operate(left, f"__i{method[2:]}", UNKNOWN) or self.operate(left, method, right)
        self._store(target, types or left)

    def _store(self, target: Expression, types: Types) -> None:
        """Assign to a name, an attribute, an item or each part of a tuple."""
        if target is None:
            return
        match target[0]:
            case ir.NAME:
                self._store_name(target, types)
            case ir.ATTR:
                self._store_attribute(target, types)
            case ir.TUPLE | ir.LIST:
                for index, part in enumerate(target[1]):
                    self._store(part, unpacked(types, index, self.inference))
            case ir.STAR:
                self._store(target[1], (Known("list", (element_of(types, self.inference),)),))
            case _:
                self.evaluate(target)

    def _store_name(self, target: Node, types: Types) -> None:
        name, frame = target[2], self._frame
        if name in self.inner:
            self.inner[name] = types
            return
        if name not in frame.local:
            self.note(target[1], name, self.lookup(name)[0], "write")
        types = types or frame.declared.get(name, UNKNOWN)
        if types or name in frame.local:
            frame.bind(name, types)
        else:
            frame.environment.pop(name, None)

    def _store_attribute(self, target: Node, types: Types) -> None:
        line, name = target[1], target[3]
        values = self.evaluate(target[2])
        for value in values:
            # A property is its getter: the setter is a part of it, not a second thing to refer to.
            self.note(line, name, _first_of_each(self.inference.attribute(value, name)[0]), "write")
        if not values:
            self.note_unknown(line, name, "write")
        path = dotted(target)
        if not path:
            return
        if types:
            self._frame.environment[path] = types
            self._frame.narrowed.add(target[3])
        else:
            self._frame.environment.pop(path, None)

    # --- control flow

    def _return(self, node: Node) -> bool:
        self.visit(node[1])
        return False

    def _raise(self, node: Node) -> bool:
        for value in node[1]:
            self.visit(value)
        return False

    def _stop(self, _node: Node) -> bool:
        if self._breaks:
            self._breaks[-1].append(self._frame.environment)
        return False

    def _assert(self, node: Node) -> None:
        self.visit(node[1])
        self._narrow(node[1], holds=True)
        self.visit(node[2])

    def _if(self, node: Node) -> bool:
        frame = self._frame
        ends: list[Environment] = []
        for test, body in node[1]:
            self.visit(test)
            before = dict(frame.environment)
            self._narrow(test, holds=True)
            type_only, self._type_only = self._type_only, self._type_only or _is_type_checking(test)
            if self.run(body):
                ends.append(frame.environment)
            self._type_only = type_only
            frame.environment = before
            self._narrow(test, holds=False)
        if self.run(node[2]):
            ends.append(frame.environment)
        if not ends:
            return False
        frame.environment = merged(ends, frame.local)
        return True

    def _for(self, node: Node) -> None:
        _, target, iterable, is_async, body, otherwise = node
        item = element_of(self.evaluate(iterable), self.inference, is_async=is_async)

        def once() -> bool:
            self._store(target, item)
            return self.run(body)

        self._loop(once)
        self.run(otherwise)

    def _while(self, node: Node) -> None:
        _, test, body, otherwise = node

        def once() -> bool:
            self.visit(test)
            self._narrow(test, holds=True)
            return self.run(body)

        self._loop(once)
        self._narrow(test, holds=False)
        self.run(otherwise)

    def _loop(self, once: object) -> None:
        """Run a loop's body, once more if what names may be at its start changed."""
        frame = self._frame
        self._loops += 1
        for _ in range(2 if self._loops <= MAX_LOOP_REPEATS else 1):
            before = dict(frame.environment)
            self._breaks.append([])
            completed = once()  # type: ignore[operator]
            ends = [before, *self._breaks.pop()]
            if completed:
                ends.append(frame.environment)
            frame.environment = merged(ends, frame.local)
            if all(frame.environment.get(name) == types for name, types in before.items()):
                break
        self._loops -= 1

    def _with(self, node: Node) -> None:
        _, items, is_async, body = node
        for value, target in items:
            types = self.evaluate(value)
            if target is not None:
                self._store(target, entered(types, self.inference, is_async=is_async))
        self.run(body)  # whether or not it ends: the context manager may swallow what was raised

    def _try(self, node: Node) -> bool:
        _, body, handlers, otherwise, final = node
        frame = self._frame
        before = dict(frame.environment)
        ends: list[Environment] = []
        completed = self.run(body)
        after = dict(frame.environment)
        if completed and self.run(otherwise):
            ends.append(frame.environment)
        for classes, name, handler in handlers:
            frame.environment = merged([before, after], frame.local)
            caught = instances_of(self.evaluate(classes))
            if name:
                self._store((ir.NAME, 0, name), caught)
            if self.run(handler):
                ends.append(frame.environment)
        frame.environment = merged(ends or [before, after], frame.local)
        return self.run(final) and bool(ends)

    def _match(self, node: Node) -> None:
        _, subject, cases = node
        self.evaluate(subject)
        path = dotted(subject)
        frame = self._frame
        before = dict(frame.environment)
        ends = [before]
        for classes, uses, captures, guard, body in cases:
            frame.environment = dict(before)
            narrowed = union([instances_of(self.evaluate(info)) for info in classes])
            for use in uses:
                self.evaluate(use)
            if path and narrowed:
                self._set_narrowed(path, narrowed)
            for capture in captures:
                self._store(capture, UNKNOWN)
            self.evaluate(guard)
            if self.run(body):
                ends.append(frame.environment)
        frame.environment = merged(ends, frame.local)

    # --- narrowing

    def _narrow(self, test: Expression, *, holds: bool) -> None:
        for path, types in self._narrowings(test, holds=holds):
            self._set_narrowed(path, types)

    def _set_narrowed(self, path: str, types: Types) -> None:
        self._frame.environment[path] = types
        attribute = path.rpartition(".")[2]
        if attribute != path:
            self._frame.narrowed.add(attribute)

    def _narrowings(self, test: Expression, *, holds: bool) -> list[tuple[str, Types]]:
        """What a test tells about names when it holds, or when it does not."""
        opcode = -1 if test is None else test[0]
        if opcode == ir.NOT:
            return self._narrowings(test[1], holds=not holds)
        if (opcode == ir.BOTH and holds) or (opcode == ir.EITHER and not holds):
            return [found for operand in test[1] for found in self._narrowings(operand, holds=holds)]
        if opcode == ir.CALL and test[1] is not None and test[1][0] == ir.NAME and len(test[2]) == 2:
            return self._class_test(test[1][2], *test[2], holds=holds)
        return []

    def _class_test(self, function: str, value: Expression, classes: Expression, *, holds: bool) -> list[tuple[str, Types]]:
        if function == "isinstance":
            return self._instance_test(value, classes, holds=holds)
        path = dotted(value) if function == "issubclass" and holds else ""
        if not path:
            return []
        found = tuple([info for info in _flat(self.quietly(classes)) if type(info) is ClassInfo])
        return [(path, found)] if found else []

    def _instance_test(self, value: Expression, classes: Expression, *, holds: bool) -> list[tuple[str, Types]]:
        if value is not None and value[0] == ir.WALRUS:
            value = (ir.NAME, value[1], value[2])
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
        return isinstance(value, (Instance, SelfType)) and any(base in classes for base in self.inference.mro(value.info))

    def result_edges(self) -> tuple[Edge, ...]:
        """All edges, in the order of lines."""
        return tuple(
            Edge(line, source, path, key, kind, origin, certain=bool(path))
            for (line, source, path, key, kind), origin in sorted(self.edges.items())
        )


def dotted(node: Expression) -> str:
    """`self.field` for an expression that is a name with attributes; empty for anything else."""
    if node is None:
        return ""
    if node[0] == ir.NAME:
        name: str = node[2]
        return name
    if node[0] != ir.ATTR:
        return ""
    base = dotted(node[2])
    return f"{base}.{node[3]}" if base else ""


def _first_of_each(entities: Sequence[Entity]) -> Sequence[Entity]:
    """Of several functions with the same name in the same place (overloads, setters) the first."""
    if len(entities) < 2:
        return entities
    kept: dict[tuple[str, str], Entity] = {}
    for entity in entities:
        if type(entity) in (External, Namespace):
            continue
        kept.setdefault((entity.path, entity.key.partition("#")[0]), entity)
    return tuple(kept.values())


def _own_name(key: str) -> str:
    return key.rpartition(".")[2].partition("#")[0]


def _flat(types: Types) -> Types:
    parts = [_flat(part) for value in types if type(value) is Known for part in value.arguments]
    return union([tuple([value for value in types if type(value) is not Known]), *parts])


def _is_type_checking(test: Expression) -> bool:
    return test is not None and test[0] in (ir.NAME, ir.ATTR) and test[-1] == "TYPE_CHECKING"

