"""The result of a review, as plain data for every output format."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from deltos.federation.review.declarations import Declaration

ChangeKind = Literal["added", "removed", "signature", "body", "module"]
ADDED: Literal["added"] = "added"
REMOVED: Literal["removed"] = "removed"
SIGNATURE: Literal["signature"] = "signature"
BODY: Literal["body"] = "body"
MODULE: Literal["module"] = "module"


@dataclass(frozen=True, slots=True)
class SymbolChange:
    """A definition that differs between two versions of a file, or (kind `module`) changed code outside definitions.

    `line` is in the current version, or in the former version if the definition was removed. `breaks` are the reasons
    why users of the public API may fail. `moved_to` is the new location of a removed definition.
    """

    kind: ChangeKind
    path: str
    label: str
    line: int
    language: str = ""
    path_before: str = ""
    before: Declaration | None = None
    after: Declaration | None = None
    is_public: bool = False
    breaks: tuple[str, ...] = ()
    moved_to: str = ""

    @property
    def name(self) -> str:
        """Last part of the qualified name."""
        return self.label.rpartition(".")[2]

    @property
    def location(self) -> str:
        """Source location as `path:line`."""
        return f"{self.path}:{self.line}"


@dataclass(frozen=True, slots=True)
class BrokenCaller:
    """A call that is invalid for a changed signature. `is_certain` is false if the receiver's type is unknown."""

    path: str
    line: int
    caller: str
    callee: str
    reason: str
    is_certain: bool = True


@dataclass(frozen=True, slots=True)
class Dependant:
    """A symbol that depends on a changed symbol through a chain of `distance` references."""

    path: str
    line: int
    label: str
    distance: int


@dataclass(frozen=True, slots=True)
class TestToRun:
    """A test file that may cover the change. `tests` are the dependent definitions in the file, nearest first."""

    path: str
    tests: tuple[Dependant, ...]
    score: float
    commits_together: int = 0
    is_changed: bool = False


@dataclass(frozen=True, slots=True)
class MissingChange:
    """An unchanged file that usually changes together with a changed file."""

    path: str
    changed_path: str
    together: int
    changes: int


@dataclass(frozen=True, slots=True)
class Mention:
    """A mention of a changed symbol. `place` is a source location in documentation, or the id of an observation."""

    place: str
    label: str
    text: str
    is_observation: bool = False


@dataclass(frozen=True, slots=True)
class Review:
    """All findings about a change. `tests` are sorted by score, and the first `recommended` tests should be run."""

    base: str
    head: str
    changed_files: tuple[str, ...]
    changes: tuple[SymbolChange, ...] = ()
    callers: tuple[BrokenCaller, ...] = ()
    affected: tuple[Dependant, ...] = ()
    tests: tuple[TestToRun, ...] = ()
    recommended: int = 0
    test_file_count: int = 0
    missing: tuple[MissingChange, ...] = ()
    mentions: tuple[Mention, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def breaking(self) -> tuple[SymbolChange, ...]:
        """Changes that break the public API."""
        return tuple(change for change in self.changes if change.breaks)

    @property
    def is_breaking(self) -> bool:
        """Whether the change breaks the public API, or definitely breaks a caller."""
        return bool(self.breaking) or any(caller.is_certain for caller in self.callers)
