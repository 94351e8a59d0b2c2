"""What an expression may be. A subclass looks names up and notes references: in an interface, or in a body."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from deltos.domains.graph.python import ir
from deltos.domains.graph.python.entities import ClassInfo, External, Instance
from deltos.domains.graph.python.known import call_known, element_of, item_at
from deltos.domains.graph.python.values import UNKNOWN, Known, Partial, SelfType, SuperOf, Types, either, union

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from deltos.domains.graph.model import EdgeKind
    from deltos.domains.graph.python.entities import Entity
    from deltos.domains.graph.python.infer import Inference
    from deltos.domains.graph.python.ir import Expression, Node
    from deltos.domains.graph.python.values import Value


class Arguments:
    """The arguments of a call, evaluated when somebody asks."""

    __slots__ = ("_evaluator", "keywords", "nodes")

    def __init__(
        self, evaluator: Evaluator, nodes: tuple[Expression, ...], keywords: tuple[tuple[str, Expression], ...]
    ) -> None:
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


_HANDLERS = (
    "name", "attribute", "call", "index", "tuple", "list", "set", "dict", "comprehension", "either", "both", "choice",
    "not", "binary", "await", "yield", "yield_from", "lambda", "walrus", "star", "many", "text", "item", "unpack",
    "rest", "enter", "caught", "slice",
)  # fmt: skip
"""The method of each expression, in the order of the opcodes."""


_SELF = frozenset({"typing.Self", "typing_extensions.Self"})


class Evaluator:
    """Evaluates expressions of the intermediate form."""

    _handlers: ClassVar[tuple[Callable[[Any, Node], Types], ...]]

    def __init__(self, inference: Inference) -> None:
        self.inference = inference
        self.inner: dict[str, Types] = {}

    def __init_subclass__(cls) -> None:
        """Lay the handlers out by opcode, once per class: evaluators are made by the thousand."""
        cls._handlers = tuple([getattr(cls, f"_{name}") for name in _HANDLERS])

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
        return UNKNOWN if node is None else self._handlers[node[0]](self, node)

    def _name(self, node: Node, kind: EdgeKind = "read") -> Types:
        types = self.inner.get(node[2])
        if types is not None:
            return types
        entities, types = self.lookup(node[2])
        self.note(node[1], node[2], entities, kind)
        return self.inference.types_of(entities) if types is None else types

    def _attribute(self, node: Node, kind: EdgeKind = "read") -> Types:
        return self.attribute_of(self.evaluate(node[2]), node, kind)

    def attribute_of(self, values: Types, node: Node, kind: EdgeKind) -> Types:
        """The attribute that `node` names, of each value."""
        name, line = node[3], node[1]
        found: list[Types] = []
        seen = False
        for value in values:
            entities, types = self.inference.attribute(value, name)
            if entities:
                seen = True
                self.note(line, name, entities, kind)
            found.append(types)
        if node[2] is not None and not (seen or any(found)):  # a literal is known not to be of the project
            self.note_unknown(line, name, kind)
        return found[0] if len(found) == 1 else union(found)

    def _call(self, node: Node) -> Types:
        function = node[1]
        if function is None:
            callee: Types = UNKNOWN
        elif function[0] == ir.NAME:
            callee = self._name(function, "call")
        elif function[0] == ir.ATTR:
            callee = self._attribute(function, "call")
        else:
            callee = self.evaluate(function)
        self.visit_arguments(node)
        return self.call(callee, Arguments(self, node[2], node[3]), function)

    def visit_arguments(self, node: Node) -> None:
        """Evaluate arguments for their references."""

    def call(self, callee: Types, arguments: Arguments, function: Expression) -> Types:
        """What calling may give."""
        results: list[Types] = []
        for value in callee:
            if type(value) is External:
                results.append(self._call_external(value, arguments))
            else:
                if type(value) is ClassInfo and function is not None:
                    self.note_construction(value, function)
                results.append(self.inference.call(value, arguments))
        return results[0] if len(results) == 1 else union(results)

    def note_construction(self, info: ClassInfo, function: Node) -> None:
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

    def _index(self, node: Node) -> Types:
        value = self.evaluate(node[1])
        if any(type(part) in (External, ClassInfo) for part in value):
            self.annotate(node[2])
        else:
            self.evaluate(node[2])
        return union([self._item_of(part, node[2]) for part in value])

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
            element_of(self.evaluate(node[1]), self.inference) if node and node[0] == ir.STAR else self.evaluate(node)
            for node in nodes
        ]

    def _tuple(self, node: Node) -> Types:
        items = self._items(node[1])
        if any(part and part[0] == ir.STAR for part in node[1]):
            return (Known("sequence", (union(items),)),)
        return (Known("tuple", tuple(items)),)

    def _list(self, node: Node) -> Types:
        return (Known("list", (union(self._items(node[1])),)),)

    def _set(self, node: Node) -> Types:
        return (Known("set", (union(self._items(node[1])),)),)

    def _dict(self, node: Node) -> Types:
        keys = union([self.evaluate(key) for key in node[1]])
        values = union(
            [
                UNKNOWN if value and value[0] == ir.STAR and self._many(value) is UNKNOWN else self.evaluate(value)
                for value in node[2]
            ]
        )
        return (Known("dict", (keys, values)),)

    def _comprehension(self, node: Node) -> Types:
        _, shape, clauses, element, value = node
        outer = self.inner
        self.inner = dict(outer)
        for target, iterable, tests, is_async in clauses:
            self.assign_inner(target, element_of(self.evaluate(iterable), self.inference, is_async=is_async))
            for test in tests:
                self.test_inner(test)
        item, second = self.evaluate(element), self.evaluate(value)
        self.inner = outer
        if shape == "dict":
            return (Known("dict", (item, second)),)
        return (Known(shape if shape != "generator" else "iterator", (item,)),)

    def test_inner(self, test: Expression) -> None:
        """Evaluate a condition of a comprehension."""
        self.evaluate(test)

    def assign_inner(self, target: Expression, types: Types) -> None:
        """Bind the variables of a comprehension."""
        if target is None:
            return
        if target[0] == ir.NAME:
            self.inner[target[2]] = types
        elif target[0] in (ir.TUPLE, ir.LIST):
            for index, part in enumerate(target[1]):
                self.assign_inner(part, unpacked(types, index, self.inference))
        elif target[0] == ir.STAR:
            self.assign_inner(target[1], UNKNOWN)
        else:
            self.evaluate(target)

    def _either(self, node: Node) -> Types:
        return union([self.evaluate(operand) for operand in node[1]])

    def _both(self, node: Node) -> Types:
        return union([self.evaluate(operand) for operand in node[1]])

    def _choice(self, node: Node) -> Types:
        self.evaluate(node[1])
        return either(self.evaluate(node[2]), self.evaluate(node[3]))

    def _not(self, node: Node) -> Types:
        self.evaluate(node[1])
        return UNKNOWN

    def _binary(self, node: Node) -> Types:
        _, method, first, rest = node
        types = self.evaluate(first)
        for operand in rest:
            right = self.evaluate(operand)
            types = self.operate(types, method, right)
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

    def _await(self, node: Node) -> Types:
        return union([_awaited(value, self.inference) for value in self.evaluate(node[1])])

    def _yield(self, node: Node) -> Types:
        self.evaluate(node[1])
        return self.sent()

    def _yield_from(self, node: Node) -> Types:
        values = self.evaluate(node[1])
        return union([v.arguments[2] for v in values if type(v) is Known and v.name == "generator"])

    def _lambda(self, node: Node) -> Types:
        outer = self.inner
        for _, _, _, default in node[1]:
            self.evaluate(default)
        self.inner = {**outer, **{parameter[0]: UNKNOWN for parameter in node[1]}}
        result = self.evaluate(node[2])
        self.inner = outer
        return (Partial(result),)

    def _walrus(self, node: Node) -> Types:
        types = self.evaluate(node[3])
        self.assign_name(node[2], node[1], types)
        return types

    def _star(self, node: Node) -> Types:
        self.evaluate(node[1])
        return UNKNOWN

    def _many(self, node: Node) -> Types:
        operands = node[1] if node[0] == ir.MANY else (node[1],)
        for operand in operands:
            self.evaluate(operand)
        return UNKNOWN

    def _slice(self, node: Node) -> Types:
        for operand in node[1]:
            self.evaluate(operand)
        return UNKNOWN

    def _text(self, _node: Node) -> Types:
        return UNKNOWN

    # --- sources of bound names

    def _item(self, node: Node) -> Types:
        return element_of(self.evaluate(node[1]), self.inference, is_async=node[2])

    def _unpack(self, node: Node) -> Types:
        return unpacked(self.evaluate(node[1]), node[2], self.inference)

    def _rest(self, node: Node) -> Types:
        return (Known("list", (element_of(self.evaluate(node[1]), self.inference),)),)

    def _enter(self, node: Node) -> Types:
        return entered(self.evaluate(node[1]), self.inference, is_async=node[2])

    def _caught(self, node: Node) -> Types:
        return instances_of(self.evaluate(node[1]))

    # --- annotations

    def annotate(self, node: Expression) -> Types:
        """What a value may be that is declared with an annotation."""
        if node is None:
            return UNKNOWN
        match node[0]:
            case ir.NAME | ir.ATTR:
                entities, types = self._named(node)
                if any(type(entity) is External and entity.name in _SELF for entity in entities):
                    return self.self_type()
                return self.inference.declared(entities, types)
            case ir.INDEX:
                return self._annotation_index(node)
            case ir.BINARY:
                return union([self.annotate(node[2]), *[self.annotate(part) for part in node[3]]])
            case ir.TUPLE | ir.LIST:
                return (Known("tuple", tuple([self.annotate(part) for part in node[1]])),)
            case ir.TEXT:
                return self.annotate(node[1])
            case ir.STAR:
                return UNKNOWN
            case _:
                self.evaluate(node)
                return UNKNOWN

    def _named(self, node: Expression) -> tuple[Sequence[Entity], Types]:
        """The definitions that a name or dotted name in an annotation refers to."""
        if node is None or node[0] not in (ir.NAME, ir.ATTR):
            return (), self.evaluate(node)
        if node[0] == ir.NAME:
            entities, known = self.lookup(node[2])
            types = self.inference.types_of(entities) if known is None else known
        else:
            found = [self.inference.attribute(value, node[3]) for value in self._named(node[2])[1]]
            entities = [entity for part, _ in found for entity in part]
            types = union([part for _, part in found])
        self.note(node[1], node[-1], entities, "type")
        return entities, types

    def _annotation_index(self, node: Node) -> Types:
        entities, _ = self._named(node[1])
        if any(type(entity) is External and entity.name.endswith(".Literal") for entity in entities):
            return UNKNOWN
        index = node[2]
        parts = index[1] if index is not None and index[0] == ir.TUPLE else (index,)
        return self.inference.parameterised(entities, [self.annotate(part) for part in parts])


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
