"""Types as evaluation gives them. None stands for what is not known.

They are Structs because many are made, hashed and compared: as dataclasses that took a fifth of the resolution.
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


class Declared(Struct, frozen=True, eq=False):
    """A name of a module with its declarations, which merge: an interface and a constant, say."""

    module: Module
    name: str
    parts: tuple[nodes.Declaration, ...]


class Instance(Struct, frozen=True):
    """A value of a class or interface; of an enum, a member of it."""

    declared: Declared
    arguments: tuple[Type | None, ...] = ()


class Static(Struct, frozen=True):
    """What a declaration is as a value when it has members of its own: a class, an enum, a namespace."""

    declared: Declared


class _Written(Struct, frozen=True, eq=False):
    """A type that is given by a term of a module, with what its type parameters stand for."""

    module: Module
    term: Term
    environment: Environment | None = None

    def __eq__(self, other: object) -> bool:
        """Same term of same module: environments may hold the type itself, so they are not compared."""
        return type(other) is type(self) and isinstance(other, _Written) and other.term is self.term

    def __hash__(self) -> int:
        """As equal types require."""
        return id(self.term)


class Function(_Written, frozen=True, eq=False):
    """Something callable, by one signature."""

    term: nodes.FunctionTerm


class Overloaded(_Written, frozen=True, eq=False):
    """Something callable, by several signatures."""

    term: nodes.Overloads


class Structure(_Written, frozen=True, eq=False):
    """An object, by its literal or its type literal."""

    term: nodes.ObjectTerm


class Mapped(_Written, frozen=True, eq=False):
    """A mapped type: members are those of another type."""

    term: nodes.MappedType


class Namespace(Struct, frozen=True):
    """A module as a value: `import * as name`."""

    module: Module


class Either(Struct, frozen=True):
    """One of several types."""

    options: tuple[Type, ...]


class Both(Struct, frozen=True):
    """All of several types at once."""

    parts: tuple[Type, ...]


class Tuple(Struct, frozen=True):
    """A list with a type for each position."""

    items: tuple[Type | None, ...]


class Text(Struct, frozen=True):
    """A string, perhaps a particular one."""

    value: str | None = None


class Member(Struct, frozen=True):
    """A particular member of an enum."""

    declared: Declared
    name: str


class Keys(Struct, frozen=True):
    """The keys of a type."""

    of: Type


class Opaque(Struct, frozen=True):
    """A type parameter that nothing has been found out about but its bound."""

    name: str
    bound: Type | None = None


Named: TypeAlias = "Instance | Static | Namespace | Member"
Type: TypeAlias = "Named | Function | Overloaded | Structure | Mapped | Either | Both | Tuple | Text | Keys | Opaque"


class Property(Struct, frozen=True):
    """A member found in a type: where it is declared, and the term of its own type."""

    module: Module
    key: str
    term: Term
    environment: Environment | None = None
    known: Type | None = None


def either(options: Sequence[Type | None]) -> Type | None:
    """One of several types, flat and without repetition; unknown alternatives are left out."""
    flat: dict[Type, None] = {}
    for option in options:
        if type(option) is Either:
            flat.update(dict.fromkeys(option.options))
        elif option is not None:
            flat[option] = None
    if len(flat) < 2:
        return next(iter(flat), None)
    return Either(tuple(flat))


def is_plain(value: Type | None) -> bool:
    """Whether a type is told by name alone, so that answers about it can be shared."""
    if type(value) is Instance:
        return all(argument is None or is_plain(argument) for argument in value.arguments)
    return isinstance(value, Static | Namespace | Text)
