"""What is kept of workspaces: named sets of project folders."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class StoredWorkspace:
    """A name for several folders, which are real paths in the order in which they were added."""

    name: str
    roots: tuple[str, ...]


class WorkspaceRecords(Protocol):
    """The workspaces of one data folder. Names that differ in case alone are the same."""

    def all(self) -> list[StoredWorkspace]:
        """Every workspace, by name."""

    def get(self, name: str) -> StoredWorkspace | None:
        """The workspace of this name."""

    def add(self, name: str, roots: Sequence[str]) -> list[str]:
        """Put folders into a workspace, which is made when there is none; those that were not in it before."""

    def remove(self, name: str, roots: Sequence[str]) -> list[str]:
        """Take folders out of a workspace, which is gone when none is left; those that were in it."""

    def close(self) -> None:
        """Let go of them."""
