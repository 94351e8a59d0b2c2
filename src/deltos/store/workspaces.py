"""Protocol and rows of workspaces: named sets of project folders."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from deltos.errors import BadArgument, NotFound

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class StoredWorkspace:
    """A named set of folders: real paths in the order in which they were added."""

    name: str
    roots: tuple[str, ...]


class WorkspaceRecords(Protocol):
    """The workspaces of one data folder. Names are compared case-insensitively."""

    def all(self) -> list[StoredWorkspace]:
        """Return every workspace by name."""

    def get(self, name: str) -> StoredWorkspace | None:
        """Return the workspace with this name."""

    def add(self, name: str, roots: Sequence[str]) -> list[str]:
        """Add folders to a workspace, creating it if needed; return the newly added folders."""

    def remove(self, name: str, roots: Sequence[str]) -> list[str]:
        """Remove folders from a workspace, which is deleted when it is empty; return the removed folders."""

    def rename(self, name: str, new_name: str) -> int:
        """Rename a workspace, also in access tokens, and return the number of those tokens.

        Raise NotFound if there is no such workspace, and BadArgument if the new name is taken.
        """

    def close(self) -> None:
        """Close the store."""


def check_rename(held: StoredWorkspace | None, taken: StoredWorkspace | None, name: str, new_name: str) -> None:
    """Raise an error if the workspace to rename does not exist or another one has the new name."""
    if held is None:
        raise NotFound(f"There is no workspace '{name}'")
    if taken is not None and taken.name != held.name:
        raise BadArgument(f"There is a workspace '{taken.name}' already", hint=f"Choose another name than {new_name}.")
