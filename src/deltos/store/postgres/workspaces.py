"""Workspaces in PostgreSQL: table and queries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.store.migration import Migration
from deltos.store.postgres.tokens import rename_in_tokens
from deltos.store.workspaces import StoredWorkspace, check_rename

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from deltos.store.postgres.database import PostgresDatabase

WORKSPACES_001 = Migration(
    "workspaces-001",
    """
    CREATE TABLE workspace_member (
        number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        workspace text COLLATE "C" NOT NULL,
        root text COLLATE "C" NOT NULL
    );
    CREATE UNIQUE INDEX workspace_member_once ON workspace_member (lower(workspace), md5(root));
    """,
)
_NAMED = "lower(workspace) = lower(%s)"


class PostgresWorkspaces:
    """Implements `store.workspaces.WorkspaceRecords`, shared by all servers of the database."""

    def __init__(self, opened: Callable[[], PostgresDatabase]) -> None:
        self._opened = opened

    def all(self) -> list[StoredWorkspace]:
        return self._read("ORDER BY lower(workspace), number", ())

    def get(self, name: str) -> StoredWorkspace | None:
        return next(iter(self._read(f"WHERE {_NAMED} ORDER BY number", (name,))), None)

    def add(self, name: str, roots: Sequence[str]) -> list[str]:
        with self._opened().write() as connection:
            # Without the lock, two concurrent inserts could store one workspace under two spellings of its name.
            connection.execute("LOCK TABLE workspace_member IN SHARE ROW EXCLUSIVE MODE")
            sql = f"SELECT workspace FROM workspace_member WHERE {_NAMED} LIMIT 1"
            known = connection.execute(sql, (name,)).fetchone()
            sql = "INSERT INTO workspace_member (workspace, root) VALUES (%s, %s) ON CONFLICT DO NOTHING"
            return [root for root in roots if connection.execute(sql, (known[0] if known else name, root)).rowcount]

    def remove(self, name: str, roots: Sequence[str]) -> list[str]:
        with self._opened().write() as connection:
            sql = f"DELETE FROM workspace_member WHERE {_NAMED} AND root = %s"
            return [root for root in roots if connection.execute(sql, (name, root)).rowcount]

    def rename(self, name: str, new_name: str) -> int:
        with self._opened().write() as connection:
            connection.execute("LOCK TABLE workspace_member IN SHARE ROW EXCLUSIVE MODE")
            check_rename(self.get(name), self.get(new_name), name, new_name)
            connection.execute(f"UPDATE workspace_member SET workspace = %s WHERE {_NAMED}", (new_name, name))
            return rename_in_tokens(connection, name, new_name)

    def close(self) -> None:
        pass

    def _read(self, condition: str, values: tuple[str, ...]) -> list[StoredWorkspace]:
        roots: dict[str, list[str]] = {}
        for name, root in self._opened().query(f"SELECT workspace, root FROM workspace_member {condition}", values):
            roots.setdefault(name, []).append(root)
        return [StoredWorkspace(name, tuple(inside)) for name, inside in roots.items()]
