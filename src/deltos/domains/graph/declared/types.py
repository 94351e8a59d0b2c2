"""Parse written types, and find the types of elements in external lists, maps, pointers and result types."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from deltos.domains.graph.declared.facts import ANONYMOUS_STRUCT, CALLED, ELEMENT, KEY, UNKNOWN

if TYPE_CHECKING:
    from deltos.domains.graph.declared.source_files import DefinedSymbol, SourceFile

_POINTER_TYPE_NAMES = frozenset(
    "Box Arc Rc Ref RefMut MutexGuard Cow Pin unique_ptr shared_ptr weak_ptr scoped_refptr".split()
)
_METHODS_RETURNING_RECEIVER = frozenset(
    "clone cloned copied as_ref as_mut as_deref borrow borrow_mut to_owned iter iter_mut into_iter by_ref lock read "
    "write stream iterator asSequence reversed rev toList ToList unwrap_or_default".split()
)
_METHODS_RETURNING_ELEMENT = frozenset(
    "unwrap expect unwrap_or unwrap_or_else unwrap_or_default next first last get get_mut pop remove take orElse "
    "orElseThrow orElseGet getFirst getLast poll peek front back at top getValue getOrDefault single First "
    "FirstOrDefault Single Last firstOrNull value ok_or ok_or_else ok".split()
)
UNWRAPPING_METHODS = frozenset(
    "unwrap expect unwrap_or unwrap_or_else unwrap_or_default ok_or ok_or_else as_ref clone".split()
)
"""Methods that unwrap a value; on a value that is already unwrapped, they return the receiver."""
_MAP_TYPE_NAMES = ("Map", "map", "{}", "Dictionary", "Entry", "Pair")


class WrittenType(NamedTuple):
    """Name and type arguments of a type, as written in the source."""

    name: str
    arguments: tuple[str, ...]


class ResolvedType(NamedTuple):
    """Type of an expression or declaration: a project definition, or the name and arguments of an external type.

    The arguments are written types, which are looked up in `file`, inside the definition `within`.
    """

    owner: DefinedSymbol | None
    is_certain: bool = True
    name: str = ""
    arguments: tuple[str, ...] = ()
    file: SourceFile | None = None
    within: str = ""


UNTYPED = ResolvedType(None, is_certain=False)


def parse_type(text: str) -> WrittenType:
    """Split a written type such as `Foo<A,B<C>>` into the name `Foo` and the arguments `A` and `B<C>`."""
    name, bracket, rest = text.partition("<")
    if not bracket:
        return WrittenType(text, ())
    arguments: list[str] = []
    depth = start = 0
    body = rest[:-1]
    for position, character in enumerate(body):
        if character == "<":
            depth += 1
        elif character == ">":
            depth -= 1
        elif character == "," and depth == 0:
            arguments.append(body[start:position])
            start = position + 1
    arguments.append(body[start:])
    return WrittenType(name, tuple(arguments))


def is_pointer(name: str) -> bool:
    """Whether an external type is a pointer, whose members are those of the type to which it points."""
    return name.rpartition(".")[2] in _POINTER_TYPE_NAMES


def external_step_type(found: ResolvedType, step: str) -> str:
    """Return the written type after one step of an access path from an external type, or `UNKNOWN`."""
    arguments, name = found.arguments, found.name
    if not arguments:
        return UNKNOWN
    if name == ANONYMOUS_STRUCT:
        return next((each.partition("=")[2] for each in arguments if each.startswith(f"{step}=")), UNKNOWN)
    if step == KEY:
        return arguments[0] if name in ("{}", "chan") else UNKNOWN
    if step == CALLED:
        return arguments[0] if name == "fn" else UNKNOWN
    if name == "()":
        position = step.removeprefix("#")
        return arguments[int(position)] if position.isdecimal() and int(position) < len(arguments) else UNKNOWN
    if name == "fn" or (name == "chan" and step != ELEMENT) or step.startswith("#"):
        return UNKNOWN
    if step == ELEMENT:
        return _content_type(name, arguments)
    method = step.removesuffix("()")
    if method in ("getKey", "first") and _is_keyed(name):
        return arguments[0]
    if method in _METHODS_RETURNING_RECEIVER and step.endswith("()"):
        return f"{name}<{','.join(arguments)}>"
    return _content_type(name, arguments) if method in _METHODS_RETURNING_ELEMENT and step.endswith("()") else UNKNOWN


def _content_type(name: str, arguments: tuple[str, ...]) -> str:
    """Return the element type of a collection, or the value type of a map."""
    return arguments[-1] if _is_keyed(name) else arguments[0]


def _is_keyed(name: str) -> bool:
    """Whether an external type maps keys to values."""
    return name.endswith(_MAP_TYPE_NAMES)
