"""Vector tables in SQLite: one per kind of record, with the model of each vector.

A trigger deletes the vector of a deleted record.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltos.store.migration import Migration
from deltos.store.sqlite.lock import try_lock
from deltos.store.vectors import StoredVector, Unembedded

if TYPE_CHECKING:
    from collections.abc import Iterable
    from contextlib import AbstractContextManager

    from deltos.store.sqlite.database import SqliteDatabase


@dataclass(frozen=True, slots=True)
class SqliteVectorOwner:
    """Table whose records have vectors, with SQL for the key, text and index words of its records.

    If `is_awaited` is true, the vector table has a row without a model for each record that must still be embedded.
    """

    table: str
    key: str
    texts: str
    is_awaited: bool = False

    @property
    def vectors(self) -> str:
        """Name of the vector table."""
        return f"{self.table}_vector"

    @property
    def unembedded(self) -> str:
        """SQL for the first ?3 records with a key above ?1 that have no vector of model ?2 or model ?4."""
        if self.is_awaited:  # the `+` before `key` makes SQLite read both ranges from the index on model
            return f"""SELECT t.* FROM (
                    SELECT key FROM {self.vectors} WHERE (model < ?2 OR model > ?2) AND (model <> ?4 OR ?4 = '')
                    AND +key > ?1 ORDER BY +key LIMIT ?3
                ) v CROSS JOIN ({self.texts}) t ON t.{self.key} = v.key"""
        return f"""SELECT * FROM ({self.texts}) t WHERE t.{self.key} > ?1 AND NOT EXISTS
                (SELECT 1 FROM {self.vectors} v WHERE v.key = t.{self.key} AND v.model IN (?2, ?4))
            ORDER BY t.{self.key} LIMIT ?3"""

    @property
    def is_there(self) -> str:
        """SQL that returns the key ?1 if that record may have a vector."""
        if self.is_awaited:
            return f"SELECT key FROM {self.vectors} WHERE key = ?1"
        return f"SELECT {self.key} AS key FROM {self.table} WHERE {self.key} = ?1"


DOCS_CHUNKS = SqliteVectorOwner(
    "docs_chunk",
    "id",
    # The heading counts twice, because it names the topic of the section.
    "SELECT c.id, c.section || char(10) || c.text,"
    " w.trail || ' ' || w.heading || ' ' || w.heading || ' ' || w.body"
    " FROM docs_chunk c CROSS JOIN docs_words w ON w.rowid = c.id",  # CROSS JOIN keeps the order, so no sorting
)
API_UNITS = SqliteVectorOwner(
    "api_unit",
    "id",
    # Title and names count twice.
    "SELECT rowid AS id,"
    " title || ' ' || title || ' ' || names || ' ' || names || ' ' || description || ' ' || details, '' FROM api_words",
    is_awaited=True,
)
OBSERVATIONS = SqliteVectorOwner(
    "observation", "place", "SELECT place, text, '' FROM live_observation", is_awaited=True
)


def migration(owner: SqliteVectorOwner) -> Migration:
    """Return the migration that creates the vector table of an owner."""
    return Migration(
        f"{owner.table}-vectors-001",
        f"""
        CREATE TABLE {owner.vectors} (
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            key INTEGER NOT NULL UNIQUE,
            model TEXT NOT NULL,
            data BLOB NOT NULL
        );
        CREATE INDEX {owner.vectors}_by_model ON {owner.vectors} (model, number);
        CREATE TRIGGER {owner.vectors}_leaves AFTER DELETE ON {owner.table} BEGIN
            DELETE FROM {owner.vectors} WHERE key = old.{owner.key};
        END;
        """,
    )


DOCS_VECTORS = migration(DOCS_CHUNKS)
API_VECTORS = Migration(
    "api_unit-vectors-001",
    """
    CREATE TABLE api_unit_vector (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        key INTEGER NOT NULL UNIQUE,
        model TEXT NOT NULL DEFAULT '',
        data BLOB NOT NULL DEFAULT x''
    );
    CREATE INDEX api_unit_vector_by_model ON api_unit_vector (model, number);
    INSERT INTO api_unit_vector (key) SELECT id FROM api_unit WHERE kind <> 'fragment';
    CREATE TRIGGER api_unit_vector_wanted AFTER INSERT ON api_unit WHEN new.kind <> 'fragment' BEGIN
        INSERT INTO api_unit_vector (key) VALUES (new.id);
    END;
    CREATE TRIGGER api_unit_vector_leaves AFTER DELETE ON api_unit BEGIN
        DELETE FROM api_unit_vector WHERE key = old.id;
    END;
    """,
)


class SqliteVectors:
    """Implementation of `store.vectors.VectorRecords` for one table of records."""

    def __init__(self, database: SqliteDatabase, owner: SqliteVectorOwner) -> None:
        self._database = database
        self._owner = owner

    def unembedded(self, model: str, *, after: int, limit: int, alternative_model: str = "") -> list[Unembedded]:
        rows = self._database.read().execute(self._owner.unembedded, (after, model, limit, alternative_model))
        return [Unembedded(*row) for row in rows]

    def try_lock(self) -> AbstractContextManager[bool]:
        return try_lock(self._database.path.with_suffix(f".{self._owner.vectors}.lock"))

    def write(self, model: str, vectors: Iterable[tuple[int, bytes]]) -> None:
        owner = self._owner
        with self._database.write() as connection:
            connection.executemany(
                f"INSERT OR REPLACE INTO {owner.vectors} (key, model, data) SELECT key, ?2, ?3 FROM ({owner.is_there})",
                [(key, model, data) for key, data in vectors],
            )

    def since(self, model: str, number: int) -> list[StoredVector]:
        rows = self._database.read().execute(
            f"SELECT number, key, data FROM {self._owner.vectors} WHERE number > ? AND model = ? ORDER BY number",
            (number, model),
        )
        return [StoredVector(*row) for row in rows]

    def count(self, model: str) -> int:
        row = (
            self._database.read()
            .execute(f"SELECT COUNT(*) FROM {self._owner.vectors} WHERE model = ?", (model,))
            .fetchone()
        )
        found: int = row[0]
        return found

    def numbers(self, model: str) -> set[int]:
        rows = self._database.read().execute(f"SELECT number FROM {self._owner.vectors} WHERE model = ?", (model,))
        return {row[0] for row in rows}
