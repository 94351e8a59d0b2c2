"""Stored facts of a file: the interface, on which other files depend, and the body.

An interface is stored as MessagePack. In a body, references share type-expression objects. Decoding must preserve this
sharing, because type inference caches types by object identity.
"""

from __future__ import annotations

import pickle
from io import BytesIO
from typing import TypeAlias

from msgspec import Struct

from deltos.domains.graph.kernel.codec import Codec
from deltos.domains.graph.kernel.node import Node

# Imported at run time, because msgspec needs the types of fields.
from deltos.domains.graph.model import EdgeKind, ImportMode  # noqa: TC001
from deltos.domains.graph.typescript.nodes import RECORD_KINDS, Declaration, Record, Term


class ImportOrigin(Node, frozen=True):
    """Module specifier and exported name to which an imported name refers."""

    specifier: str
    name: str


class TypeScriptModule(Struct, frozen=True, array_like=True, tag="module"):
    """Facts on which other files may depend.

    `exported_value` is the CommonJS export. `has_chained_exports` is true if the exported value has several names, as
    in `module.exports = exports = value`.
    """

    imports: dict[str, ImportOrigin]
    exports: dict[str, str | ImportOrigin]
    star_exports: tuple[str, ...]
    has_chained_exports: bool
    exported_value: Term
    declarations: dict[str, tuple[Declaration, ...]]
    is_module: bool


class PackageManifest(Struct, frozen=True, array_like=True, tag="package"):
    """Fields of a package.json that affect imports; `exports` and `imports` are JSON strings."""

    name: str
    entries: tuple[str, ...]
    exports: str
    imports: str


class ConfigManifest(Struct, frozen=True, array_like=True, tag="config"):
    """Fields of a tsconfig.json that affect imports."""

    extends: tuple[str, ...]
    base: str | None
    paths: dict[str, tuple[str, ...]]
    references: tuple[str, ...]


Manifest: TypeAlias = PackageManifest | ConfigManifest
MANIFESTS = (PackageManifest, ConfigManifest)
Interface: TypeAlias = TypeScriptModule | PackageManifest | ConfigManifest


class NameUse(Node, frozen=True):
    """A reference by plain name to a module-level name, a global or, if `is_symbol` is true, a local symbol."""

    line: int
    source: str
    kind: EdgeKind
    name: str
    is_symbol: bool = False


class MemberUse(Node, frozen=True):
    """A reference to a member of a value. The value's type expression is at the same index of `Body.owners`."""

    line: int
    source: str
    kind: EdgeKind
    name: str


class ImportLink(Node, frozen=True):
    """A line that refers to a name in another module; `is_alias` means that the line binds the name locally."""

    line: int
    source: str
    specifier: str
    name: str
    is_alias: bool


class ImportSite(Node, frozen=True, order=True):
    """A line that imports a module; `mode` is `type`, `runtime` or `deferred`."""

    line: int
    specifier: str
    mode: ImportMode


class Merge(Node, frozen=True):
    """A declaration that is merged with an earlier declaration."""

    line: int
    key: str
    first: str


class Augmentation(Node, frozen=True):
    """A declaration that is merged with a declaration in another module."""

    specifier: str
    name: str
    line: int
    key: str


class Uses(Struct, frozen=True, array_like=True):
    """References in a file, without type expressions; `lines` maps symbol keys to line numbers."""

    names: list[NameUse]
    type_names: list[NameUse]
    members: list[MemberUse]
    links: list[ImportLink]
    imports: list[ImportSite]
    merges: list[Merge]
    augmented: list[Augmentation]
    lines: dict[str, int]


class Body(Struct, frozen=True):
    """Facts needed only to resolve the file itself: references, the owner of each used member, and local variables."""

    uses: Uses
    owners: list[Term]
    locals: list[Term]


class _StoredBody(Struct, frozen=True, array_like=True):
    """A body with pickled type expressions, because pickle preserves object sharing and MessagePack does not."""

    uses: Uses
    terms: bytes


_RECORD_KINDS_BY_NAME = {kind.__name__: kind for kind in RECORD_KINDS}
# The `__reduce__` methods are looked up only once, which makes pickling a third faster.
_REDUCTIONS = {kind: kind.__reduce__ for kind in RECORD_KINDS}


def _pickle_terms(terms: tuple[list[Term], list[Term]]) -> bytes:
    """Return the type expressions as pickled bytes."""
    buffer = BytesIO()
    pickler = pickle.Pickler(buffer, pickle.HIGHEST_PROTOCOL)
    pickler.dispatch_table = _REDUCTIONS
    pickler.dump(terms)
    return buffer.getvalue()


class _TermReader(pickle.Unpickler):
    """Unpickler that can create only records, so that stored data cannot run other code."""

    def find_class(self, _module: str, name: str) -> type[Record]:
        """Return the record class with this name."""
        return _RECORD_KINDS_BY_NAME[name]


class TermCodec(Codec):
    """Codec for interfaces and bodies; None represents a file without facts."""

    def __init__(self) -> None:
        super().__init__(Interface | None, _StoredBody | None)

    def encode(self, value: object) -> bytes:
        """Encode a file's interface or body. In a body, type expressions are pickled to preserve object sharing."""
        if isinstance(value, Body):
            value = _StoredBody(value.uses, _pickle_terms((value.owners, value.locals)))
        return super().encode(value)

    def body(self, data: bytes) -> Body | None:
        """Decode a body."""
        found = super().body(data)
        return Body(found.uses, *_TermReader(BytesIO(found.terms)).load()) if isinstance(found, _StoredBody) else None
