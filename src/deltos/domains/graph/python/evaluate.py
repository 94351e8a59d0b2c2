"""Infer the types of expressions, both in stored facts and in function bodies that are being analysed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from deltos.domains.graph.python import nodes
from deltos.domains.graph.python.builtins import call_external, element_types, item_types
from deltos.domains.graph.python.entities import ClassInfo, External, Instance
from deltos.domains.graph.python.nodes import (
    Attribute,
    CallExpression,
    Name,
    Starred,
    Subscript,
    dotted_name,
)
from deltos.domains.graph.python.types import (
    UNKNOWN,
    BuiltinObject,
    CallableReturning,
    SelfType,
    SuperOf,
    Types,
    union,
    union_of_two,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from deltos.domains.graph.model import EdgeKind
    from deltos.domains.graph.python.edges import EdgeCollector
    from deltos.domains.graph.python.entities import Entity, InterfaceScope
    from deltos.domains.graph.python.frames import Frames
    from deltos.domains.graph.python.infer import Inference
    from deltos.domains.graph.python.nodes import Expression, Expressions, Keywords
    from deltos.domains.graph.python.types import Value


class CallArguments:
    """Arguments of a call, whose types are inferred on demand."""

    __slots__ = ("_evaluator", "keywords", "nodes")

    def __init__(self, evaluator: Evaluator, nodes: Expressions, keywords: Keywords) -> None:
        self._evaluator = evaluator
        self.nodes: Expressions = nodes
        self.keywords: Keywords = keywords

    def positional_types(self, index: int) -> Types:
        """Return the types of a positional argument."""
        return self._evaluator.evaluate_quietly(self.nodes[index]) if index < len(self.nodes) else UNKNOWN

    def keyword_types(self, name: str) -> Types:
        """Return the types of a keyword argument."""
        for given, node in self.keywords:
            if given == name:
                return self._evaluator.evaluate_quietly(node)
        return UNKNOWN

    def annotated_types(self, index: int) -> Types:
        """Return the types that an argument names as an annotation, as `Cart` in `cast(Cart, value)`."""
        return self._evaluator.annotate(self.nodes[index]) if index < len(self.nodes) else UNKNOWN


_SELF_TYPES = frozenset({"typing.Self", "typing_extensions.Self"})


class Position(Protocol):
    """Position of an expression in the code. The position determines to which definitions a name refers."""

    def lookup(self, name: str) -> tuple[Sequence[Entity], Types | None]:
        """Return the definitions of a name, and its types. The types are None if the definitions determine them."""

    def super_types(self) -> Types:
        """Return the type of `super()`."""

    def self_type(self) -> Types:
        """Return the type of `Self`."""

    def sent_types(self) -> Types:
        """Return the types of the values that callers send to a `yield` expression."""


class InterfacePosition:
    """Position of an expression in stored facts. A name has the union of all types that are assigned to it."""

    __slots__ = ("_inference", "_scope")

    def __init__(self, inference: Inference, scope: InterfaceScope) -> None:
        self._inference = inference
        self._scope = scope

    def lookup(self, name: str) -> tuple[Sequence[Entity], Types | None]:
        """Look up a name in the function, its enclosing functions, the class body, the module, and builtins."""
        function = self._scope.function
        while function is not None:
            local = self._inference.lookup_local(function, name)
            if local is not None:
                return local
            function = function.enclosing
        owner = self._scope.owner
        if owner is not None and name in owner.bindings:
            return self._inference.find_own_member(owner, name), None
        return self._inference.names.name_in(self._scope.module, name), None

    def super_types(self) -> Types:
        """Return the type of `super()` in the method that contains the expression."""
        function = self._scope.function
        owner = function.owner if function is not None else None
        if function is None or owner is None or not function.parameters:
            return UNKNOWN
        return tuple([SuperOf(owner, value) for value in self._inference.receiver_types(function)])

    def self_type(self) -> Types:
        """Return the type of `Self` in the class that contains the scope."""
        owner = self._scope.owner or (self._scope.function.owner if self._scope.function is not None else None)
        return UNKNOWN if owner is None else (SelfType(owner, is_class=False),)

    def sent_types(self) -> Types:
        """Return `UNKNOWN`, because the types of sent values are inferred only in bodies that are being analysed."""
        return UNKNOWN


class Evaluator:
    """Evaluator of the expressions at one position.

    In a function body that is being analysed, the evaluator also records references, narrows types by tests such as
    `isinstance`, and binds names that `:=` assigns. `inner_types` contains the variables of the enclosing
    comprehensions and lambdas.
    """

    __slots__ = ("assign", "edges", "fixtures", "inference", "inner_types", "narrowing", "position")

    def __init__(self, inference: Inference, position: Position, edges: EdgeCollector | None = None) -> None:
        self.inference = inference
        self.position = position
        self.edges = edges
        self.narrowing: Narrowing | None = None
        self.assign: Callable[[Name, Types], None] | None = None
        self.fixtures: Callable[[str], Sequence[Entity]] | None = None
        self.inner_types: dict[str, Types] = {}

    def evaluate_quietly(self, node: Expression) -> Types:
        """Return the types of an expression without recording references."""
        # Some expressions are evaluated twice, but their references must be recorded only once.
        if self.edges is None:
            return self.evaluate(node)
        self.edges.quiet_depth += 1
        types = self.evaluate(node)
        self.edges.quiet_depth -= 1
        return types

    # --- expressions

    def evaluate(self, node: Expression) -> Types:
        """Return all types that an expression may have."""
        return UNKNOWN if node is None else self._handlers[type(node)](self, node)

    def evaluate_name(self, node: Name, kind: EdgeKind = "read") -> Types:
        """Return the types of a name, and record the reference with the given edge kind."""
        types = self.inner_types.get(node.name)
        if types is not None:
            return types
        entities, types = self.position.lookup(node.name)
        if self.edges is not None:
            self.edges.add(node.line, node.name, entities, kind)
        return self.inference.types_of(entities) if types is None else types

    def evaluate_attribute(self, node: Attribute, kind: EdgeKind = "read") -> Types:
        """Return the types of an attribute, narrowed by earlier assignments and tests, and record the reference."""
        found: list[Types] = []
        seen = False
        for value in self.evaluate(node.value):
            entities, types = self.inference.resolve_attribute(value, node.name)
            if entities:
                seen = True
                self._add_edges(node, entities, kind)
            found.append(types)
        # A literal, for which `value` is None, has no attributes that the project defines.
        if self.edges is not None and node.value is not None and not (seen or any(found)):
            self.edges.add_possible(node.line, node.name, kind)
        narrowed = None if self.narrowing is None else self.narrowing.narrowed_types(node)
        if narrowed is not None:
            return narrowed
        return found[0] if len(found) == 1 else union(found)

    def _evaluate_fixture(self, node: nodes.FixtureName) -> Types:
        if self.edges is not None and self.fixtures is not None:
            self.edges.add(node.line, node.name, self.fixtures(node.name), "call")
        return UNKNOWN

    def _evaluate_call(self, node: CallExpression) -> Types:
        arguments = CallArguments(self, node.arguments, node.keywords)
        results = [
            self._call_external(value, arguments) if type(value) is External else self.inference.call(value, arguments)
            for value in self._evaluate_callee(node)
        ]
        return results[0] if len(results) == 1 else union(results)

    def _evaluate_callee(self, node: CallExpression) -> Types:
        """Record the references in a call, and return the types of the called expression."""
        function = node.function
        if type(function) is Name:
            callee = self.evaluate_name(function, "call")
        elif type(function) is Attribute:
            callee = self.evaluate_attribute(function, "call")
        else:
            callee = self.evaluate(function)
        if self.edges is not None:
            for value in callee:
                if type(value) is ClassInfo:
                    self.edges.add_constructor_calls(value, function)
            self.visit_arguments(node)
        return callee

    def _call_external(self, value: External, arguments: CallArguments) -> Types:
        if value.name == "builtins.super":
            return self._call_super(arguments)
        return call_external(value.name, arguments, self.inference)

    def _call_super(self, arguments: CallArguments) -> Types:
        if not arguments.nodes:
            return self.position.super_types()
        receiver = arguments.positional_types(1)
        return tuple(
            [
                SuperOf(info, receiver[0])
                for info in arguments.positional_types(0)
                if type(info) is ClassInfo and receiver
            ]
        )

    def _evaluate_subscript(self, node: Subscript) -> Types:
        value = self.evaluate(node.value)
        if any(type(part) in (External, ClassInfo) for part in value):
            self.annotate(node.index)
        else:
            self.evaluate(node.index)
        return union([self._item_types(part, node.index) for part in value])

    def _item_types(self, value: Value, index: Expression) -> Types:
        match value:
            case ClassInfo():
                return (value,)
            case BuiltinObject():
                return item_types(value, index)
            case Instance() | SelfType():
                return self.inference.call_method(value, "__getitem__")
            case _:
                return UNKNOWN

    def _evaluate_items(self, nodes: Sequence[Expression]) -> list[Types]:
        return [
            element_types(self.evaluate(node.value), self.inference) if type(node) is Starred else self.evaluate(node)
            for node in nodes
        ]

    def _evaluate_display(self, node: nodes.Display) -> Types:
        items = self._evaluate_items(node.items)
        if node.shape != "tuple":
            return (BuiltinObject(node.shape, (union(items),)),)
        if any(type(part) is Starred for part in node.items):
            return (BuiltinObject("sequence", (union(items),)),)
        return (BuiltinObject("tuple", tuple(items)),)

    def _evaluate_dict(self, node: nodes.DictDisplay) -> Types:
        keys = union([self.evaluate(key) for key in node.keys])
        values = union([self.evaluate(value) for value in node.values])
        return (BuiltinObject("dict", (keys, values)),)

    def _evaluate_comprehension(self, node: nodes.Comprehension) -> Types:
        outer = self.inner_types
        self.inner_types = dict(outer)
        for clause in node.clauses:
            items = element_types(self.evaluate(clause.iterable), self.inference, is_async=clause.is_async)
            self._bind_target(clause.target, items)
            for test in clause.tests:
                self.evaluate(test)
                if self.narrowing is not None:
                    narrowed = self.narrowing.narrowings(test, holds=True)
                    self.inner_types.update((name, types) for name, types in narrowed if name in self.inner_types)
        item, second = self.evaluate(node.element), self.evaluate(node.value)
        self.inner_types = outer
        if node.shape == "dict":
            return (BuiltinObject("dict", (item, second)),)
        return (BuiltinObject(node.shape if node.shape != "generator" else "iterator", (item,)),)

    def _bind_target(self, target: Expression, types: Types) -> None:
        """Bind the loop variables of a comprehension to the types of the elements."""
        if type(target) is Name:
            self.inner_types[target.name] = types
        elif type(target) is nodes.Display:
            for index, part in enumerate(target.items):
                self._bind_target(part, unpacked_types(types, index, self.inference))
        elif type(target) is Starred:
            self._bind_target(target.value, UNKNOWN)
        else:
            self.evaluate(target)

    def _evaluate_logical(self, node: nodes.Logical) -> Types:
        """Return the types of an `and` or `or` expression; each operand narrows the types in the following operands."""
        narrowing = self.narrowing
        if narrowing is None:
            return union([self.evaluate(operand) for operand in node.operands])
        results: list[Types] = []
        before: dict[str, Types | None] = {}
        for operand in node.operands:
            results.append(self.evaluate(operand))
            narrowing.narrow(operand, holds=node.is_and, before=before)
        narrowing.restore(before)
        return union(results)

    def _evaluate_conditional(self, node: nodes.Conditional) -> Types:
        narrowing = self.narrowing
        if narrowing is None:
            self.evaluate(node.test)
            return union_of_two(self.evaluate(node.then), self.evaluate(node.otherwise))
        self.visit(node.test)
        results: list[Types] = []
        for branch, holds in ((node.then, True), (node.otherwise, False)):
            before: dict[str, Types | None] = {}
            narrowing.narrow(node.test, holds=holds, before=before)
            results.append(self.evaluate(branch))
            narrowing.restore(before)
        return union_of_two(*results)

    def _evaluate_await(self, node: nodes.Await) -> Types:
        return union([_awaited_types(value, self.inference) for value in self.evaluate(node.value)])

    def _evaluate_yield(self, node: nodes.Yield) -> Types:
        values = self.evaluate(node.value)
        if not node.is_from:
            return self.position.sent_types()
        return union([v.arguments[2] for v in values if type(v) is BuiltinObject and v.name == "generator"])

    def _evaluate_lambda(self, node: nodes.Lambda) -> Types:
        outer = self.inner_types
        for parameter in node.parameters:
            self.evaluate(parameter.default)
        self.inner_types = {**outer, **{parameter.name: UNKNOWN for parameter in node.parameters}}
        result = self.evaluate(node.body)
        self.inner_types = outer
        return (CallableReturning(result),)

    def _evaluate_walrus(self, node: nodes.Walrus) -> Types:
        types = self.evaluate(node.value)
        if self.assign is not None:
            self.assign(Name(node.line, node.name), types)
        return types

    def _evaluate_names_only(self, *operands: Expression) -> Types:
        for operand in operands:
            self.evaluate(operand)
        return UNKNOWN

    # --- expressions whose type is not needed

    def visit_arguments(self, node: CallExpression) -> None:
        """Visit every argument of a call."""
        for argument in node.arguments:
            self.visit(argument)
        for _, argument in node.keywords:
            self.visit(argument)

    def visit(self, node: Expression) -> None:
        """Record the references in an expression whose type is not needed."""
        if type(node) is CallExpression:
            self._evaluate_callee(node)
        elif type(node) is nodes.QuotedType:
            self.annotate(node.annotation)
        elif node is not None:
            self.evaluate(node)

    def _add_edges(self, node: Name | Attribute, entities: Sequence[Entity], kind: EdgeKind) -> None:
        if self.edges is not None:
            self.edges.add(node.line, node.name, entities, kind)

    # --- annotations

    def annotate(self, node: Expression) -> Types:
        """Return the types of a value that has this type annotation."""
        if type(node) is Name or type(node) is Attribute:
            entities, types = self._resolve_annotation_name(node)
            if any(type(entity) is External and entity.name in _SELF_TYPES for entity in entities):
                return self.position.self_type()
            return self.inference.declared_types(entities, types)
        if type(node) is Subscript:
            return self._annotate_subscript(node)
        if type(node) is nodes.OperatorExpression:
            return union([self.annotate(node.first), *[self.annotate(part) for part in node.operands]])
        if type(node) is nodes.Display:
            return (BuiltinObject("tuple", tuple([self.annotate(part) for part in node.items])),)
        if type(node) is nodes.QuotedType:
            return self.annotate(node.annotation)
        if type(node) is not Starred:
            self.evaluate(node)
        return UNKNOWN

    def _resolve_annotation_name(self, node: Expression) -> tuple[Sequence[Entity], Types]:
        """Return the definitions of a name or dotted name in an annotation, and their types."""
        if type(node) is Name:
            entities, known = self.position.lookup(node.name)
            types = self.inference.types_of(entities) if known is None else known
        elif type(node) is Attribute:
            found = [
                self.inference.resolve_attribute(value, node.name)
                for value in self._resolve_annotation_name(node.value)[1]
            ]
            entities = [entity for part, _ in found for entity in part]
            types = union([part for _, part in found])
        else:
            return (), self.evaluate(node)
        self._add_edges(node, entities, "type")
        return entities, types

    def _annotate_subscript(self, node: Subscript) -> Types:
        entities, _ = self._resolve_annotation_name(node.value)
        if any(type(entity) is External and entity.name.endswith(".Literal") for entity in entities):
            return UNKNOWN
        return self.inference.parameterised_types(
            entities, [self.annotate(part) for part in subscript_arguments(node.index)]
        )

    # Handlers by node class. Each handler is called only with nodes of this class.
    _handlers: ClassVar[dict[type, Callable[[Evaluator, Any], Types]]] = {
        Name: evaluate_name,
        Attribute: evaluate_attribute,
        CallExpression: _evaluate_call,
        Subscript: _evaluate_subscript,
        nodes.Display: _evaluate_display,
        nodes.DictDisplay: _evaluate_dict,
        nodes.Comprehension: _evaluate_comprehension,
        nodes.Logical: _evaluate_logical,
        nodes.Conditional: _evaluate_conditional,
        nodes.Not: lambda self, node: self._evaluate_names_only(node.operand),
        nodes.OperatorExpression: lambda self, node: self._evaluate_names_only(node.first, *node.operands),
        nodes.Await: _evaluate_await,
        nodes.Yield: _evaluate_yield,
        nodes.Lambda: _evaluate_lambda,
        nodes.Walrus: _evaluate_walrus,
        Starred: lambda self, node: self._evaluate_names_only(node.value),
        nodes.NamesOnly: lambda self, node: self._evaluate_names_only(*node.operands),
        nodes.QuotedType: lambda _self, _node: UNKNOWN,
        nodes.Slice: lambda self, node: self._evaluate_names_only(*node.operands),
        nodes.Element: lambda self, node: element_types(
            self.evaluate(node.iterable), self.inference, is_async=node.is_async
        ),
        nodes.Unpacked: lambda self, node: unpacked_types(self.evaluate(node.value), node.index, self.inference),
        nodes.Rest: lambda self, node: (
            BuiltinObject("list", (element_types(self.evaluate(node.value), self.inference),)),
        ),
        nodes.Entered: lambda self, node: entered_types(
            self.evaluate(node.value), self.inference, is_async=node.is_async
        ),
        nodes.Caught: lambda self, node: instances_of(self.evaluate(node.classes)),
        nodes.FixtureName: _evaluate_fixture,
    }


def subscript_arguments(index: Expression) -> Expressions:
    """Return the type arguments in a subscript such as `dict[str, int]`."""
    return index.items if type(index) is nodes.Display and index.shape == "tuple" else (index,)


def unpacked_types(types: Types, index: int, inference: Inference) -> Types:
    """Return the types of the item at `index` of an unpacked value, as in `a, b = value`."""
    results: list[Types] = []
    for value in types:
        if type(value) is BuiltinObject and value.name == "tuple":
            results.append(value.arguments[index] if index < len(value.arguments) else UNKNOWN)
        else:
            results.append(element_types((value,), inference))
    return union(results)


def entered_types(types: Types, inference: Inference, *, is_async: bool) -> Types:
    """Return the types that `as` binds in `with value as target`."""
    results: list[Types] = []
    for value in types:
        if type(value) is BuiltinObject and value.name == "context":
            results.append(value.arguments[0])
        elif type(value) in (Instance, SelfType):
            result = inference.call_method(value, "__aenter__" if is_async else "__enter__")
            results.append(union([_awaited_types(part, inference) for part in result]) if is_async else result)
    return union(results)


def instances_of(types: Types) -> Types:
    """Return the instance types of a class, or of the classes in a tuple as in `isinstance(value, (A, B))`."""
    results: list[Types] = []
    for value in types:
        match value:
            case ClassInfo():
                results.append((value.instance,))
            case SelfType(is_class=True):
                results.append((SelfType(value.info, is_class=False),))
            case BuiltinObject(name="tuple" | "sequence"):
                results.extend(instances_of(part) for part in value.arguments)
    return union(results)


def _awaited_types(value: Value, inference: Inference) -> Types:
    """Return the types of `await value`."""
    if type(value) is BuiltinObject:
        return value.arguments[0] if value.name == "coroutine" else UNKNOWN
    if type(value) in (Instance, SelfType):
        return element_types(inference.call_method(value, "__await__"), inference, returned=True)
    return UNKNOWN


class Narrowing:
    """Types of names and dotted attributes after they were narrowed by tests and assignments."""

    def __init__(self, evaluator: Evaluator, frames: Frames) -> None:
        self._evaluator = evaluator
        self._frames = frames

    def narrowed_types(self, node: Attribute) -> Types | None:
        """Return the narrowed types of an attribute, or None if its types are not narrowed."""
        frame = self._frames.frame
        return frame.environment.get(dotted_name(node)) if node.name in frame.narrowed else None

    def narrow(self, test: Expression, *, holds: bool, before: dict[str, Types | None] | None = None) -> None:
        """Narrow the types of names, given that `test` is true (`holds`) or false.

        The previous types are saved in `before`.
        """
        for path, types in self.narrowings(test, holds=holds):
            if before is not None:
                before.setdefault(path, self._frames.frame.environment.get(path))
            self.set(path, types)

    def restore(self, before: Mapping[str, Types | None]) -> None:
        """Restore the previous types of narrowed names."""
        environment = self._frames.frame.environment
        for path, types in before.items():
            if types is None:
                environment.pop(path, None)
            else:
                environment[path] = types

    def set(self, path: str, types: Types) -> None:
        """Set the types of a name or dotted attribute for the following code."""
        self._frames.frame.environment[path] = types
        attribute = path.rpartition(".")[2]
        if attribute != path:
            self._frames.frame.narrowed.add(attribute)

    def narrowings(self, test: Expression, *, holds: bool) -> list[tuple[str, Types]]:
        """Return the narrowed types of names, given that `test` is true (`holds`) or false."""
        if type(test) is nodes.Not:
            return self.narrowings(test.operand, holds=not holds)
        if type(test) is nodes.Logical and test.is_and == holds:
            return [found for operand in test.operands for found in self.narrowings(operand, holds=holds)]
        if type(test) is CallExpression and len(test.arguments) == 2:
            function = dotted_name(test.function)
            if function in ("isinstance", "issubclass"):
                return self._class_test_narrowings(*test.arguments, holds=holds, is_instance=function == "isinstance")
        return []

    def _class_test_narrowings(
        self, value: Expression, classes: Expression, *, holds: bool, is_instance: bool
    ) -> list[tuple[str, Types]]:
        """Return the types that a name has after an `isinstance` or `issubclass` test."""
        if type(value) is nodes.Walrus:
            value = Name(value.line, value.name)
        path = dotted_name(value)
        if not path:
            return []
        tested = [
            info.info for info in instances_of(self._evaluator.evaluate_quietly(classes)) if isinstance(info, Instance)
        ]
        if not is_instance:
            return [(path, tuple(tested))] if holds and tested else []
        current = self._evaluator.evaluate_quietly(value)
        if holds:
            kept = tuple([part for part in current if self._is_one_of(part, tested)])
            return [(path, kept or tuple([info.instance for info in tested]))]
        if not current or not tested:
            return []
        return [(path, tuple([part for part in current if not self._is_one_of(part, tested)]))]

    def _is_one_of(self, value: Value, classes: list[ClassInfo]) -> bool:
        """Whether a value is an instance of one of the classes or of a subclass."""
        return isinstance(value, (Instance, SelfType)) and any(
            base in classes for base in self._evaluator.inference.mro(value.info)
        )
