"""Data types of the code graph: edges, imports, and the base class for information from other domains."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from deltos.store.history import ChangedTogether
    from deltos.store.symbols import Symbol


EdgeKind: TypeAlias = str
"""Kind of an edge: import, call, inherit, type, decorate, read, write, token, unparsed, or `THROUGH` with a type."""
ImportMode = Literal["runtime", "type", "deferred"]


ALIAS = "alias"
"""Origin of an edge whose line uses a different name than its target, such as an import alias or a macro."""
UNPARSED_MACRO: Final = "token"
"""Edge kind of an unresolved name inside a macro whose content is not parsed as code."""
UNPARSED: Final = "unparsed"
"""Edge kind of an unresolved name in code that cannot be parsed."""
THROUGH: Final = "through "
"""Prefix of the edge kind of a member use whose receiver has a type of another package; the type's name follows."""
MAX_TARGETS = 256
"""Maximum number of targets per use; a use with more targets is stored only by its name."""


class Edge(Struct, frozen=True, gc=False):
    """A reference from a source line to a symbol, which may be in another file.

    An empty `source_key` or `target_key` means the module itself. If the target of a possible edge is not known,
    `target_path` is empty and `target_key` is a name that may refer to any symbol with this name. `origin` states how
    the target was determined, such as `name` or `alias`.
    """

    line: int
    source_key: str
    target_path: str
    target_key: str
    kind: EdgeKind
    origin: str
    certain: bool = True


class Import(Struct, frozen=True, gc=False):
    """An import of another file of the project. `mode` states when the import takes effect."""

    line: int
    target_path: str
    mode: ImportMode


class Surroundings:
    """Information about a symbol that other domains add to an answer. This base class provides none."""

    def mention_sections(self, name: str, root: Path, /) -> Sequence[str]:  # noqa: ARG002
        """Return documentation and observations that mention a project symbol."""
        return ()

    def package_sections(self, symbol: str, root: Path, /) -> Sequence[str]:  # noqa: ARG002
        """Return sections about a symbol of an installed package, or an empty sequence if it is unknown."""
        return ()

    def recent_commits(self, symbol: Symbol, root: Path, /) -> Sequence[str]:  # noqa: ARG002
        """Return the latest commits that changed a symbol's lines."""
        return ()

    def files_changed_with(self, path: str, root: Path, /) -> Sequence[ChangedTogether]:  # noqa: ARG002
        """Return the files that often change together with a file, most frequent first."""
        return ()
