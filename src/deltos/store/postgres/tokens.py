"""Access tokens in PostgreSQL: table and queries. Only hashes of secrets are stored."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from deltos.confinement import whole_store
from deltos.store.migration import Migration
from deltos.store.tokens import StoredToken, with_renamed_workspace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from psycopg import Connection

    from deltos.store.postgres.database import PostgresDatabase

_COLUMNS = "id, name, secret_hash, level, projects, created_at, expires_at, revoked_at"
TOKENS_001 = Migration(
    "tokens-001",
    """
    CREATE TABLE access_token (
        id text COLLATE "C" PRIMARY KEY,
        name text COLLATE "C" NOT NULL,
        secret_hash bytea NOT NULL,
        level text NOT NULL,
        projects text NOT NULL,
        created_at bigint NOT NULL,
        expires_at bigint,
        revoked_at bigint
    );
    """,
)


class PostgresTokens:
    """Implements `store.tokens.TokenRecords`, shared by all servers of the database."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    def add(self, token: StoredToken) -> None:
        row = (
            token.id, token.name, token.secret_hash, token.level, json.dumps(token.projects),
            token.created_at, token.expires_at, token.revoked_at,
        )  # fmt: skip
        with self._database.write() as connection:
            connection.execute(f"INSERT INTO access_token ({_COLUMNS}) VALUES (%s, %s, %s, %s, %s, %s, %s, %s)", row)

    def get(self, token_id: str) -> StoredToken | None:
        rows = self._database.query(f"SELECT {_COLUMNS} FROM access_token WHERE id = %s", (token_id,))
        return _token(rows[0]) if rows else None

    @whole_store()
    def all(self) -> list[StoredToken]:
        rows = self._database.query(f"SELECT {_COLUMNS} FROM access_token ORDER BY created_at, id")
        return [_token(row) for row in rows]

    def revoke(self, token_id: str, moment: int) -> bool:
        sql = "UPDATE access_token SET revoked_at = %s WHERE id = %s AND revoked_at IS NULL"
        with self._database.write() as connection:
            return bool(connection.execute(sql, (moment, token_id)).rowcount)

    def close(self) -> None:
        pass


def rename_in_tokens(connection: Connection[Any], name: str, new_name: str) -> int:
    """Within a transaction, rename a workspace in all tokens; return the number of changed tokens."""
    rows = connection.execute("SELECT id, projects FROM access_token FOR UPDATE").fetchall()
    renamed = [
        (json.dumps(after), token_id)
        for token_id, projects in rows
        if (after := with_renamed_workspace(before := json.loads(projects), name, new_name)) != tuple(before)
    ]
    for row in renamed:
        connection.execute("UPDATE access_token SET projects = %s WHERE id = %s", row)
    return len(renamed)


def _token(row: Sequence[Any]) -> StoredToken:
    token_id, name, secret_hash, level, projects, *times = row
    return StoredToken(token_id, name, secret_hash, level, tuple(json.loads(projects)), *times)
