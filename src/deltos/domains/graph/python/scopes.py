"""What extraction notes about each scope as it lowers statements: bindings, returns, attributes set on `self`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from deltos.domains.graph.python import ir
from deltos.domains.graph.python.ir import names_in, without_lines

if TYPE_CHECKING:
    from deltos.domains.graph.python.ir import Expression, Node

ASYNC = 1
GENERATOR = 2


@dataclass(slots=True)
class Scope:
    """A module, class or function being lowered. Bindings keep the order of the source."""

    kind: str
    key: str
    parent: Scope | None = None
    receiver: str = ""
    bindings: dict[str, list[Node]] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)
    attributes: dict[str, list[tuple[str, Node]]] = field(default_factory=dict)
    attribute_lines: dict[str, int] = field(default_factory=dict)
    returns: list[Expression] = field(default_factory=list)
    yields: list[Node] = field(default_factory=list)
    elsewhere: set[str] = field(default_factory=set)
    used_inside: set[str] = field(default_factory=set)

    def bind(self, name: str, binding: Node, line: int = 0) -> None:
        """Note one thing that `name` may mean here."""
        self.bindings.setdefault(name, []).append(binding)
        self.lines.setdefault(name, line)

    def assign(self, target: Expression, source: Expression) -> None:
        """Note an assignment to a name, an attribute of the receiver, or each part of a tuple."""
        self._store(target, source, None, declared=False)

    def declare(self, target: Expression, annotation: Expression, source: Expression) -> None:
        """Note an annotated assignment."""
        self._store(target, source, annotation, declared=True)

    def _store(self, target: Expression, source: Expression, annotation: Expression, *, declared: bool) -> None:
        if target is None:
            return
        binding = (ir.BIND_DECLARED, annotation, source) if declared else (ir.BIND_VALUE, source)
        match target[0]:
            case ir.NAME if target[2] not in self.elsewhere:
                self.bind(target[2], binding, target[1])
            case ir.ATTR if self._is_receiver(target[2]):
                self._set_attribute(target[3], binding, target[1])
            case ir.TUPLE | ir.LIST:
                for index, part in enumerate(target[1]):
                    self.assign(part, _part_of(source, index, part))
            case ir.STAR:
                self.assign(target[1], source)

    def _is_receiver(self, value: Expression) -> bool:
        return bool(self.receiver) and value is not None and value[0] == ir.NAME and value[2] == self.receiver

    def _set_attribute(self, name: str, binding: Node, line: int) -> None:
        if self.parent is None:
            return
        self.parent.attributes.setdefault(name, []).append((self.key, binding))
        self.parent.attribute_lines.setdefault(name, line)


def _part_of(source: Expression, index: int, part: Expression) -> Expression:
    """The source of one part of a tuple target."""
    if part is not None and part[0] == ir.STAR:
        return (ir.REST, source)
    if source is not None and source[0] == ir.TUPLE and index < len(source[1]):
        item: Expression = source[1][index]
        if not any(sibling and sibling[0] == ir.STAR for sibling in source[1]):
            return item
    return (ir.UNPACK, source, index)


def frozen_bindings(bindings: dict[str, list[Node]]) -> dict[str, tuple[Node, ...]]:
    """Bindings as an interface keeps them: without lines, without repetitions."""
    return {name: tuple(dict.fromkeys(map(without_lines, found))) for name, found in bindings.items()}


def class_interface(scope: Scope, name: str, decorators: Node, bases: Node, keywords: Node) -> Node:
    """What other files may ask about a class."""
    attributes = {
        attribute: tuple(dict.fromkeys((method, without_lines(binding)) for method, binding in found))
        for attribute, found in scope.attributes.items()
    }
    head = without_lines((decorators, bases, keywords))
    return (name, *head, frozen_bindings(scope.bindings), attributes)


def function_interface(
    scope: Scope, name: str, decorators: Node, parameters: Node, returns: Expression, flags: int
) -> Node:
    """What other files may ask about a function: signature, and what an inferred return type is made of."""
    owner = scope.parent.key if scope.parent is not None and scope.parent.kind == "class" else ""
    enclosing = _enclosing_function(scope)
    if scope.yields:
        flags |= GENERATOR
    returned = tuple(dict.fromkeys(map(without_lines, scope.returns))) if returns is None else ()
    yielded = tuple(dict.fromkeys(map(without_lines, scope.yields))) if returns is None else ()
    head = without_lines((decorators, parameters, returns))
    return (name, owner, enclosing, *head, flags, returned, yielded, _needed_locals(scope, returned, yielded))


def _enclosing_function(scope: Scope) -> str:
    outer = scope.parent
    while outer is not None and outer.kind == "class":
        outer = outer.parent
    return outer.key if outer is not None else ""


def _needed_locals(scope: Scope, returned: Node, yielded: Node) -> dict[str, tuple[Node, ...]]:
    """The local bindings that returned values, attributes set here, and nested functions are made of."""
    needed = set(scope.used_inside)
    names_in((returned, yielded), needed)
    for found in scope.parent.attributes.values() if scope.parent is not None and scope.receiver else ():
        names_in(tuple(binding for method, binding in found if method == scope.key), needed)
    local: dict[str, tuple[Node, ...]] = {}
    pending = sorted(needed)
    while pending:
        name = pending.pop()
        if name in local or name not in scope.bindings:
            continue
        local[name] = tuple(dict.fromkeys(map(without_lines, scope.bindings[name])))
        further: set[str] = set()
        names_in(local[name], further)
        pending.extend(sorted(further))
    if scope.parent is not None and scope.parent.kind == "function":
        # What a nested function uses of the function around it belongs to what that one has to tell.
        scope.parent.used_inside |= needed - local.keys()
    return dict(sorted(local.items()))
