"""API descriptions in PostgreSQL: tables and search. The other queries are in `store.apis`.

Units are partitioned by API. The high bits of a unit id are the id of the API, which determines the partition.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.store.apis import UNIT_COLUMNS, ApiDescriptions, UnitMatch, unit_match
from deltos.store.migration import Migration
from deltos.store.postgres.posting_index import (
    ITEM_BITS,
    PostingIndex,
    ids_of_owner,
    owner_of,
    owners_of,
    partitioned_table_sql,
    stemmed_terms,
)
from deltos.store.postgres.rows import copy_rows
from deltos.store.postgres.statements import PostgresStatements, PostgresWriteConnection

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deltos.store.apis import NewUnit
    from deltos.store.postgres.database import Connection, PostgresDatabase
    from deltos.store.statements import WriteConnection

UNIT_WORDS = PostingIndex("api_unit", ("names", "title", "tags", "description", "details"), stemmed_terms)
APIS_001 = Migration(
    "apis-001",
    f"""
    CREATE TABLE api (
        id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        name text COLLATE "C" NOT NULL,
        source_name text COLLATE "C" NOT NULL,
        source text NOT NULL,
        citation text NOT NULL,
        overview bytea NOT NULL,
        operations bigint NOT NULL,
        schemas bigint NOT NULL,
        webhooks bigint NOT NULL,
        warnings bytea NOT NULL,
        indexed_at double precision NOT NULL
    );
    CREATE UNIQUE INDEX api_by_name ON api (lower(name COLLATE "C"));
    CREATE INDEX api_by_source ON api (lower(source_name COLLATE "C"));
    CREATE SEQUENCE api_unit_number AS bigint MAXVALUE {2**ITEM_BITS - 1};
    {
        partitioned_table_sql(
            "api_unit",
            "api",
            '''
            api integer NOT NULL,
            id bigint NOT NULL,
            kind text NOT NULL,
            key text NOT NULL,
            pointer text NOT NULL,
            title text NOT NULL,
            grouping_name text NOT NULL,
            method text NOT NULL,
            path text NOT NULL,
            tags bytea NOT NULL,
            deprecated boolean NOT NULL,
            names text,
            words_title text,
            words_tags text,
            description text,
            details text,
            body bytea NOT NULL,
            PRIMARY KEY (api, id)
            ''',
        )
    }
    CREATE INDEX api_unit_by_pointer ON api_unit (api, md5(pointer));
    CREATE INDEX api_unit_by_key ON api_unit (api, md5(key));
    {UNIT_WORDS.create_sql}
    CREATE TABLE api_unread (
        number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        source text COLLATE "C" NOT NULL,
        document text COLLATE "C" NOT NULL,
        reason text NOT NULL
    );
    CREATE INDEX api_unread_by_source ON api_unread (md5(source));
    """,
)

# This migration deletes the units (such as operations) of removed APIs, because earlier versions kept the units if the
# caller had few permissions.
APIS_002 = Migration(
    "apis-002",
    "DELETE FROM api_unit WHERE api NOT IN (SELECT id FROM api);"
    " DELETE FROM api_unit_vector WHERE (key >> 32)::integer NOT IN (SELECT id FROM api);"
    + "".join(
        f" DELETE FROM api_unit_{table} WHERE owner NOT IN (SELECT id FROM api);"
        for table in ("posting", "term", "total")
    ),
)
APIS_003 = Migration("apis-003", """ALTER TABLE api ADD COLUMN projects text NOT NULL DEFAULT '["*"]';""")
# This migration gives the columns the same names as in SQLite. Hash indexes accept texts of any length.
APIS_004 = Migration(
    "apis-004",
    """
    ALTER TABLE api_unit RENAME COLUMN api TO api_id;
    ALTER TABLE api_unit RENAME COLUMN grouping_name TO grouping;
    DROP INDEX api_unit_by_pointer;
    DROP INDEX api_unit_by_key;
    CREATE INDEX api_unit_by_pointer ON api_unit USING hash (pointer);
    CREATE INDEX api_unit_by_key ON api_unit USING hash (key);
    """,
)

_MATCH_COLUMNS = (
    ", ".join(f"u.{name}" for name in UNIT_COLUMNS.split(", "))
    + ", a.name, u.names, u.words_title, u.words_tags, u.description, u.details"
)


class PostgresApis(ApiDescriptions):
    """API descriptions that all servers of a database share."""

    def __init__(self, database: PostgresDatabase) -> None:
        super().__init__(PostgresStatements(database))
        self._database = database

    def _lock(self, connection: WriteConnection) -> None:
        connection.execute("SELECT pg_advisory_xact_lock(hashtext('deltos apis'))")

    def _delete_units(self, connection: WriteConnection, api_id: int) -> None:
        connection.execute("DELETE FROM api_unit WHERE api_id = ?", (api_id,))
        connection.execute("DELETE FROM api_unit_vector WHERE key BETWEEN ? AND ?", ids_of_owner(api_id))
        UNIT_WORDS.remove_owner(_postgres_connection(connection), api_id)

    def _insert_units(self, connection: WriteConnection, api_id: int, units: Sequence[NewUnit]) -> None:
        copying = _postgres_connection(connection)
        numbered = list(zip(_next_ids(copying, api_id, len(units)), units, strict=True))
        columns = f"{UNIT_COLUMNS}, api_id, body, names, words_title, words_tags, description, details"
        copy_rows(
            copying,
            f"api_unit ({columns})",
            (*("text",) * 7, "bytea", "bool", "int8", "int4", "bytea", *("text",) * 5),
            (
                (*unit.row[:-2], bool(unit.row.deprecated), unit_id, api_id, unit.body, *(unit.words or (None,) * 5))
                for unit_id, unit in numbered
            ),
        )
        awaited = [unit_id for unit_id, unit in numbered if unit.row.kind != "fragment"]
        copying.execute("INSERT INTO api_unit_vector (key) SELECT unnest(%s::bigint[])", (awaited,))
        words = [UNIT_WORDS.words_of(unit_id, unit.words) for unit_id, unit in numbered if unit.words]
        UNIT_WORDS.add(copying, api_id, words)

    def body(self, unit_id: int) -> bytes:
        sql = "SELECT body FROM api_unit WHERE api_id = ? AND id = ?"
        rows = self._statements.query(sql, (owner_of(unit_id), unit_id))
        return rows[0][0] if rows else b""

    def search(
        self,
        words: tuple[str, ...],
        weights: Sequence[float],
        *,
        api_id: int | None,
        kinds: Sequence[str],
        limit: int,
        excluded_apis: Sequence[int] = (),
    ) -> list[UnitMatch]:
        with self._database.snapshot():
            scope = self._apis_to_search(api_id, excluded_apis)
            of_kinds = """EXISTS (SELECT 1 FROM api_unit u WHERE u.api_id = ANY(%s) AND u.api_id = g.owner
                AND u.id = g.item AND u.kind = ANY(%s))"""
            best = UNIT_WORDS.best_items(
                self._database,
                words,
                scope,
                weights,
                limit=limit,
                where=of_kinds if kinds else "true",
                values=(scope, list(kinds)) if kinds else (),
            )
            return self._read_matches(dict(best), scope, ())

    def units_by_id(
        self, unit_ids: Sequence[int], *, api_id: int | None, kinds: Sequence[str], excluded_apis: Sequence[int] = ()
    ) -> list[UnitMatch]:
        with self._database.snapshot():
            return self._read_matches(dict.fromkeys(unit_ids, 0.0), self._apis_to_search(api_id, excluded_apis), kinds)

    def _apis_to_search(self, api_id: int | None, excluded_apis: Sequence[int]) -> list[int]:
        """Return the ids of the APIs to search. Queries list these ids, so that PostgreSQL reads only their
        partitions."""
        known = [api_id] if api_id is not None else [row[0] for row in self._database.query("SELECT id FROM api")]
        return [each for each in known if each not in set(excluded_apis)]

    def _read_matches(self, scores: dict[int, float], scope: Sequence[int], kinds: Sequence[str]) -> list[UnitMatch]:
        owners = [owner for owner in owners_of(scores) if owner in set(scope)]
        query = f"""SELECT {_MATCH_COLUMNS} FROM api_unit u JOIN api a ON a.id = u.api_id
            WHERE u.api_id = ANY(%s) AND u.id = ANY(%s) AND u.names IS NOT NULL AND (%s OR u.kind = ANY(%s))"""
        rows = self._database.query(query, (owners, list(scores), not kinds, list(kinds)))
        units = {row[9]: unit_match(row, scores[row[9]]) for row in rows}
        return [units[unit_id] for unit_id in scores if unit_id in units]

    def document_frequencies(self, stems: Sequence[str]) -> dict[str, int]:
        return UNIT_WORDS.frequencies(self._database, stems)

    def _count_indexed(self) -> int:
        return UNIT_WORDS.count(self._database)


def _postgres_connection(connection: WriteConnection) -> Connection:
    """Return the connection that PostgreSQL's bulk inserts use."""
    assert isinstance(connection, PostgresWriteConnection)  # noqa: S101 (`PostgresStatements` created it)
    return connection.connection


def _next_ids(connection: Connection, api_id: int, count: int) -> list[int]:
    rows = connection.execute(
        "SELECT nextval('api_unit_number') FROM generate_series(1, %s) ORDER BY 1", (count,)
    ).fetchall()
    return [(api_id << ITEM_BITS) + row[0] for row in rows]
