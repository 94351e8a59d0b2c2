"""What is kept of a file: the interface, which other files may depend on and which knows no lines, and the body."""

from __future__ import annotations

from typing import TypeAlias, Union

from msgspec import field
from msgspec.msgpack import Decoder

from deltos.domains.graph.kernel.codec import StructCodec
from deltos.domains.graph.kernel.node import Node

UNKNOWN = "?"
"""A step of an access path that cannot be followed."""
ELEMENT = "[]"
"""The step from a list, an array or a map to what it holds."""
KEY = "[k]"
"""The step from a map to its keys."""
UNWRAPPED = "unwrap()"
"""The step that `?` and the patterns `Some(x)` and `Ok(x)` take."""
TYPE_SIGN = ":"
"""What a first step starts with that is a written type and no name."""

DOCUMENTED = "documented"
"""The role of a type that a comment names: it is that type of the project, or none of it."""

CALLABLE = "callable"
"""The role of a method that PHP names in a string: `[$this, 'name']`; any other string names none."""

UNNAMED = "{s}"
"""What a struct without a name is called; its arguments are `field=type`."""

AccessPath: TypeAlias = tuple[str, ...]
"""How a value is reached: `("this", "store", "find()")`, `(":pkg.Store<Row>", "find()", "#0")`. Calls end in
parentheses, `#0` is the first of several results. Variables are replaced by what they hold, so a path starts at a name
that no scope inside a function binds."""


class TopDefinition(Node, frozen=True):
    """A definition that is a member of no type."""

    name: str
    key: str
    kind: str


class ScopeTypes(Node, frozen=True):
    """What the declarations inside one definition say: its members' types, its bases, what it returns."""

    types: dict[str, AccessPath] = field(default_factory=dict)
    bases: tuple[str, ...] = ()
    returns: str = ""


class ImportClause(Node, frozen=True):
    """One imported thing.

    `how` is `name` (one definition), `member` (of a type), `all` (everything in a package), `module` (a package under
    its name or an alias), `file` (a path) or `outside` (nothing of the project). Names are dotted, whatever the
    language writes. `within` is the module or function that the import stands in; empty at the top of a file.
    `is_global`: C#'s `global using`, which holds in all files of its project.
    """

    how: str
    name: str
    alias: str = ""
    within: str = ""
    is_global: bool = False


class MacroName(Node, frozen=True):
    """A name that stands in the body of a macro, and as what it is used there."""

    name: str
    role: str


class SourceInterface(Node, frozen=True, tag="source"):
    """What other files may depend on; `kinds` are those of all symbols, by key, `file_local` those that no other file
    can link to, `macros` the names in the bodies of C's macros, by key, `prototypes` the functions that a file of C or
    C++ declares and does not define."""

    package: str
    tops: tuple[TopDefinition, ...]
    scopes: dict[str, ScopeTypes]
    imports: tuple[ImportClause, ...]
    type_keys: tuple[str, ...]
    kinds: dict[str, str]
    file_local: tuple[str, ...] = ()
    macros: dict[str, tuple[MacroName, ...]] = field(default_factory=dict)
    prototypes: tuple[str, ...] = ()


class GoModule(Node, frozen=True, tag="go.mod"):
    """The name that import paths of a Go module start with."""

    name: str


class PackageDeclaration(Node, frozen=True, tag="package"):
    """A package that a manifest declares: its ecosystem and name, the folders or files of its sources where the
    manifest says so (`x/*`: the packages below x), and the packages that it requires."""

    ecosystem: str
    name: str
    sources: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()


class Occurrence(Node, frozen=True):
    """A name where it is used: by which definition, as what, and through which value."""

    line: int
    source: str
    name: str
    role: str
    receiver: AccessPath | None


class SourceBody(Node, frozen=True):
    """What only a file's own resolution needs: uses, the lines of imports, and names in code that cannot be parsed."""

    uses: tuple[Occurrence, ...]
    import_lines: tuple[int, ...]
    unparsed: tuple[Occurrence, ...] = ()


Interface: TypeAlias = Union[SourceInterface, GoModule, PackageDeclaration, None]  # noqa: UP007 - msgspec reads it at run time


def declared_codec() -> StructCodec[Interface, SourceBody | None]:
    """How the facts of these languages are written."""
    return StructCodec(lambda: Decoder(Interface), lambda: Decoder(SourceBody | None))
