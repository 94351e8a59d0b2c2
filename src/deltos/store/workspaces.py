"""What is kept of workspaces: named sets of project folders."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from deltos.errors import BadArgument, NotFound

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

    def rename(self, name: str, new_name: str) -> int:
        """Call a workspace otherwise, and so in the tokens that are for it; how many these are. Raises NotFound where
        there is none of this name, and BadArgument where another one has the new name."""

    def close(self) -> None:
        """Let go of them."""


def check_rename(held: StoredWorkspace | None, taken: StoredWorkspace | None, name: str, new_name: str) -> None:
    """Refuse to rename what is not there, or to a name that another workspace has."""
    if held is None:
        raise NotFound(f"There is no workspace '{name}'")
    if taken is not None and taken.name != held.name:
        raise BadArgument(f"There is a workspace '{taken.name}' already", hint=f"Choose another name than {new_name}.")
