"""What is kept of a file, and in which form: the interface, which other files depend on, and the body.

An interface is stored as it stands. In a body many references share their terms, and what is known about a term is
remembered by its identity, so that its nodes are stored once each, in a table, and refer to each other by number.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, TypeAlias, Union, cast, get_origin, get_type_hints

import msgspec
from msgspec import Struct
from msgspec.structs import astuple

from deltos.domains.graph.model import EdgeKind, ImportMode  # noqa: TC001 - msgspec reads them at run time
from deltos.domains.graph.typescript import nodes
from deltos.domains.graph.typescript.nodes import ClassMember, Declaration, Guard, Record, Term

if TYPE_CHECKING:
    from collections.abc import Iterable

Leaf: TypeAlias = Union[str, int, None]  # noqa: UP007 - a term that is no node, or the number of a node's row


class Origin(Struct, frozen=True, array_like=True, gc=False):
    """Where an imported name comes from."""

    specifier: str
    name: str


class ModuleInterface(Struct, frozen=True, array_like=True, tag="module"):
    """What other files may depend on; `whole` is what CommonJS exports, `is_chained` if it has several names."""

    imports: dict[str, Origin]
    exports: dict[str, str | Origin]
    stars: tuple[str, ...]
    is_chained: bool
    whole: Term
    declarations: dict[str, tuple[Declaration, ...]]
    is_module: bool


class PackageManifest(Struct, frozen=True, array_like=True, tag="package"):
    """What a package.json says about imports; its tables of conditions as JSON."""

    name: str
    entries: tuple[str, ...]
    exports: str
    imports: str


class ConfigManifest(Struct, frozen=True, array_like=True, tag="config"):
    """What a tsconfig.json says about imports."""

    extends: tuple[str, ...]
    base: str | None
    paths: dict[str, tuple[str, ...]]
    references: tuple[str, ...]


Interface: TypeAlias = Union[ModuleInterface, PackageManifest, ConfigManifest]  # noqa: UP007


class NameUse(Struct, frozen=True, array_like=True, gc=False):
    """A reference by plain name: to a name of the module or a global, or else to the symbol of a local."""

    line: int
    source: str
    kind: EdgeKind
    name: str
    is_symbol: bool = False


class MemberUse(Struct, frozen=True, array_like=True, gc=False):
    """A reference to a member of a value, whose term stands beside it in `Body.owners`."""

    line: int
    source: str
    kind: EdgeKind
    name: str


class Link(Struct, frozen=True, array_like=True, gc=False):
    """A place that names something of another module; an alias of it if so marked."""

    line: int
    source: str
    specifier: str
    name: str
    is_alias: bool


class ImportSite(Struct, frozen=True, array_like=True, gc=False, order=True):
    """That a line imports a module, and when that takes effect."""

    line: int
    specifier: str
    mode: ImportMode


class Merge(Struct, frozen=True, array_like=True, gc=False):
    """A declaration that adds to an earlier one."""

    line: int
    key: str
    first: str


class Augmentation(Struct, frozen=True, array_like=True, gc=False):
    """A declaration that adds to one of another module."""

    specifier: str
    name: str
    line: int
    key: str


class Uses(Struct, frozen=True, array_like=True):
    """The references that a file makes, all but the terms in them; `lines` are those of its symbols."""

    names: list[NameUse]
    type_names: list[NameUse]
    members: list[MemberUse]
    links: list[Link]
    imports: list[ImportSite]
    merges: list[Merge]
    augmented: list[Augmentation]
    lines: dict[str, int]


class Body(Struct, frozen=True):
    """What only a file's own resolution needs: its references, the owner of each member used, and its locals."""

    uses: Uses
    owners: list[Term]
    locals: list[Term]


class _StoredBody(Struct, frozen=True, array_like=True):
    """A body whose terms are leaves or numbers of rows; each row is the tag of a record and its fields."""

    uses: Uses
    rows: list[list[object]]
    owners: list[Leaf]
    locals: list[Leaf]


class FactsCodec:
    """How interfaces and bodies are written and read; None stands for a file without facts."""

    def __init__(self) -> None:
        self._encoder = msgspec.msgpack.Encoder()

    # Made when first needed: who indexes only encodes.

    @cached_property
    def _interface(self) -> msgspec.msgpack.Decoder[Interface | None]:
        return msgspec.msgpack.Decoder(Interface | None)

    @cached_property
    def _body(self) -> msgspec.msgpack.Decoder[_StoredBody | None]:
        return msgspec.msgpack.Decoder(_StoredBody | None)

    def encode(self, value: object) -> bytes:
        """An interface as it stands, a body with its terms in a table."""
        if isinstance(value, Body):
            writer = _Writer()
            owners, locals_ = writer.numbers(value.owners), writer.numbers(value.locals)
            value = _StoredBody(value.uses, writer.rows, owners, locals_)
        return self._encoder.encode(value)

    def stable(self, value: object) -> bytes:
        """An interface as bytes to compare by."""
        return self._encoder.encode(value)

    def interface(self, data: bytes) -> Interface | None:
        """An interface that was encoded."""
        return self._interface.decode(data)

    def body(self, data: bytes) -> Body | None:
        """A body that was encoded."""
        found = self._body.decode(data)
        if found is None:
            return None
        table = _read(found.rows)
        return Body(found.uses, _terms(found.owners, table), _terms(found.locals, table))


@dataclass(frozen=True, slots=True)
class _Layout:
    """Where the fields of a record class hold other records: one, a tuple of them, or a table by name."""

    kind: type[Record]
    single: tuple[int, ...]
    several: tuple[int, ...]
    tables: tuple[int, ...]


@cache
def _layouts() -> dict[str, _Layout]:
    """Layouts by tag."""
    found: dict[str, _Layout] = {}
    pending: list[type[Record]] = [Record]
    while pending:
        kind = pending.pop()
        pending += kind.__subclasses__()
        tag = kind.__struct_config__.tag
        if tag is None:
            continue
        if tag in found:
            raise TypeError(f"{kind.__name__} and {found[tag].kind.__name__} have the same tag")
        found[str(tag)] = _layout(kind)
    return found


def _layout(kind: type[Record]) -> _Layout:
    hints = list(get_type_hints(kind, vars(nodes)).values())
    shapes = [get_origin(hint) for hint in hints]
    return _Layout(
        kind,
        tuple([at for at, hint in enumerate(hints) if hint in (Term, Guard, Declaration)]),
        tuple([at for at, shape in enumerate(shapes) if shape is tuple]),
        tuple([at for at, hint in enumerate(hints) if hint == dict[str, ClassMember]]),
    )


class _Writer:
    """Numbers records, each after those that it holds."""

    def __init__(self) -> None:
        self.rows: list[list[object]] = []
        self._numbers: dict[int, int] = {}
        self._layouts = {layout.kind: (tag, layout) for tag, layout in _layouts().items()}

    def numbers(self, terms: Iterable[Term | Record]) -> list[Leaf]:
        """Leaves as they are, records as the numbers of their rows."""
        return [self._number(term) if isinstance(term, Record) else term for term in terms]

    def _number(self, record: Record) -> int:
        known = self._numbers.get(id(record))
        if known is not None:
            return known
        tag, layout = self._layouts[type(record)]
        row: list[object] = [*astuple(record), tag]
        for at in layout.single:
            held = row[at]
            if isinstance(held, Record):
                row[at] = self._number(held)
        for at in layout.several:
            row[at] = self.numbers(cast("tuple[Term | Record, ...]", row[at]))
        for at in layout.tables:
            members = cast("dict[str, ClassMember]", row[at])
            row[at] = {name: self._number(member) for name, member in members.items()}
        self._numbers[id(record)] = number = len(self.rows)
        self.rows.append(row)
        return number


def _read(rows: list[list[object]]) -> list[Record]:
    """The records of all rows."""
    table: list[Record] = []
    layouts = _layouts()
    for row in rows:
        layout = layouts[cast("str", row.pop())]
        for at in layout.single:
            held = row[at]
            if type(held) is int and held >= 0:
                row[at] = table[held]
        for at in layout.several:
            if row[at]:
                row[at] = tuple(_terms(cast("list[Leaf]", row[at]), table))
            else:
                row[at] = ()
        for at in layout.tables:
            row[at] = {name: table[number] for name, number in cast("dict[str, int]", row[at]).items()}
        table.append(layout.kind(*row))
    return table


def _terms(numbers: list[Leaf], table: list[Record]) -> list[Term]:
    found = [table[number] if type(number) is int and number >= 0 else number for number in numbers]
    return cast("list[Term]", found)
