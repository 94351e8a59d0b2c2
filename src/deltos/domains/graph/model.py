"""Data types of the code graph: edges, imports, and the protocol by which other domains add to answers."""

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
"""Origin of an edge whose line has another name than its target: `from m import f as g` … `g()`, or a macro."""
UNPARSED_MACRO: Final = "token"
"""Kind of an unresolved name inside a macro whose content is not parsed as code."""
UNPARSED: Final = "unparsed"
"""Kind of an unresolved name in code that cannot be parsed."""
MAX_TARGETS = 256
"""Maximum number of targets of one use; a use with more is stored as a use of the name only."""


class Edge(Struct, frozen=True, gc=False):
    """A reference from a line of one file to a symbol of any file; an empty key is the module itself.

    A possible edge may have an empty path: then `target_key` is a bare name and may refer to any symbol with that name.
    """

    line: int
    source_key: str
    target_path: str
    target_key: str
    kind: EdgeKind
    origin: str
    certain: bool = True


class Import(Struct, frozen=True, gc=False):
    """An import of another file of the project, with the time when it takes effect."""

    line: int
    target_path: str
    mode: ImportMode


class Surroundings(Protocol):
    """Information of other domains about a symbol, as sections of an answer."""

    def mentions(self, name: str, root: Path, /) -> Sequence[str]:
        """Return documentation and observations that mention a symbol of the project."""

    def outside(self, symbol: str, root: Path, /) -> Sequence[str]:
        """Return information about a symbol that the project does not define; empty if there is none."""

    def past(self, symbol: Symbol, root: Path, /) -> Sequence[str]:
        """Return the last commits of a symbol's lines."""

    def changed_with(self, path: str, root: Path, /) -> Sequence[ChangedTogether]:
        """Return the files that often change together with a file, most often first."""


class NoSurroundings:
    """Implementation of `Surroundings` without other domains."""

    def mentions(self, _name: str, _root: Path) -> Sequence[str]:
        """Return nothing."""
        return ()

    def outside(self, _symbol: str, _root: Path) -> Sequence[str]:
        """Return nothing."""
        return ()

    def past(self, _symbol: Symbol, _root: Path) -> Sequence[str]:
        """Return nothing."""
        return ()

    def changed_with(self, _path: str, _root: Path) -> Sequence[ChangedTogether]:
        """Return nothing."""
        return ()
