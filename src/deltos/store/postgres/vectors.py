"""Tables of embedding vectors in PostgreSQL: one per kind of record, with the model of each vector.

Code that deletes a record also deletes the vector. All vectors of a model are compared in memory, so these tables are
not partitioned.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltos.confinement import whole_store
from deltos.store.migration import Migration
from deltos.store.postgres.memory.rows import projects_of
from deltos.store.postgres.posting_index import owners_of
from deltos.store.vectors import StoredVector, Unembedded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from deltos.store.postgres.database import Connection, PostgresDatabase
    from deltos.store.postgres.memory.rows import Query


@dataclass(frozen=True, slots=True)
class PostgresVectorOwner:
    """Table whose records have vectors. `texts` is SQL for the key, text and index words of the records `t`.

    `find_partitions` returns the values of the partition column for some keys. If `tracks_unembedded` is true, the
    vector table has a row without a model for each record without a vector.
    """

    table: str
    key: str
    partition: str
    find_partitions: Callable[[Query, Sequence[int]], list[int]]
    texts: str
    tracks_unembedded: bool = False

    @property
    def vector_table(self) -> str:
        """Name of the vector table."""
        return f"{self.table}_vector"

    @property
    def create_sql(self) -> str:
        """SQL that creates the vector table."""
        return f"""
            CREATE SEQUENCE {self.vector_table}_number AS bigint;
            CREATE TABLE {self.vector_table} (
                key bigint PRIMARY KEY,
                number bigint NOT NULL DEFAULT nextval('{self.vector_table}_number'),
                model text COLLATE "C" NOT NULL DEFAULT '',
                data bytea NOT NULL DEFAULT ''
            );
            CREATE INDEX {self.vector_table}_by_model ON {self.vector_table} (model, number);
        """


def _owners_in_keys(_query: Query, keys: Sequence[int]) -> list[int]:
    return owners_of(keys)


DOCS_CHUNKS = PostgresVectorOwner(
    "docs_chunk",
    "id",
    "source",
    _owners_in_keys,
    # The heading is repeated to double the weight, because it states the topic of the section.
    "SELECT t.id, t.section || chr(10) || t.text,"
    " t.trail_words || ' ' || t.heading_words || ' ' || t.heading_words || ' ' || t.body_words FROM docs_chunk t"
    " WHERE t.body_words IS NOT NULL",
)
API_UNITS = PostgresVectorOwner(
    "api_unit",
    "id",
    "api_id",
    _owners_in_keys,
    # Title and names are repeated to double the weight of these words.
    "SELECT t.id, t.words_title || ' ' || t.words_title || ' ' || t.names || ' ' || t.names || ' ' || t.description"
    " || ' ' || t.details, '' FROM api_unit t WHERE t.names IS NOT NULL",
    tracks_unembedded=True,
)
OBSERVATIONS = PostgresVectorOwner(
    "observation",
    "place",
    "project",
    projects_of,
    "SELECT t.place, t.text, '' FROM observation t WHERE t.deleted_at IS NULL",
    tracks_unembedded=True,
)
LIBRARY_VECTORS_001 = Migration("library-vectors-001", DOCS_CHUNKS.create_sql + API_UNITS.create_sql)


class PostgresVectors:
    """Implementation of `store.vectors.VectorRecords` for one table of records.

    A process loads the vectors of all records for all callers. The best-matching records are then read by key with the
    permissions of the caller.
    """

    def __init__(self, database: PostgresDatabase, owner: PostgresVectorOwner) -> None:
        self._database = database
        self._owner = owner

    @whole_store()
    def unembedded(self, model: str, *, after: int, limit: int) -> list[Unembedded]:
        with self._database.snapshot():
            find = self._keys_without_data if self._owner.tracks_unembedded else self._keys_without_vector
            keys = find(model, after, limit)
            texts = self._read_texts(keys)
        return [texts[key] for key in keys if key in texts]

    def _keys_without_data(self, model: str, after: int, limit: int) -> list[int]:
        """Return the keys of rows in the vector table that do not contain a vector of `model`."""
        table = self._owner.vector_table  # MATERIALIZED makes PostgreSQL use the index on `model`
        rows = self._database.query(
            f"""WITH waiting AS MATERIALIZED (
                    SELECT key FROM {table} WHERE model < %s UNION ALL SELECT key FROM {table} WHERE model > %s
                ) SELECT key FROM waiting WHERE key > %s ORDER BY key LIMIT %s""",
            (model, model, after, limit),
        )
        return [row[0] for row in rows]

    def _keys_without_vector(self, model: str, after: int, limit: int) -> list[int]:
        """Return the keys of indexed records that have no vector of a model."""
        rows = self._database.query(
            f"""SELECT t.id FROM {self._owner.table} t WHERE t.id > %s AND t.body_words IS NOT NULL AND NOT EXISTS
                (SELECT 1 FROM {self._owner.vector_table} v WHERE v.key = t.id AND v.model = %s) ORDER BY t.id
                LIMIT %s""",
            (after, model, limit),
        )
        return [row[0] for row in rows]

    def _read_texts(self, keys: list[int]) -> dict[int, Unembedded]:
        owner, query = self._owner, self._database.query
        rows = query(
            f"{owner.texts} AND t.{owner.partition} = ANY(%s) AND t.{owner.key} = ANY(%s)",
            (owner.find_partitions(query, keys), keys),
        )
        return {row[0]: Unembedded(*row) for row in rows}

    @whole_store()
    def write(self, model: str, vectors: Iterable[tuple[int, bytes]]) -> None:
        given = dict(vectors)
        table = self._owner.vector_table
        with self._database.write() as connection:
            # Only one writer runs at a time, so that a reader that sees a number also sees all smaller numbers.
            connection.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", (f"deltos {table}",))
            keys = self._existing_keys(connection, list(given))
            connection.execute(
                f"""INSERT INTO {table} (key, model, data) SELECT key, %s, data
                    FROM unnest(%s::bigint[], %s::bytea[]) AS n (key, data) ORDER BY key
                    ON CONFLICT (key) DO UPDATE
                    SET number = nextval('{table}_number'), model = excluded.model, data = excluded.data""",
                (model, keys, [given[key] for key in keys]),
            )

    def _existing_keys(self, connection: Connection, keys: list[int]) -> list[int]:
        """Return the keys of records that exist and are not being deleted."""
        if self._owner.tracks_unembedded:
            sql = f"SELECT key FROM {self._owner.vector_table} WHERE key = ANY(%s) ORDER BY key FOR UPDATE SKIP LOCKED"
            rows = connection.execute(sql, (keys,)).fetchall()
        else:
            sql = f"""SELECT id FROM {self._owner.table} WHERE source = ANY(%s) AND id = ANY(%s) ORDER BY id
                      FOR KEY SHARE SKIP LOCKED"""
            rows = connection.execute(sql, (owners_of(keys), keys)).fetchall()
        return [row[0] for row in rows]

    @whole_store()
    def since(self, model: str, number: int) -> list[StoredVector]:
        rows = self._database.query(
            f"SELECT number, key, data FROM {self._owner.vector_table}"
            " WHERE number > %s AND model = %s ORDER BY number",
            (number, model),
        )
        return [StoredVector(*row) for row in rows]

    @whole_store()
    def count(self, model: str) -> int:
        [(count,)] = self._database.query(f"SELECT count(*) FROM {self._owner.vector_table} WHERE model = %s", (model,))
        return int(count)

    @whole_store()
    def numbers(self, model: str) -> set[int]:
        rows = self._database.query(f"SELECT number FROM {self._owner.vector_table} WHERE model = %s", (model,))
        return {row[0] for row in rows}
