"""Table of workspaces in PostgreSQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.store.migration import Migration
from deltos.store.postgres.statements import PostgresStatements
from deltos.store.postgres.tokens import TOKEN_TABLE
from deltos.store.tokens import rename_in_tokens
from deltos.store.workspaces import WorkspaceRecords

if TYPE_CHECKING:
    from collections.abc import Callable

    from deltos.store.postgres.database import PostgresDatabase
    from deltos.store.statements import WriteConnection

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


class PostgresWorkspaces(WorkspaceRecords):
    """Workspaces that all servers of a database share."""

    table = "workspace_member"

    def __init__(self, opened: Callable[[], PostgresDatabase]) -> None:
        self._opened = opened

    def close(self) -> None:
        pass

    def _open(self, *, may_create: bool) -> PostgresStatements:  # noqa: ARG002 - the database exists
        return PostgresStatements(self._opened())

    def _lock(self, connection: WriteConnection) -> None:
        # Without this lock, two concurrent inserts could store a workspace under two spellings of its name.
        connection.execute("LOCK TABLE workspace_member IN SHARE ROW EXCLUSIVE MODE")

    def _rename_in_tokens(self, connection: WriteConnection, name: str, new_name: str) -> int:
        return rename_in_tokens(connection, TOKEN_TABLE, name, new_name)
