"""Table of access tokens in PostgreSQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.store.migration import Migration
from deltos.store.postgres.statements import PostgresStatements
from deltos.store.tokens import TokenRecords

if TYPE_CHECKING:
    from deltos.store.postgres.database import PostgresDatabase

TOKEN_TABLE = "access_token"  # noqa: S105 - a table name
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


class PostgresTokens(TokenRecords):
    """Access tokens that all servers of a database share."""

    def __init__(self, database: PostgresDatabase) -> None:
        super().__init__(PostgresStatements(database), TOKEN_TABLE)
