"""What a reader of a language promises: facts out of one file, then references out of all facts."""

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

    A dependency that is no path is one of those in `dependencies`.
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
