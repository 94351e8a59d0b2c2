"""The nouns of the code graph: symbols, edges between them, and what a language's resolver promises."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from pathlib import Path

    from deltos.domains.graph.kernel.codec import Codec
    from deltos.store.symbols import Symbol
    from deltos.workspace.indexer import ParsedFile

EdgeKind = Literal["import", "call", "inherit", "type", "decorate", "read", "write"]
ImportMode = Literal["runtime", "type", "deferred"]


class Edge(Struct, frozen=True, gc=False):
    """A reference from a line of one file to a symbol of another or the same; an empty key means the module itself.

    A possible edge may leave the path empty: then `target_key` is a bare name, and any symbol so named may be meant.
    """

    line: int
    source_key: str
    target_path: str
    target_key: str
    kind: EdgeKind
    origin: str
    certain: bool = True


class Import(Struct, frozen=True, gc=False):
    """That a file imports another file of the project, and when it takes effect."""

    line: int
    target_path: str
    mode: ImportMode


@dataclass(frozen=True, slots=True)
class FileFacts:
    """What one file says by itself.

    `interface` is whatever other files' resolution may depend on (exports, signatures, types, bases: no line numbers);
    `body` is the rest. Both are the resolver's own, in a form that its codec takes.
    `parts` are the interface by name, where a resolver tells names apart: a change that only adds names concerns nobody
    but those who looked for them.
    """

    symbols: tuple[Symbol, ...]
    interface: object
    body: object
    parts: tuple[tuple[str, object], ...] = ()


@dataclass(frozen=True, slots=True)
class Resolution:
    """What resolving one file gave, and which other files (present or looked for in vain) it depended on.

    A dependency `*/name` stands for every file or folder called `name`, suffix aside, and `*.suffix` for every file
    with that suffix: their coming or going counts.
    `@name` stands for every definition of that name, where a language looks names up across the project. Of a file
    whose interface has parts, `path?name` stands for a name it did not have, and `path*` for the list of its names.
    """

    path: str
    edges: tuple[Edge, ...]
    imports: tuple[Import, ...]
    dependencies: frozenset[str]
    external_imports: int = 0
    unresolved_imports: int = 0


@dataclass(frozen=True, slots=True)
class NamedSymbol:
    """Where a symbol of some name is defined."""

    path: str
    key: str
    kind: str


class Surroundings(Protocol):
    """What other domains know about a symbol, as sections of an answer."""

    def mentions(self, name: str, root: Path, /) -> Sequence[str]:
        """Documentation and observations that mention a symbol of the project."""

    def outside(self, symbol: str, root: Path, /) -> Sequence[str]:
        """What is known about a symbol that the project does not define; nothing when nobody knows it."""


class NoSurroundings:
    """Stands in where the graph is alone."""

    def mentions(self, _name: str, _root: Path) -> Sequence[str]:
        """Nothing is known."""
        return ()

    def outside(self, _symbol: str, _root: Path) -> Sequence[str]:
        """Nothing is known."""
        return ()


class ProjectFacts(Protocol):
    """All files' facts, read on demand."""

    def paths(self) -> Collection[str]:
        """Every indexed file, of any language, relative to the root."""

    def facts(self, path: str) -> FileFacts | None:
        """The facts of one file; None when it is not there or its resolver has none."""

    def interface(self, path: str) -> object:
        """The interface of one file alone, cheaper than all its facts; None when it has none."""

    def language(self, path: str) -> str:
        """The language of one file; empty when it is not there."""

    def named(self, name: str) -> Collection[NamedSymbol]:
        """Every symbol of a name. Who asks depends on `@name`: on any definition so named coming, going or changing."""


class Resolver(Protocol):
    """One language family: facts out of a parsed file, then references out of all facts."""

    languages: frozenset[str]

    @property
    def codec(self) -> Codec:
        """How its facts are written and read."""

    def extract(self, file: ParsedFile) -> FileFacts:
        """Facts about one file, independent of all others."""

    def resolve(self, project: ProjectFacts, paths: Collection[str]) -> Iterator[Resolution]:
        """Resolve the named files against the whole project."""
