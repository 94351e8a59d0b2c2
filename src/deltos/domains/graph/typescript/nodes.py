"""Type expressions and declarations in a file's facts, which the `check` package evaluates to types.

A type expression (called "term" in the code) describes how the type of a value is computed. It is None (unknown), a
string (a module-level name or a global), a negative integer (a local variable or type in the file's body) or a
`TermNode`. Type expressions contain no line numbers, so a file's interface does not change when its lines move.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias, Union

from msgspec import field
from msgspec.structs import astuple

from deltos.domains.graph.kernel.node import Node

if TYPE_CHECKING:
    from collections.abc import Iterator

# Imported names with a special meaning.
EXPORTED_VALUE = "="  # the value that a CommonJS module exports
NAMESPACE = "*"  # all exports of a module as a namespace

# Flags of functions.
IS_ASYNC = 1
IS_GENERATOR = 2

# Flags of parameters.
IS_OPTIONAL = 1
IS_REST = 2

# Meanings of a declaration. A name may be both a type and a value.
AS_VALUE = 1
AS_TYPE = 2

_MAX_REPEATED_PARTS = 300  # maximum number of parts of a type expression that may be repeated inside others

METHOD, FIELD, ACCESSOR = "m", "f", "a"  # kinds of class members


class Record(Node, frozen=True):
    """Base class of stored facts.

    Facts contain the names of subclasses, so renaming one requires a new index version.
    """


class Construct(Record, frozen=True):
    """Base class of type expressions and declarations, but not of parameters and members."""


class TermNode(Construct, frozen=True):
    """A type expression, which describes how a value or type is computed."""


class TermList(TermNode, frozen=True):
    """A type expression with any number of operands."""

    terms: tuple[Term, ...]


# --- parts of type expressions and declarations


class TypeParameter(Record, frozen=True, tag="<>"):
    """Declaration of a type parameter, with its constraint and default."""

    name: str
    constraint: Term
    default: Term


class FunctionParameter(Record, frozen=True, tag="p"):
    """Parameter of a function; its name is empty for a destructuring pattern."""

    name: str
    term: Term
    flags: int

    @property
    def is_rest(self) -> bool:
        """Whether the parameter receives all remaining arguments."""
        return bool(self.flags & IS_REST)


REEXPORTED = "="
"""Key of a member without a symbol, which re-exports another declaration."""


class ObjectMember(Record, frozen=True, tag=":"):
    """Member of an object literal or object type, with the key of the member's symbol, if any."""

    name: str
    term: Term
    key: str | None
    is_optional: bool


class ClassMember(Record, frozen=True, tag="m"):
    """Member of a class or interface: the key of its symbol, its kind and its type expression."""

    key: str
    kind: str
    term: Term


# Values


class MemberAccess(TermNode, frozen=True, tag="."):
    """The type expression of `owner.name`."""

    owner: Term
    name: str


class CallTerm(TermNode, frozen=True, tag="()"):
    """The type expression of `callee<type_arguments>(…)`."""

    callee: Term
    type_arguments: tuple[Term, ...]


class NewTerm(TermNode, frozen=True, tag="new"):
    """The type expression of `new callee<type_arguments>(…)`."""

    callee: Term
    type_arguments: tuple[Term, ...]


class ElementAccess(TermNode, frozen=True, tag="[]"):
    """The type expression of `owner[index]`, as a value or as a type."""

    owner: Term
    index: Term


class AwaitTerm(TermNode, frozen=True, tag="await"):
    """The type expression of `await value`."""

    value: Term


class OneOf(TermList, frozen=True, tag="|"):
    """Alternatives, one of which is the type: a union type, `a ?? b` or `a ? b : c`."""


class ArrayLiteral(TermList, frozen=True, tag="list"):
    """An array literal, represented by its first elements."""


class Spread(TermNode, frozen=True, tag="..."):
    """`...value` in an array literal, an object literal or the arguments of a call."""

    value: Term


class ObjectTerm(TermNode, frozen=True, tag="{}"):
    """An object literal or object type; `index` is the value type of its index signature."""

    members: tuple[ObjectMember, ...] = ()
    spreads: tuple[Term, ...] = ()
    calls: tuple[Term, ...] = ()
    index: Term = None


class FunctionTerm(TermNode, frozen=True, tag="=>"):
    """A function or signature; `returned` contains the return values if no result type is declared."""

    type_parameters: tuple[TypeParameter, ...] = ()
    parameters: tuple[FunctionParameter, ...] = ()
    result: Term = None
    returned: tuple[Term, ...] = ()
    flags: int = 0


class Overloads(TermList, frozen=True, tag="over"):
    """The signatures of an overloaded function."""


class LocalType(TermNode, frozen=True, tag="class"):
    """A class, interface, alias or enum that is declared inside a function or an expression."""

    declaration: Declaration


class ThisInstance(TermNode, frozen=True, tag="this"):
    """`this` in a method; `binding` is the name or local number of the enclosing class or object."""

    binding: Term


class ThisClass(TermNode, frozen=True, tag="typeof this"):
    """`this` in a static method, which is the class."""

    binding: Term


class Super(TermNode, frozen=True, tag="super"):
    """`super` in a method of a class."""

    binding: Term
    is_static: bool


class StringTerm(TermNode, frozen=True, tag="text"):
    """A string literal with a known value, or any string."""

    value: str | None = None


class Require(TermNode, frozen=True, tag="require"):
    """`require('specifier')`: the value that a CommonJS module exports."""

    specifier: str


class ImportedModule(TermNode, frozen=True, tag="import"):
    """An imported module as a namespace, as in `import * as name`."""

    specifier: str


class ItemAt(TermNode, frozen=True, tag="item"):
    """The element at a fixed index of a list, as in array destructuring."""

    owner: Term
    position: int


class EachItem(TermNode, frozen=True, tag="each"):
    """An item of an iterable value, as in a `for … of` loop."""

    iterable: Term


class ParameterOf(TermNode, frozen=True, tag="param"):
    """The expected type of a parameter of a callback."""

    function: Term
    position: int


class ArgumentOf(TermNode, frozen=True, tag="arg"):
    """The expected type of the argument at a position of a call."""

    callee: Term
    position: int
    type_arguments: tuple[Term, ...]


class ResultOf(TermNode, frozen=True, tag="result"):
    """The expected return type of a function."""

    function: Term


# Types


class AnyType(TermNode, frozen=True, tag="any"):
    """A declared type whose members are irrelevant, such as `number`, `any` or `unknown`."""


class TypeReference(TermNode, frozen=True, tag="ref"):
    """A use of a named type; `entity` is the type's name, dotted name or local number."""

    entity: Term
    arguments: tuple[Term, ...] = ()


class TypeParameterUse(TermNode, frozen=True, tag="T"):
    """A use of a type parameter, together with the parameter's constraint."""

    name: str
    constraint: Term


class ArrayType(TermNode, frozen=True, tag="T[]"):
    """The array type `element[]`."""

    element: Term


class TupleType(TermList, frozen=True, tag="tuple"):
    """A tuple type such as `[A, B]`."""


class Intersection(TermList, frozen=True, tag="&"):
    """An intersection type such as `A & B`."""


class KeyOf(TermNode, frozen=True, tag="keyof"):
    """The type `keyof owner`."""

    owner: Term


class ConditionalType(TermNode, frozen=True, tag="?"):
    """The conditional type `checked extends extended ? yes : no`."""

    checked: Term
    extended: Term
    yes: Term
    no: Term


class MappedType(TermNode, frozen=True, tag="mapped"):
    """The mapped type `{ [parameter in constraint]: value }`."""

    parameter: str
    constraint: Term
    value: Term


# --- declarations


class ClassDeclaration(Construct, frozen=True, tag="class declaration"):
    """A class, a JavaScript function that assigns to `this`, or an object to which members are assigned."""

    key: str
    type_parameters: tuple[TypeParameter, ...] = ()
    base: Term = None
    base_arguments: tuple[Term, ...] = ()
    implemented: tuple[Term, ...] = ()
    members: dict[str, ClassMember] = field(default_factory=dict)
    statics: dict[str, ClassMember] = field(default_factory=dict)


class InterfaceDeclaration(Construct, frozen=True, tag="interface declaration"):
    """An interface; `index` is the element type of the interface's index signature."""

    key: str
    type_parameters: tuple[TypeParameter, ...]
    bases: tuple[Term, ...]
    members: dict[str, ClassMember]
    calls: tuple[Term, ...]
    index: Term


class AliasDeclaration(Construct, frozen=True, tag="alias declaration"):
    """A type alias, `type Name = term`."""

    key: str
    type_parameters: tuple[TypeParameter, ...]
    term: Term


class EnumDeclaration(Construct, frozen=True, tag="enum declaration"):
    """An enum, with the symbol key of each member by name."""

    key: str
    members: dict[str, str]


class ValueDeclaration(Construct, frozen=True, tag="value declaration"):
    """A variable, function or export."""

    key: str
    term: Term = None


class NamespaceDeclaration(Construct, frozen=True, tag="namespace declaration"):
    """A namespace, whose contents are separate declarations with dotted names."""

    key: str


ANY = AnyType()

# These are `Union[…]` instead of `|`, because msgspec evaluates the types at run time.
Declaration: TypeAlias = Union[  # noqa: UP007
    ClassDeclaration, InterfaceDeclaration, AliasDeclaration, EnumDeclaration, ValueDeclaration, NamespaceDeclaration
]
ValueTerm: TypeAlias = Union[  # noqa: UP007
    MemberAccess, CallTerm, NewTerm, ElementAccess, AwaitTerm, OneOf, ArrayLiteral, Spread, ObjectTerm,
    FunctionTerm, Overloads, LocalType, ThisInstance, ThisClass, Super, StringTerm, Require, ImportedModule, ItemAt,
    EachItem, ParameterOf, ArgumentOf, ResultOf,
]  # fmt: skip
TypeTerm: TypeAlias = Union[  # noqa: UP007
    AnyType, TypeReference, TypeParameterUse, ArrayType, TupleType, Intersection, KeyOf, ConditionalType, MappedType,
]  # fmt: skip
Term: TypeAlias = Union[str, int, ValueTerm, TypeTerm, None]  # noqa: UP007

WITH_MEMBERS = (ClassDeclaration, InterfaceDeclaration)

MEANINGS: dict[type[Declaration], int] = {
    ClassDeclaration: AS_VALUE | AS_TYPE,
    EnumDeclaration: AS_VALUE | AS_TYPE,
    InterfaceDeclaration: AS_TYPE,
    AliasDeclaration: AS_TYPE,
    ValueDeclaration: AS_VALUE,
    NamespaceDeclaration: AS_VALUE,
}


Holder: TypeAlias = "Record | tuple[object, ...]"


def _subclasses_of(kind: type[Record]) -> Iterator[type[Record]]:
    for each in kind.__subclasses__():
        yield from (each, *_subclasses_of(each))


# Sets for lookup by exact class, because `isinstance` takes four times as long and is called often.
TERM_KINDS = frozenset(_subclasses_of(TermNode))
CONSTRUCT_KINDS = frozenset(_subclasses_of(Construct))
TERM_LIST_KINDS = frozenset(_subclasses_of(TermList))
RECORD_KINDS = frozenset(_subclasses_of(Record))
_HOLDERS = (tuple, Record)
_HOLDER_KINDS = RECORD_KINDS | {tuple}


def contents(holder: Holder) -> tuple[object, ...]:
    """Return the fields of a record or the items of a tuple."""
    if isinstance(holder, tuple):
        return holder
    found = astuple(holder)
    return found[0] if type(holder) in TERM_LIST_KINDS else found


def holders(term: Term) -> Iterator[Holder]:
    """Yield a type expression and all records and tuples nested in it, outermost first."""
    found: list[Holder] = [term] if isinstance(term, Record) else []
    for holder in found:
        yield holder
        found += [part for part in contents(holder) if isinstance(part, _HOLDERS)]


def is_light(term: Term) -> bool:
    """Whether a type expression is small enough to be repeated inside others."""
    pending: list[Holder] = [term] if isinstance(term, Record) else []
    weight = 0
    for holder in pending:
        held = contents(holder)
        weight += len(held) + (type(holder) in CONSTRUCT_KINDS)
        if weight > _MAX_REPEATED_PARTS:
            return False
        pending += [part for part in held if type(part) in _HOLDER_KINDS]  # type: ignore[misc] # narrowed by class
    return True
