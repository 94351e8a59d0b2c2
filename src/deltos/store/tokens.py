"""Access tokens: row type and queries. Only hashes of secrets are stored."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from deltos.confinement import whole_store

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deltos.store.statements import Statements, WriteConnection

_COLUMNS = "id, name, secret_hash, level, projects, created_at, expires_at, revoked_at"

WORKSPACE_PREFIX = "workspace:"
"""Prefix of the entries in `StoredToken.projects` that name a workspace; other entries are absolute paths."""


@dataclass(frozen=True, slots=True)
class StoredToken:
    """An access token. Times are in seconds since 1970.

    An entry of `projects` is an absolute path or `workspace:NAME`. If `projects` is empty, the token is
    valid for all served projects.
    """

    id: str
    name: str
    secret_hash: bytes
    level: str
    projects: tuple[str, ...]
    created_at: int
    expires_at: int | None = None
    revoked_at: int | None = None


class TokenRecords:
    """Access tokens of a data folder or database, stored in one table of either engine."""

    def __init__(self, statements: Statements, table: str) -> None:
        self._statements = statements
        self._table = table

    def add(self, token: StoredToken) -> None:
        """Store a new token."""
        row = (
            token.id, token.name, token.secret_hash, token.level, json.dumps(token.projects),
            token.created_at, token.expires_at, token.revoked_at,
        )  # fmt: skip
        with self._statements.write() as connection:
            connection.execute(f"INSERT INTO {self._table} ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)

    def get(self, token_id: str) -> StoredToken | None:
        """Return the token with this id, even if it is revoked, or None."""
        rows = self._statements.query(f"SELECT {_COLUMNS} FROM {self._table} WHERE id = ?", (token_id,))
        return _token_from_row(rows[0]) if rows else None

    @whole_store()
    def all(self) -> list[StoredToken]:
        """Return all tokens, oldest first."""
        rows = self._statements.query(f"SELECT {_COLUMNS} FROM {self._table} ORDER BY created_at, id")
        return [_token_from_row(row) for row in rows]

    def revoke(self, token_id: str, moment: int) -> bool:
        """Revoke the token with this id. Return False if there is no such token or it was already revoked."""
        sql = f"UPDATE {self._table} SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL"
        with self._statements.write() as connection:
            return bool(connection.execute(sql, (moment, token_id)).rowcount)

    def rename_workspace(self, name: str, new_name: str) -> int:
        """Rename a workspace in all tokens, and return the number of changed tokens."""
        with self._statements.write() as connection:
            return rename_in_tokens(connection, self._table, name, new_name)

    def close(self) -> None:
        """Close the store."""
        self._statements.close()


def rename_in_tokens(connection: WriteConnection, table: str, name: str, new_name: str) -> int:
    """Rename a workspace in all tokens within a transaction, and return the number of changed tokens."""
    rows = connection.execute(f"SELECT id, projects FROM {table}").fetchall()
    renamed = [
        (json.dumps(after), token_id)
        for token_id, projects in rows
        if (after := with_renamed_workspace(before := json.loads(projects), name, new_name)) != tuple(before)
    ]
    connection.executemany(f"UPDATE {table} SET projects = ? WHERE id = ?", renamed)
    return len(renamed)


def is_for_workspace(token: StoredToken, name: str) -> bool:
    """Whether a token grants access to a workspace. Names are compared case-insensitively."""
    return f"{WORKSPACE_PREFIX}{name}".lower() in (project.lower() for project in token.projects)


def with_renamed_workspace(projects: Sequence[str], name: str, new_name: str) -> tuple[str, ...]:
    """Return a token's projects after renaming a workspace. Names are compared case-insensitively."""
    old = f"{WORKSPACE_PREFIX}{name}".lower()
    renamed = (f"{WORKSPACE_PREFIX}{new_name}" if project.lower() == old else project for project in projects)
    return tuple(dict.fromkeys(renamed))


def _token_from_row(row: Sequence[Any]) -> StoredToken:
    token_id, name, secret_hash, level, projects, *times = row
    return StoredToken(token_id, name, secret_hash, level, tuple(json.loads(projects)), *times)
