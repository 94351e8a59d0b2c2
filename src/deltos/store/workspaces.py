"""Workspaces (named sets of project folders): row type and queries."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltos.errors import BadArgument, NotFound

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from deltos.store.statements import Statements, WriteConnection

_NAME_CONDITION = "lower(workspace) = lower(?)"


@dataclass(frozen=True, slots=True)
class StoredWorkspace:
    """A named set of folders. `roots` are real paths in the order in which they were added."""

    name: str
    roots: tuple[str, ...]


class WorkspaceRecords(ABC):
    """Workspaces of a data folder or database, stored in one table of either engine.

    Names are compared case-insensitively.
    """

    table: str

    @abstractmethod
    def _open(self, *, may_create: bool) -> Statements | None:
        """Return the database, or None if it does not exist and may not be created."""

    @abstractmethod
    def _rename_in_tokens(self, connection: WriteConnection, name: str, new_name: str) -> int:
        """Rename a workspace in all access tokens, and return the number of changed tokens."""

    @abstractmethod
    def close(self) -> None:
        """Close the store."""

    @abstractmethod
    def _lock(self, connection: WriteConnection) -> None:
        """Lock the table against other writers until the transaction ends."""

    def all(self) -> list[StoredWorkspace]:
        """Return all workspaces, ordered by name."""
        return self._read("ORDER BY lower(workspace), number", ())

    def get(self, name: str) -> StoredWorkspace | None:
        """Return the workspace with this name, or None."""
        return next(iter(self._read(f"WHERE {_NAME_CONDITION} ORDER BY number", (name,))), None)

    def add(self, name: str, roots: Sequence[str]) -> list[str]:
        """Add folders to a workspace and return the newly added folders. The workspace is created if needed."""
        with self._write() as connection:
            self._lock(connection)
            sql = f"SELECT workspace FROM {self.table} WHERE {_NAME_CONDITION} LIMIT 1"
            known = connection.execute(sql, (name,)).fetchone()
            sql = f"INSERT INTO {self.table} (workspace, root) VALUES (?, ?) ON CONFLICT DO NOTHING"
            return [root for root in roots if connection.execute(sql, (known[0] if known else name, root)).rowcount]

    def remove(self, name: str, roots: Sequence[str]) -> list[str]:
        """Remove folders from a workspace, and return the removed folders. An empty workspace is deleted."""
        sql = f"DELETE FROM {self.table} WHERE {_NAME_CONDITION} AND root = ?"
        with self._write() as connection:
            return [root for root in roots if connection.execute(sql, (name, root)).rowcount]

    def rename(self, name: str, new_name: str) -> int:
        """Rename a workspace, including in access tokens, and return the number of changed tokens.

        Raise NotFound if there is no such workspace, and BadArgument if the new name is taken.
        """
        with self._write() as connection:
            self._lock(connection)
            check_rename(self.get(name), self.get(new_name), name, new_name)
            connection.execute(f"UPDATE {self.table} SET workspace = ? WHERE {_NAME_CONDITION}", (new_name, name))
            return self._rename_in_tokens(connection, name, new_name)

    def _write(self) -> AbstractContextManager[WriteConnection]:
        opened = self._open(may_create=True)
        assert opened  # noqa: S101 - it was created
        return opened.write()

    def _read(self, condition: str, values: tuple[str, ...]) -> list[StoredWorkspace]:
        opened = self._open(may_create=False)
        rows = opened.query(f"SELECT workspace, root FROM {self.table} {condition}", values) if opened else []
        roots: dict[str, list[str]] = {}
        for name, root in rows:
            roots.setdefault(name, []).append(root)
        return [StoredWorkspace(name, tuple(inside)) for name, inside in roots.items()]


def check_rename(held: StoredWorkspace | None, taken: StoredWorkspace | None, name: str, new_name: str) -> None:
    """Raise an error if the workspace to rename does not exist, or if the new name is taken by another workspace."""
    if held is None:
        raise NotFound(f"There is no workspace '{name}'")
    if taken is not None and taken.name != held.name:
        raise BadArgument(f"A workspace '{taken.name}' already exists", hint=f"Choose a name other than {new_name}.")
