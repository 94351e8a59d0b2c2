"""The nouns of the code graph: edges, imports, and what other domains know about a symbol."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, Protocol

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from deltos.store.history import ChangedTogether
    from deltos.store.symbols import Symbol


EdgeKind = Literal["import", "call", "inherit", "type", "decorate", "read", "write", "token", "unparsed"]
ImportMode = Literal["runtime", "type", "deferred"]


ALIAS = "alias"
"""The origin of an edge whose line has another name than its target: `from m import f as g` … `g()`, a macro."""
UNREAD: Final = "token"
"""The kind of a name inside a macro whose content is not read as code; kept where it is not known what it means."""
UNPARSED: Final = "unparsed"
"""The kind of a name in code that cannot be parsed, where it is not known what it means."""
MOST_TARGETS = 256
"""Definitions that one use may mean. Beyond, which one is not told: it is kept as a use of that name."""


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


class Surroundings(Protocol):
    """What other domains know about a symbol, as sections of an answer."""

    def mentions(self, name: str, root: Path, /) -> Sequence[str]:
        """Documentation and observations that mention a symbol of the project."""

    def outside(self, symbol: str, root: Path, /) -> Sequence[str]:
        """What is known about a symbol that the project does not define; nothing when nobody knows it."""

    def past(self, symbol: Symbol, root: Path, /) -> Sequence[str]:
        """The last commits of a symbol's lines."""

    def changed_with(self, path: str, root: Path, /) -> Sequence[ChangedTogether]:
        """The files that usually change when a file does, most often first."""


class NoSurroundings:
    """Stands in where the graph is alone."""

    def mentions(self, _name: str, _root: Path) -> Sequence[str]:
        """Nothing is known."""
        return ()

    def outside(self, _symbol: str, _root: Path) -> Sequence[str]:
        """Nothing is known."""
        return ()

    def past(self, _symbol: Symbol, _root: Path) -> Sequence[str]:
        """Nothing is known."""
        return ()

    def changed_with(self, _path: str, _root: Path) -> Sequence[ChangedTogether]:
        """Nothing is known."""
        return ()
