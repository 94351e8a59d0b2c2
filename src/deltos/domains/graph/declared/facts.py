"""Facts of a source file: an interface on which other files may depend, and a body with the rest.

The interface contains no line numbers, so that moved lines do not change it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias, Union

from msgspec import field

from deltos.domains.graph.kernel.codec import Codec
from deltos.domains.graph.kernel.node import Node

if TYPE_CHECKING:
    from collections.abc import Iterator

UNKNOWN = "?"
"""Step of an access path whose type is not known."""
ELEMENT = "[]"
"""Step from a list, an array or a map to its elements."""
KEY = "[k]"
"""Step from a map to its keys."""
UNWRAPPED = "unwrap()"
"""Step for Rust's `?` operator and for the patterns `Some(x)` and `Ok(x)`."""
DEREFERENCED = "*"
"""Step from a pointer to its value, recorded for pointers to types of other Go packages."""
CALLED = "()"
"""Step from a function value to its result."""
TYPE_SIGN = ":"
"""Prefix of the first step if it is a written type and not a name."""

DOCUMENTED = "documented"
"""Role of a type name in a comment, which is ignored unless the project defines the type."""

CALLABLE = "callable"
"""Role of a PHP method whose name is in a string, as in `[$this, 'name']`."""

ANONYMOUS_STRUCT = "{s}"
"""Name of an anonymous struct type, whose arguments have the form `field=type`."""

AccessPath: TypeAlias = tuple[str, ...]
"""Steps that lead to a value: `("this", "store", "find()")`, `(":pkg.Store<Row>", "find()", "#0")`.

Calls end in parentheses; `#0` is the first of several results. Variables are replaced by the paths of their values, so
a path starts at a name that no local scope binds.
"""


def path_of_call(path: AccessPath) -> AccessPath:
    """Return the access path to the result of calling the value at `path`."""
    last = path[-1]
    is_member = last[:1] in "_$@" or last[:1].isalpha()
    return (*path[:-1], f"{last}()") if is_member and not last.endswith("()") else (*path, CALLED)


class TopDefinition(Node, frozen=True):
    """A definition that is not a member of a type."""

    name: str
    key: str
    kind: str


class ScopeTypes(Node, frozen=True):
    """Types declared inside a definition: types of members, base types, and the return type."""

    types: dict[str, AccessPath] = field(default_factory=dict)
    bases: tuple[str, ...] = ()
    returns: str = ""


class ImportClause(Node, frozen=True):
    """One imported name.

    `form` is the kind of import: `name` (one definition), `member` (of a type), `all` (all names in a package),
    `module` (a package under its name or an alias), `file` (a path) or `outside` (nothing in the project). Names are
    dotted in all languages. `within` is the module or function that contains the import; it is empty at the top level
    of a file. `is_global` marks C#'s `global using`, which applies to all files of its project.
    """

    form: str
    name: str
    alias: str = ""
    within: str = ""
    is_global: bool = False


class MacroName(Node, frozen=True):
    """A name in the body of a macro, with its role in the body, such as `call` or `read`."""

    name: str
    role: str


class SourceInterface(Node, frozen=True, tag="source"):
    """Facts about a source file on which other files may depend.

    `scopes` maps the key of a definition to its types. `kinds` maps the key of each symbol to its kind. `file_local`
    lists symbols that other files cannot link to. `macros` maps C macros to the names in their bodies. `prototypes`
    lists functions that a C or C++ file declares but does not define.
    """

    package: str
    top_level: tuple[TopDefinition, ...]
    scopes: dict[str, ScopeTypes]
    imports: tuple[ImportClause, ...]
    type_keys: tuple[str, ...]
    kinds: dict[str, str]
    file_local: tuple[str, ...] = ()
    macros: dict[str, tuple[MacroName, ...]] = field(default_factory=dict)
    prototypes: tuple[str, ...] = ()


class GoModule(Node, frozen=True, tag="go.mod"):
    """Name of the module in a `go.mod` file, which is the prefix of the import paths of the module's packages."""

    name: str


class PackageDeclaration(Node, frozen=True, tag="package"):
    """A package that a manifest declares: its ecosystem, name, source folders or files, and required packages.

    The source `x/*` means all packages below x.
    """

    ecosystem: str
    name: str
    sources: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()


class Occurrence(Node, frozen=True):
    """A use of a name: line, containing definition, role of the name, and access path of the receiver."""

    line: int
    source: str
    name: str
    role: str
    receiver: AccessPath | None


class SourceBody(Node, frozen=True):
    """Facts that are needed only to resolve the references in the file itself."""

    uses: tuple[Occurrence, ...]
    import_lines: tuple[int, ...]


Interface: TypeAlias = Union[SourceInterface, GoModule, PackageDeclaration, None]  # noqa: UP007 - msgspec reads it at run time


def declared_codec() -> Codec:
    """Return the codec for the facts of languages with declared types."""
    return Codec(Interface, SourceBody | None)


def enclosing_keys(key: str) -> Iterator[str]:
    """Yield a definition's key and the keys of all enclosing definitions, ending with the empty key of the file."""
    while key:
        yield key
        key = key.rpartition(".")[0]
    yield ""
