"""What is kept of a file, and in which form: the interface, which other files depend on, and the body.

An interface is stored as it stands. In a body many references share their terms, and what is known about a term is
remembered by its identity: what is one node there must be one when it is read again.
"""

from __future__ import annotations

import pickle
from functools import cached_property
from io import BytesIO
from typing import TypeAlias

import msgspec
from msgspec import Struct

from deltos.domains.graph.kernel.node import Node

# msgspec reads the types of fields at run time.
from deltos.domains.graph.model import EdgeKind, ImportMode  # noqa: TC001
from deltos.domains.graph.typescript.nodes import RECORD_KINDS, Declaration, Record, Term


class ImportOrigin(Node, frozen=True):
    """Where an imported name comes from."""

    specifier: str
    name: str


class ModuleInterface(Struct, frozen=True, array_like=True, tag="module"):
    """What other files may depend on; `whole` is what CommonJS exports, `is_chained` if it has several names."""

    imports: dict[str, ImportOrigin]
    exports: dict[str, str | ImportOrigin]
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


Manifest: TypeAlias = PackageManifest | ConfigManifest
MANIFESTS = (PackageManifest, ConfigManifest)
Interface: TypeAlias = ModuleInterface | PackageManifest | ConfigManifest


class NameUse(Node, frozen=True):
    """A reference by plain name: to a name of the module or a global, or else to the symbol of a local."""

    line: int
    source: str
    kind: EdgeKind
    name: str
    is_symbol: bool = False


class MemberUse(Node, frozen=True):
    """A reference to a member of a value, whose term stands beside it in `Body.owners`."""

    line: int
    source: str
    kind: EdgeKind
    name: str


class ImportLink(Node, frozen=True):
    """A place that names something of another module; an alias of it if so marked."""

    line: int
    source: str
    specifier: str
    name: str
    is_alias: bool


class ImportSite(Node, frozen=True, order=True):
    """That a line imports a module, and when that takes effect."""

    line: int
    specifier: str
    mode: ImportMode


class Merge(Node, frozen=True):
    """A declaration that adds to an earlier one."""

    line: int
    key: str
    first: str


class Augmentation(Node, frozen=True):
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
    links: list[ImportLink]
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
    """A body whose terms are pickled: unlike MessagePack, that writes what is held twice once, and keeps it one."""

    uses: Uses
    terms: bytes


_KINDS = {kind.__name__: kind for kind in RECORD_KINDS}
_REDUCTIONS = {kind: kind.__reduce__ for kind in RECORD_KINDS}  # given, not looked up: two thirds of the time


def _pickled(terms: tuple[list[Term], list[Term]]) -> bytes:
    buffer = BytesIO()
    pickler = pickle.Pickler(buffer, pickle.HIGHEST_PROTOCOL)
    pickler.dispatch_table = _REDUCTIONS
    pickler.dump(terms)
    return buffer.getvalue()


class _TermReader(pickle.Unpickler):
    """Reads pickled terms, and makes nothing but records of them."""

    def find_class(self, _module: str, name: str) -> type[Record]:
        """The class of records that has this name."""
        return _KINDS[name]


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
        """An interface as it stands; of a body, its terms so that they stay shared."""
        if isinstance(value, Body):
            value = _StoredBody(value.uses, _pickled((value.owners, value.locals)))
        return self._encoder.encode(value)

    def interface(self, data: bytes) -> Interface | None:
        """An interface that was encoded."""
        return self._interface.decode(data)

    def body(self, data: bytes) -> Body | None:
        """A body that was encoded."""
        found = self._body.decode(data)
        return Body(found.uses, *_TermReader(BytesIO(found.terms)).load()) if found is not None else None
