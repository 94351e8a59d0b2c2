"""References out of bodies: runs each statement in order, keeping what every name may be at that point."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from deltos.domains.graph.model import Import
from deltos.domains.graph.python import ir
from deltos.domains.graph.python.body import BodyExpressions, dotted, first_of_each
from deltos.domains.graph.python.entities import ClassInfo, External, ModuleInfo, VariableInfo
from deltos.domains.graph.python.evaluate import entered, instances_of, unpacked
from deltos.domains.graph.python.frames import Frame, merged
from deltos.domains.graph.python.known import element_of
from deltos.domains.graph.python.values import UNKNOWN, Known, Types, union

if TYPE_CHECKING:
    from collections.abc import Callable

    from deltos.domains.graph.model import ImportMode
    from deltos.domains.graph.python.entities import Entity, FunctionInfo
    from deltos.domains.graph.python.frames import Environment
    from deltos.domains.graph.python.infer import Inference
    from deltos.domains.graph.python.ir import Expression, Node

MAX_LOOP_REPEATS = 2
"""Loops nested deeper than this are run once: each level would double the work."""


class BodyEvaluator(BodyExpressions):
    """Runs the body of one module and collects its edges and imports."""

    def __init__(self, inference: Inference, module: ModuleInfo) -> None:
        super().__init__(inference, module)
        self.imports: dict[Import, None] = {}
        self.external_imports = 0
        self.unresolved_imports = 0
        self._pending: deque[tuple[Node, Frame, FunctionInfo]] = deque()
        self._type_only = False
        self._loops = 0
        self._breaks: list[list[Environment]] = []
        self._statements = (
            self._evaluate, self._assign, self._declare, self._augment, self._return, self._if, self._for, self._while,
            self._with, self._try, self._define, self._class, self._import, self._from, self._stop, self._raise,
            self._assert, self._match,
        )  # fmt: skip

    def run_module(self, body: tuple[Node, ...]) -> None:
        """Run the module's own statements, then every function, outer ones first."""
        self.run(body)
        while self._pending:
            node, outer, function = self._pending.popleft()
            self._run_function(node, outer, function)

    def run(self, body: tuple[Node, ...]) -> bool:
        """Run statements; whether control reaches the end."""
        statements = self._statements
        return all(statements[node[0]](node) is not False for node in body)

    # --- functions and classes

    def _run_function(self, node: Node, outer: Frame, function: FunctionInfo) -> None:
        parameters = [parameter[0] for parameter in function.parameters]
        frame = self._frame = Frame(outer, function=function, local=frozenset((*parameters, *node[7])))
        self._source = function.key
        frame.assigned = frozenset(node[7])
        frame.parameters = {name: index for index, name in enumerate(parameters)}
        for name in frame.parameters.keys() & frame.assigned:
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
                for value in self.quietly(decorator[1]):
                    if isinstance(value, ClassInfo):
                        self.note_construction(value, decorator[1])
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
        self._frame = Frame(frame if frame.owner is None else frame.outer, owner=info)
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
            self._frame.bind(
                top, self.inference.types_of(self.inference.imported(module if alias else top, 0, self.module))
            )

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

    def assign_name(self, name: str, line: int, types: Types) -> None:
        """A walrus binds its name from here on."""
        self._store((ir.NAME, line, name), types)

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
                    if part is not None and part[0] == ir.STAR:
                        self._store(part[1], (Known("list", (element_of(types, self.inference),)),))
                    else:
                        self._store(part, unpacked(types, index, self.inference))
            case _:
                self.evaluate(target)

    def _store_name(self, target: Node, types: Types) -> None:
        name, frame = target[2], self._frame
        if name in self.inner:
            self.inner[name] = types
            return
        if name not in frame.local:
            # Where the name also stands for something imported, that thing is not what is written.
            written = [entity for entity in self.lookup(name)[0] if isinstance(entity, VariableInfo)]
            self.note(target[1], name, written, "write")
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
            self.note(line, name, first_of_each(self.inference.attribute(value, name)[0]), "write")
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
        self.narrow(node[1], holds=True)
        self.visit(node[2])

    def _if(self, node: Node) -> bool:
        frame = self._frame
        ends: list[Environment] = []
        for test, body in node[1]:
            self.visit(test)
            before = dict(frame.environment)
            self.narrow(test, holds=True)
            type_only, self._type_only = self._type_only, self._type_only or _is_type_checking(test)
            if self.run(body):
                ends.append(frame.environment)
            self._type_only = type_only
            frame.environment = before
            self.narrow(test, holds=False)
        if self.run(node[2]):
            ends.append(frame.environment)
        if not ends:
            return False
        frame.environment = merged(ends, frame.assigned)
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
            self.narrow(test, holds=True)
            return self.run(body)

        self._loop(once)
        self.narrow(test, holds=False)
        self.run(otherwise)

    def _loop(self, once: Callable[[], bool]) -> None:
        """Run a loop's body, once more if what names may be at its start changed."""
        frame = self._frame
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
            frame.environment = merged([before, after], frame.assigned)
            caught = instances_of(self.evaluate(classes))
            if name:
                self._store((ir.NAME, 0, name), caught)
            if self.run(handler):
                ends.append(frame.environment)
        frame.environment = merged(ends or [before, after], frame.assigned)
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
                self.set_narrowed(path, narrowed)
            for capture in captures:
                self._store(capture, UNKNOWN)
            self.evaluate(guard)
            if self.run(body):
                ends.append(frame.environment)
        frame.environment = merged(ends, frame.assigned)


def _is_type_checking(test: Expression) -> bool:
    return test is not None and test[0] in (ir.NAME, ir.ATTR) and test[-1] == "TYPE_CHECKING"
