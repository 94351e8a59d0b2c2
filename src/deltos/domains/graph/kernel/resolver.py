"""Interface of a language resolver: it extracts facts from each file, then resolves references against all facts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from deltos.domains.graph.kernel.codec import Codec
    from deltos.domains.graph.model import Edge, Import
    from deltos.store.symbols import Symbol
    from deltos.workspace.indexer import ParsedFile


@dataclass(frozen=True, slots=True)
class FileFacts:
    """Facts extracted from a single file.

    `interface` contains everything on which the resolution of other files may depend (exports, signatures, types,
    bases, but no line numbers); `body` contains the rest. The resolver defines the format of both, and its codec
    encodes them. `parts` contains the parts of the interface by name, for resolvers that track dependencies by name: a
    change that only adds names affects only the files that looked up these names.
    """

    symbols: tuple[Symbol, ...]
    interface: object
    body: object
    parts: tuple[tuple[str, object], ...] = ()


@dataclass(frozen=True, slots=True)
class Resolution:
    """Result of resolving one file: edges, imports, and the dependencies of the file.

    A dependency is the path of a present or missing file, or a name that a function in `kernel.dependencies` returns.
    """

    path: str
    edges: tuple[Edge, ...]
    imports: tuple[Import, ...]
    dependencies: frozenset[str]
    external_imports: int = 0
    unresolved_imports: int = 0


@dataclass(frozen=True, slots=True)
class NamedSymbol:
    """Location and kind of a symbol that was looked up by name."""

    path: str
    key: str
    kind: str


class ProjectFacts(Protocol):
    """Facts of all files of a project, read on demand."""

    def paths(self) -> Collection[str]:
        """Return the paths of all indexed files, of any language, relative to the project root."""

    def facts(self, path: str) -> FileFacts | None:
        """Return the facts of a file, or None if the file is missing or has no facts."""

    def interface(self, path: str) -> object:
        """Return the interface of a file, or None if it has none; cheaper than reading all facts of the file."""

    def language(self, path: str) -> str:
        """Return the language of a file, or an empty string if the file is missing."""

    def named(self, name: str) -> Collection[NamedSymbol]:
        """Return every symbol with this name. A file that uses the result depends on `all_definitions(name)`."""


class Resolver(Protocol):
    """Resolver of one language or of several related languages."""

    languages: frozenset[str]

    @property
    def codec(self) -> Codec:
        """Codec for the resolver's facts."""

    def extract(self, file: ParsedFile) -> FileFacts:
        """Return the facts of one file without considering other files."""

    def resolve(self, project: ProjectFacts, paths: Collection[str]) -> Iterator[Resolution]:
        """Resolve the references in the given files against the facts of the entire project."""
