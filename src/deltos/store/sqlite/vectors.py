"""Tables of embedding vectors in SQLite: one per kind of record, with the model of each vector.

A trigger deletes the vector of a deleted record.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltos.store.migration import Migration
from deltos.store.vectors import StoredVector, Unembedded

if TYPE_CHECKING:
    from collections.abc import Iterable

    from deltos.store.sqlite.database import SqliteDatabase


@dataclass(frozen=True, slots=True)
class SqliteVectorOwner:
    """Table whose records have vectors. `texts_query` selects the key, text and index words of the records.

    If `tracks_unembedded` is true, the vector table has a row without a model for each record without a vector.
    """

    table: str
    key: str
    texts_query: str
    tracks_unembedded: bool = False

    @property
    def vector_table(self) -> str:
        """Name of the vector table."""
        return f"{self.table}_vector"

    @property
    def unembedded_query(self) -> str:
        """SQL query for up to ?3 records with a key above ?1 that have no vector of model ?2."""
        if self.tracks_unembedded:  # the `+` before `key` makes SQLite read both ranges from the index on model
            return f"""SELECT t.* FROM (
                    SELECT key FROM {self.vector_table} WHERE (model < ?2 OR model > ?2) AND +key > ?1
                    ORDER BY +key LIMIT ?3
                ) v CROSS JOIN ({self.texts_query}) t ON t.{self.key} = v.key"""
        return f"""SELECT * FROM ({self.texts_query}) t WHERE t.{self.key} > ?1 AND NOT EXISTS
                (SELECT 1 FROM {self.vector_table} v WHERE v.key = t.{self.key} AND v.model = ?2)
            ORDER BY t.{self.key} LIMIT ?3"""

    @property
    def key_query(self) -> str:
        """SQL query that returns the key ?1 if the record may have a vector, and otherwise no row."""
        if self.tracks_unembedded:
            return f"SELECT key FROM {self.vector_table} WHERE key = ?1"
        return f"SELECT {self.key} AS key FROM {self.table} WHERE {self.key} = ?1"


DOCS_CHUNKS = SqliteVectorOwner(
    "docs_chunk",
    "id",
    # The heading is repeated to double the weight, because it states the topic of the section.
    "SELECT c.id, c.section || char(10) || c.text,"
    " w.trail || ' ' || w.heading || ' ' || w.heading || ' ' || w.body"
    " FROM docs_chunk c CROSS JOIN docs_words w ON w.rowid = c.id",  # CROSS JOIN avoids sorting by key
)
API_UNITS = SqliteVectorOwner(
    "api_unit",
    "id",
    # Title and names are repeated to double the weight of these words.
    "SELECT rowid AS id,"
    " title || ' ' || title || ' ' || names || ' ' || names || ' ' || description || ' ' || details, '' FROM api_words",
    tracks_unembedded=True,
)
OBSERVATIONS = SqliteVectorOwner(
    "observation", "place", "SELECT place, text, '' FROM live_observation", tracks_unembedded=True
)


def create_migration(owner: SqliteVectorOwner) -> Migration:
    """Return the migration that creates the vector table for a table of records."""
    return Migration(
        f"{owner.table}-vectors-001",
        f"""
        CREATE TABLE {owner.vector_table} (
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            key INTEGER NOT NULL UNIQUE,
            model TEXT NOT NULL,
            data BLOB NOT NULL
        );
        CREATE INDEX {owner.vector_table}_by_model ON {owner.vector_table} (model, number);
        CREATE TRIGGER {owner.vector_table}_leaves AFTER DELETE ON {owner.table} BEGIN
            DELETE FROM {owner.vector_table} WHERE key = old.{owner.key};
        END;
        """,
    )


DOCS_VECTORS = create_migration(DOCS_CHUNKS)
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

    def unembedded(self, model: str, *, after: int, limit: int) -> list[Unembedded]:
        rows = self._database.read().execute(self._owner.unembedded_query, (after, model, limit))
        return [Unembedded(*row) for row in rows]

    def write(self, model: str, vectors: Iterable[tuple[int, bytes]]) -> None:
        owner = self._owner
        with self._database.write() as connection:
            connection.executemany(
                f"INSERT OR REPLACE INTO {owner.vector_table} (key, model, data)"
                f" SELECT key, ?2, ?3 FROM ({owner.key_query})",
                [(key, model, data) for key, data in vectors],
            )

    def since(self, model: str, number: int) -> list[StoredVector]:
        rows = self._database.read().execute(
            f"SELECT number, key, data FROM {self._owner.vector_table} WHERE number > ? AND model = ? ORDER BY number",
            (number, model),
        )
        return [StoredVector(*row) for row in rows]

    def count(self, model: str) -> int:
        row = (
            self._database.read()
            .execute(f"SELECT COUNT(*) FROM {self._owner.vector_table} WHERE model = ?", (model,))
            .fetchone()
        )
        found: int = row[0]
        return found

    def numbers(self, model: str) -> set[int]:
        rows = self._database.read().execute(f"SELECT number FROM {self._owner.vector_table} WHERE model = ?", (model,))
        return {row[0] for row in rows}
