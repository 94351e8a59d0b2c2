"""What an expression may be. A subclass looks names up and notes references: in an interface, or in a body."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Never

from deltos.domains.graph.python.entities import ClassInfo, External, Instance
from deltos.domains.graph.python.known import call_known, element_of, item_at
from deltos.domains.graph.python.nodes import (
    And,
    Attribute,
    Await,
    Call,
    Caught,
    Comprehension,
    Conditional,
    DictDisplay,
    Element,
    Entered,
    Index,
    Lambda,
    ListDisplay,
    Name,
    Not,
    Operation,
    Or,
    QuotedType,
    Rest,
    SetDisplay,
    Several,
    Slice,
    Starred,
    TupleDisplay,
    Unpacked,
    Walrus,
    Yield,
    YieldFrom,
)
from deltos.domains.graph.python.values import UNKNOWN, Known, Partial, SelfType, SuperOf, Types, either, union

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from deltos.domains.graph.model import EdgeKind
    from deltos.domains.graph.python.entities import Entity
    from deltos.domains.graph.python.infer import Inference
    from deltos.domains.graph.python.nodes import Expression, Expressions, Keywords
    from deltos.domains.graph.python.values import Value


class Arguments:
    """The arguments of a call, evaluated when somebody asks."""

    __slots__ = ("_evaluator", "keywords", "nodes")

    def __init__(self, evaluator: Evaluator, nodes: Expressions, keywords: Keywords) -> None:
        self._evaluator = evaluator
        self.nodes = nodes
        self.keywords = keywords

    def positional(self, index: int) -> Types:
        """What the argument at a position may be."""
        return self._evaluator.quietly(self.nodes[index]) if index < len(self.nodes) else UNKNOWN

    def keyword(self, name: str) -> Types:
        """What the argument of a name may be."""
        for given, node in self.keywords:
            if given == name:
                return self._evaluator.quietly(node)
        return UNKNOWN

    def annotation(self, index: int) -> Types:
        """The argument at a position read as an annotation, as `cast` takes it."""
        return self._evaluator.annotate(self.nodes[index]) if index < len(self.nodes) else UNKNOWN


_SELF = frozenset({"typing.Self", "typing_extensions.Self"})


class Evaluator:
    """Evaluates expressions of the intermediate form."""

    def __init__(self, inference: Inference) -> None:
        self.inference = inference
        self.inner: dict[str, Types] = {}

    # --- what a subclass decides

    def lookup(self, name: str) -> tuple[Sequence[Entity], Types | None]:
        """The definitions that a name refers to, and what it may be; None for whatever those definitions are."""
        raise NotImplementedError

    def note(self, line: int, name: str, entities: Sequence[Entity], kind: EdgeKind) -> None:
        """Told about every name and attribute that is read."""

    def note_unknown(self, line: int, name: str, kind: EdgeKind) -> None:
        """Told about every attribute of a value of unknown type."""

    def assign_name(self, name: str, line: int, types: Types) -> None:
        """Told about a walrus."""

    def super_of(self) -> Types:
        """What `super()` gives here."""
        return UNKNOWN

    def self_type(self) -> Types:
        """What `Self` stands for here."""
        return UNKNOWN

    def sent(self) -> Types:
        """What `yield` gives here."""
        return UNKNOWN

    def quietly(self, node: Expression) -> Types:
        """Evaluate without noting anything: the same expression is, or was, evaluated for its references."""
        return self.evaluate(node)

    # --- expressions

    def evaluate(self, node: Expression) -> Types:
        """Everything that an expression may be."""
        return UNKNOWN if node is None else self.handlers[type(node)](self, node)  # type: ignore[arg-type]

    def _name(self, node: Name, kind: EdgeKind = "read") -> Types:
        types = self.inner.get(node.name)
        if types is not None:
            return types
        entities, types = self.lookup(node.name)
        self.note(node.line, node.name, entities, kind)
        return self.inference.types_of(entities) if types is None else types

    def _attribute(self, node: Attribute, kind: EdgeKind = "read") -> Types:
        return self.attribute_of(self.evaluate(node.value), node, kind)

    def attribute_of(self, values: Types, node: Attribute, kind: EdgeKind) -> Types:
        """The attribute that `node` names, of each value."""
        name, line = node.name, node.line
        found: list[Types] = []
        seen = False
        for value in values:
            entities, types = self.inference.attribute(value, name)
            if entities:
                seen = True
                self.note(line, name, entities, kind)
            found.append(types)
        if node.value is not None and not (seen or any(found)):  # a literal is known not to be of the project
            self.note_unknown(line, name, kind)
        return found[0] if len(found) == 1 else union(found)

    def _call(self, node: Call) -> Types:
        function = node.function
        if type(function) is Name:
            callee = self._name(function, "call")
        elif type(function) is Attribute:
            callee = self._attribute(function, "call")
        else:
            callee = self.evaluate(function)
        self.visit_arguments(node)
        return self.call(callee, Arguments(self, node.arguments, node.keywords), function)

    def visit_arguments(self, node: Call) -> None:
        """Evaluate arguments for their references."""

    def call(self, callee: Types, arguments: Arguments, function: Expression) -> Types:
        """What calling may give."""
        results: list[Types] = []
        for value in callee:
            if type(value) is External:
                results.append(self._call_external(value, arguments))
            else:
                if type(value) is ClassInfo:
                    self.note_construction(value, function)
                results.append(self.inference.call(value, arguments))
        return results[0] if len(results) == 1 else union(results)

    def note_construction(self, info: ClassInfo, function: Expression) -> None:
        """Told about every call of a project class."""

    def _call_external(self, value: External, arguments: Arguments) -> Types:
        if value.name == "builtins.super":
            return self._super(arguments)
        return call_known(value.name, arguments, self.inference)

    def _super(self, arguments: Arguments) -> Types:
        if not arguments.nodes:
            return self.super_of()
        receiver = arguments.positional(1)
        return tuple(
            [SuperOf(info, receiver[0]) for info in arguments.positional(0) if type(info) is ClassInfo and receiver]
        )

    def _index(self, node: Index) -> Types:
        value = self.evaluate(node.value)
        if any(type(part) in (External, ClassInfo) for part in value):
            self.annotate(node.index)
        else:
            self.evaluate(node.index)
        return union([self._item_of(part, node.index) for part in value])

    def _item_of(self, value: Value, index: Expression) -> Types:
        match value:
            case ClassInfo():
                return (value,)
            case Known():
                return item_at(value, index)
            case Instance() | SelfType():
                return self.inference.call_method(value, "__getitem__")
            case _:
                return UNKNOWN

    def _items(self, nodes: Sequence[Expression]) -> list[Types]:
        return [
            element_of(self.evaluate(node.value), self.inference) if type(node) is Starred else self.evaluate(node)
            for node in nodes
        ]

    def _tuple(self, node: TupleDisplay) -> Types:
        items = self._items(node.items)
        if any(type(part) is Starred for part in node.items):
            return (Known("sequence", (union(items),)),)
        return (Known("tuple", tuple(items)),)

    def _list(self, node: ListDisplay) -> Types:
        return (Known("list", (union(self._items(node.items)),)),)

    def _set(self, node: SetDisplay) -> Types:
        return (Known("set", (union(self._items(node.items)),)),)

    def _dict(self, node: DictDisplay) -> Types:
        keys = union([self.evaluate(key) for key in node.keys])
        values = union([self.evaluate(value) for value in node.values])
        return (Known("dict", (keys, values)),)

    def _comprehension(self, node: Comprehension) -> Types:
        outer = self.inner
        self.inner = dict(outer)
        for clause in node.clauses:
            items = element_of(self.evaluate(clause.iterable), self.inference, is_async=clause.is_async)
            self.assign_inner(clause.target, items)
            for test in clause.tests:
                self.test_inner(test)
        item, second = self.evaluate(node.element), self.evaluate(node.value)
        self.inner = outer
        if node.shape == "dict":
            return (Known("dict", (item, second)),)
        return (Known(node.shape if node.shape != "generator" else "iterator", (item,)),)

    def test_inner(self, test: Expression) -> None:
        """Evaluate a condition of a comprehension."""
        self.evaluate(test)

    def assign_inner(self, target: Expression, types: Types) -> None:
        """Bind the variables of a comprehension."""
        if type(target) is Name:
            self.inner[target.name] = types
        elif type(target) is TupleDisplay or type(target) is ListDisplay:
            for index, part in enumerate(target.items):
                self.assign_inner(part, unpacked(types, index, self.inference))
        elif type(target) is Starred:
            self.assign_inner(target.value, UNKNOWN)
        else:
            self.evaluate(target)

    def _either(self, node: Or) -> Types:
        return union([self.evaluate(operand) for operand in node.operands])

    def _both(self, node: And) -> Types:
        return union([self.evaluate(operand) for operand in node.operands])

    def _choice(self, node: Conditional) -> Types:
        self.evaluate(node.test)
        return either(self.evaluate(node.then), self.evaluate(node.otherwise))

    def _not(self, node: Not) -> Types:
        self.evaluate(node.operand)
        return UNKNOWN

    def _operation(self, node: Operation) -> Types:
        types = self.evaluate(node.first)
        for operand in node.operands:
            right = self.evaluate(operand)
            types = self.operate(types, node.method, right)
        return types

    def operate(self, left: Types, method: str, right: Types) -> Types:
        """What a binary operator gives."""
        results: list[Types] = []
        for value in left:
            if type(value) in (Instance, SelfType):
                results.append(self.inference.call_method(value, method))
            elif type(value) is Known and value.name in ("list", "set", "dict"):
                results.append((value,))
        if not results and right:
            reflected = f"__r{method[2:]}"
            results = [
                self.inference.call_method(value, reflected) for value in right if type(value) in (Instance, SelfType)
            ]
        return union(results)

    def _await(self, node: Await) -> Types:
        return union([_awaited(value, self.inference) for value in self.evaluate(node.value)])

    def _yield(self, node: Yield) -> Types:
        self.evaluate(node.value)
        return self.sent()

    def _yield_from(self, node: YieldFrom) -> Types:
        values = self.evaluate(node.value)
        return union([v.arguments[2] for v in values if type(v) is Known and v.name == "generator"])

    def _lambda(self, node: Lambda) -> Types:
        outer = self.inner
        for parameter in node.parameters:
            self.evaluate(parameter.default)
        self.inner = {**outer, **{parameter.name: UNKNOWN for parameter in node.parameters}}
        result = self.evaluate(node.body)
        self.inner = outer
        return (Partial(result),)

    def _walrus(self, node: Walrus) -> Types:
        types = self.evaluate(node.value)
        self.assign_name(node.name, node.line, types)
        return types

    def _starred(self, node: Starred) -> Types:
        self.evaluate(node.value)
        return UNKNOWN

    def _several(self, node: Several | Slice) -> Types:
        for operand in node.operands:
            self.evaluate(operand)
        return UNKNOWN

    def _quoted_type(self, _node: QuotedType) -> Types:
        return UNKNOWN

    # --- sources of bound names

    def _element(self, node: Element) -> Types:
        return element_of(self.evaluate(node.iterable), self.inference, is_async=node.is_async)

    def _unpacked(self, node: Unpacked) -> Types:
        return unpacked(self.evaluate(node.value), node.index, self.inference)

    def _rest(self, node: Rest) -> Types:
        return (Known("list", (element_of(self.evaluate(node.value), self.inference),)),)

    def _entered(self, node: Entered) -> Types:
        return entered(self.evaluate(node.value), self.inference, is_async=node.is_async)

    def _caught(self, node: Caught) -> Types:
        return instances_of(self.evaluate(node.classes))

    # --- annotations

    def annotate(self, node: Expression) -> Types:
        """What a value may be that is declared with an annotation."""
        if type(node) is Name or type(node) is Attribute:
            entities, types = self._named(node)
            if any(type(entity) is External and entity.name in _SELF for entity in entities):
                return self.self_type()
            return self.inference.declared(entities, types)
        if type(node) is Index:
            return self._annotation_index(node)
        if type(node) is Operation:
            return union([self.annotate(node.first), *[self.annotate(part) for part in node.operands]])
        if type(node) is TupleDisplay or type(node) is ListDisplay:
            return (Known("tuple", tuple([self.annotate(part) for part in node.items])),)
        if type(node) is QuotedType:
            return self.annotate(node.annotation)
        if type(node) is not Starred:
            self.evaluate(node)
        return UNKNOWN

    def _named(self, node: Expression) -> tuple[Sequence[Entity], Types]:
        """The definitions that a name or dotted name in an annotation refers to."""
        if type(node) is Name:
            entities, known = self.lookup(node.name)
            types = self.inference.types_of(entities) if known is None else known
        elif type(node) is Attribute:
            found = [self.inference.attribute(value, node.name) for value in self._named(node.value)[1]]
            entities = [entity for part, _ in found for entity in part]
            types = union([part for _, part in found])
        else:
            return (), self.evaluate(node)
        self.note(node.line, node.name, entities, "type")
        return entities, types

    def _annotation_index(self, node: Index) -> Types:
        entities, _ = self._named(node.value)
        if any(type(entity) is External and entity.name.endswith(".Literal") for entity in entities):
            return UNKNOWN
        return self.inference.parameterised(entities, [self.annotate(part) for part in index_parts(node.index)])

    # Each handler takes the class that it stands beside, and a node of that class is all it is given.
    handlers: ClassVar[dict[type, Callable[[Any, Never], Types]]] = {
        Name: _name,
        Attribute: _attribute,
        Call: _call,
        Index: _index,
        TupleDisplay: _tuple,
        ListDisplay: _list,
        SetDisplay: _set,
        DictDisplay: _dict,
        Comprehension: _comprehension,
        Or: _either,
        And: _both,
        Conditional: _choice,
        Not: _not,
        Operation: _operation,
        Await: _await,
        Yield: _yield,
        YieldFrom: _yield_from,
        Lambda: _lambda,
        Walrus: _walrus,
        Starred: _starred,
        Several: _several,
        QuotedType: _quoted_type,
        Slice: _several,
        Element: _element,
        Unpacked: _unpacked,
        Rest: _rest,
        Entered: _entered,
        Caught: _caught,
    }


def index_parts(index: Expression) -> Expressions:
    """What stands between the brackets of a generic."""
    return index.items if type(index) is TupleDisplay else (index,)


def unpacked(types: Types, index: int, inference: Inference) -> Types:
    """The element at an index of what is being unpacked."""
    results: list[Types] = []
    for value in types:
        if type(value) is Known and value.name == "tuple":
            results.append(value.arguments[index] if index < len(value.arguments) else UNKNOWN)
        else:
            results.append(element_of((value,), inference))
    return union(results)


def entered(types: Types, inference: Inference, *, is_async: bool) -> Types:
    """What `with` binds for a context manager."""
    results: list[Types] = []
    for value in types:
        if type(value) is Known and value.name == "context":
            results.append(value.arguments[0])
        elif type(value) in (Instance, SelfType):
            result = inference.call_method(value, "__aenter__" if is_async else "__enter__")
            results.append(union([_awaited(part, inference) for part in result]) if is_async else result)
    return union(results)


def instances_of(types: Types) -> Types:
    """Objects of the given classes, or of the classes in the given tuple."""
    results: list[Types] = []
    for value in types:
        match value:
            case ClassInfo():
                results.append((value.instance,))
            case SelfType(is_class=True):
                results.append((SelfType(value.info, is_class=False),))
            case Known(name="tuple" | "sequence"):
                results.extend(instances_of(part) for part in value.arguments)
    return union(results)


def _awaited(value: Value, inference: Inference) -> Types:
    if type(value) is Known:
        return value.arguments[0] if value.name == "coroutine" else UNKNOWN
    if type(value) in (Instance, SelfType):
        return element_of(inference.call_method(value, "__await__"), inference, returned=True)
    return UNKNOWN
