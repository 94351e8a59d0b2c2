"""Scopes during the conversion of a syntax tree: bindings, return values, and attributes assigned on `self`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from deltos.domains.graph.python import nodes
from deltos.domains.graph.python.nodes import Attribute, Name, Starred, names_in, without_lines

if TYPE_CHECKING:
    from deltos.domains.graph.python.nodes import Binding, Bindings, Expression, Expressions


@dataclass(slots=True)
class OpenScope:
    """A module, class or function that is being converted to the intermediate representation.

    `bindings` are in source order. `receiver` is the name of the parameter `self` or `cls`. `used_by_nested` contains
    the names of this scope that nested functions use.
    """

    kind: str
    key: str
    parent: OpenScope | None = None
    receiver: str = ""
    bindings: dict[str, list[Binding]] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)
    attributes: dict[str, list[nodes.AttributeBinding]] = field(default_factory=dict)
    attribute_lines: dict[str, int] = field(default_factory=dict)
    returns: list[Expression] = field(default_factory=list)
    yields: list[nodes.Yield] = field(default_factory=list)
    global_names: set[str] = field(default_factory=set)
    used_by_nested: set[str] = field(default_factory=set)

    def bind(self, name: str, binding: Binding, line: int = 0) -> None:
        """Record one binding of `name`."""
        self.bindings.setdefault(name, []).append(binding)
        self.lines.setdefault(name, line)

    def assign(self, target: Expression, source: Expression) -> None:
        """Record an assignment to a name, to an attribute of `self` or `cls`, or to each item of a tuple."""
        self._store(target, source, None, declared=False)

    def declare(self, target: Expression, annotation: Expression, source: Expression) -> None:
        """Record an annotated assignment."""
        self._store(target, source, annotation, declared=True)

    def _store(self, target: Expression, source: Expression, annotation: Expression, *, declared: bool) -> None:
        """Record the binding of each name and attribute in an assignment target."""
        binding = nodes.DeclaredName(annotation, source) if declared else nodes.Assigned(source)
        match target:
            case Name() if target.name not in self.global_names:
                self.bind(target.name, binding, target.line)
            case Attribute() if self._is_receiver(target.value):
                self._set_attribute(target.name, binding, target.line)
            case nodes.Display():
                for index, part in enumerate(target.items):
                    self.assign(part, _source_of_part(source, index, part))
            case Starred():
                self.assign(target.value, source)

    def _is_receiver(self, value: Expression) -> bool:
        return bool(self.receiver) and type(value) is Name and value.name == self.receiver

    def _set_attribute(self, name: str, binding: nodes.Assignment, line: int) -> None:
        """Record an assignment to an attribute of `self` or `cls` in the scope of the class."""
        if self.parent is None:
            return
        self.parent.attributes.setdefault(name, []).append(nodes.AttributeBinding(self.key, binding))
        self.parent.attribute_lines.setdefault(name, line)


def _source_of_part(source: Expression, index: int, part: Expression) -> Expression:
    """Return the expression that is assigned to one item of a tuple target."""
    if type(part) is Starred:
        return nodes.Rest(source)
    items = source.items if type(source) is nodes.Display and source.shape == "tuple" else ()
    is_plain = index < len(items) and not any(type(sibling) is Starred for sibling in items)
    return items[index] if is_plain else nodes.Unpacked(source, index)


def frozen_bindings(bindings: dict[str, list[Binding]]) -> Bindings:
    """Return the bindings of each name as tuples without line numbers and duplicates."""
    return {name: tuple(dict.fromkeys(map(without_lines, found))) for name, found in bindings.items()}


def class_interface(
    scope: OpenScope, name: str, decorators: Expressions, bases: Expressions, keywords: nodes.Keywords
) -> nodes.ClassInterface:
    """Return the part of a class on which other files may depend."""
    attributes = {
        attribute: tuple(dict.fromkeys(map(without_lines, found))) for attribute, found in scope.attributes.items()
    }
    decorators, bases, keywords = without_lines((decorators, bases, keywords))
    return nodes.ClassInterface(name, decorators, bases, keywords, frozen_bindings(scope.bindings), attributes)


def function_interface(
    scope: OpenScope,
    name: str,
    decorators: Expressions,
    parameters: nodes.Parameters,
    returns: Expression,
    *,
    is_async: bool,
) -> nodes.FunctionInterface:
    """Return the part of a function on which other files may depend: its signature and return values."""
    owner = scope.parent.key if scope.parent is not None and scope.parent.kind == "class" else ""
    enclosing = _enclosing_function(scope)
    returned = tuple(dict.fromkeys(map(without_lines, scope.returns))) if returns is None else ()
    yielded = tuple(dict.fromkeys(map(without_lines, scope.yields))) if returns is None else ()
    decorators, parameters, returns = without_lines((decorators, parameters, returns))
    local = _needed_locals(scope, (returned, yielded))
    return nodes.FunctionInterface(
        name, owner, enclosing, decorators, parameters, returns, is_async, bool(scope.yields), returned, yielded, local
    )


def _enclosing_function(scope: OpenScope) -> str:
    """Return the key of the function that contains a scope, or an empty string."""
    outer = scope.parent
    while outer is not None and outer.kind == "class":
        outer = outer.parent
    return outer.key if outer is not None else ""


def _needed_locals(scope: OpenScope, results: tuple[Expressions, Expressions]) -> Bindings:
    """Return the local bindings that returned values, assigned attributes and nested functions use."""
    needed = set(scope.used_by_nested)
    names_in(results, needed)
    for found in scope.parent.attributes.values() if scope.parent is not None and scope.receiver else ():
        names_in(tuple([each.binding for each in found if each.method == scope.key]), needed)
    local: Bindings = {}
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
        # Names that belong to an enclosing function are part of the interface of that function.
        scope.parent.used_by_nested |= needed - local.keys()
    return dict(sorted(local.items()))
