"""Types that the evaluators return; None means unknown.

The classes are Structs, because creating, hashing and comparing dataclasses took a fifth of the resolution time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deltos.domains.graph.typescript import nodes
    from deltos.domains.graph.typescript.modules.module import Module
    from deltos.domains.graph.typescript.nodes import Term

Environment: TypeAlias = "dict[str, Type | None]"


class DeclaredEntity(Struct, frozen=True, eq=False):
    """Declarations that share a name in a module, such as an interface and a constant."""

    module: Module
    name: str
    parts: tuple[nodes.Declaration, ...]


class InstanceType(Struct, frozen=True):
    """An instance of a class, interface or enum."""

    declared: DeclaredEntity
    arguments: tuple[Type | None, ...] = ()


class StaticType(Struct, frozen=True):
    """A class, enum or namespace as a value, with its static members."""

    declared: DeclaredEntity


class _TermType(Struct, frozen=True, eq=False):
    """A type defined by a type expression in a module and the types of the type parameters in scope."""

    module: Module
    term: Term
    environment: Environment | None = None

    def __eq__(self, other: object) -> bool:
        """Compare type expressions only, because the types of type parameters may contain the type itself."""
        return type(other) is type(self) and isinstance(other, _TermType) and other.term is self.term

    def __hash__(self) -> int:
        """Return a hash of the type expression's identity, consistent with equality."""
        return id(self.term)


class FunctionType(_TermType, frozen=True, eq=False):
    """A callable with one signature."""

    term: nodes.FunctionTerm


class OverloadedType(_TermType, frozen=True, eq=False):
    """A callable with several signatures."""

    term: nodes.Overloads


class ObjectType(_TermType, frozen=True, eq=False):
    """An object, defined by an object literal or an object type."""

    term: nodes.ObjectTerm


class MappedObject(_TermType, frozen=True, eq=False):
    """A mapped type, whose members are derived from the members of another type."""

    term: nodes.MappedType


class NamespaceType(Struct, frozen=True):
    """A module as a value: `import * as name`."""

    module: Module


class UnionType(Struct, frozen=True):
    """One of several types."""

    options: tuple[Type, ...]


class IntersectionType(Struct, frozen=True):
    """An intersection of several types."""

    parts: tuple[Type, ...]


class Tuple(Struct, frozen=True):
    """A tuple type, with one type for each element."""

    items: tuple[Type | None, ...]


class StringType(Struct, frozen=True):
    """The `string` type, or a string literal type."""

    value: str | None = None


class EnumMember(Struct, frozen=True):
    """One member of an enum."""

    declared: DeclaredEntity
    name: str


class KeysType(Struct, frozen=True):
    """The keys of a type."""

    owner: Type


class UnboundTypeParameter(Struct, frozen=True):
    """A type parameter for which only the upper bound is known."""

    name: str
    bound: Type | None = None


Named: TypeAlias = "InstanceType | StaticType | NamespaceType | EnumMember"
Type: TypeAlias = (
    "Named | FunctionType | OverloadedType | ObjectType | MappedObject | UnionType | IntersectionType | Tuple"
    " | StringType | KeysType | UnboundTypeParameter"
)


class Property(Struct, frozen=True):
    """A member of a type, with its module, symbol key and type expression."""

    module: Module
    key: str
    term: Term
    environment: Environment | None = None
    known_type: Type | None = None


def union_of(options: Sequence[Type | None]) -> Type | None:
    """Return the union of several types, flattened and without duplicates; unknown types are ignored."""
    flat: dict[Type, None] = {}
    for option in options:
        if type(option) is UnionType:
            flat.update(dict.fromkeys(option.options))
        elif option is not None:
            flat[option] = None
    if len(flat) < 2:
        return next(iter(flat), None)
    return UnionType(tuple(flat))


def is_shareable(value: Type | None) -> bool:
    """Whether a type refers only to declarations, so that results for the type can be cached across files."""
    if type(value) is InstanceType:
        return all(argument is None or is_shareable(argument) for argument in value.arguments)
    return isinstance(value, StaticType | NamespaceType | StringType)
