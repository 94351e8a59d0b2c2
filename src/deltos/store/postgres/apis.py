"""API descriptions in PostgreSQL: tables and queries. A unit is one operation, webhook, schema or fragment.

Units are partitioned by API. The high bits of a unit id are the id of the API, which determines the partition.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from deltos.store.apis import ApiRow, NewUnit, UnitMatch, UnitRow, UnitWords, UnreadableDocument
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

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from contextlib import AbstractContextManager

    from deltos.store.postgres.database import Connection, PostgresDatabase

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

# This migration deletes the units of removed APIs. Callers with few permissions could only delete the API itself.
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

_UNIT_COLUMNS = "kind, key, pointer, title, grouping_name, method, path, tags, deprecated, id"
_MATCH_COLUMNS = (
    ", ".join(f"u.{name}" for name in _UNIT_COLUMNS.split(", "))
    + ", a.name, u.names, u.words_title, u.words_tags, u.description, u.details"
)
_CALLABLE_KINDS = "('operation', 'webhook')"
_API_FIELDS = tuple(field.name for field in fields(ApiRow) if field.name != "id")
_API_COLUMNS = ", ".join(_API_FIELDS)
_BY_NAME = 'ORDER BY lower(name COLLATE "C")'
_NAME_CONDITION = 'lower(name COLLATE "C") = lower(%s COLLATE "C")'
_LOCK_APIS = "SELECT pg_advisory_xact_lock(hashtext('deltos apis'))"


class PostgresApis:
    """Implementation of `store.apis.ApiDescriptions`."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    def snapshot(self) -> AbstractContextManager[object]:
        return self._database.snapshot()

    def replace(self, api: ApiRow, units: Iterable[NewUnit]) -> None:
        with self._database.write() as connection:
            connection.execute(_LOCK_APIS)
            _delete_api(connection, api.name)
            marks = ", ".join(["%s"] * len(_API_FIELDS))
            row = connection.execute(
                f"INSERT INTO api ({_API_COLUMNS}) VALUES ({marks}) RETURNING id",
                [getattr(api, name) for name in _API_FIELDS],
            ).fetchone()
            _insert_units(connection, row[0] if row else 0, list(units))

    def remove(self, name: str) -> bool:
        with self._database.write() as connection:
            connection.execute(_LOCK_APIS)
            removed = _delete_api(connection, name)
            connection.execute("DELETE FROM api_unread WHERE source NOT IN (SELECT source FROM api)")
            return removed

    def replace_unreadable(self, source: str, rows: Iterable[UnreadableDocument]) -> None:
        unread = {(row.source, row.document): row for row in rows}
        with self._database.write() as connection:
            connection.execute(_LOCK_APIS)
            for each in {source, *(row.source for row in unread.values())}:
                documents = [row.document for row in unread.values() if row.source == each]
                connection.execute(
                    "DELETE FROM api_unread WHERE md5(source) = md5(%s) AND source = %s AND (%s OR document = ANY(%s))",
                    (each, each, each == source, documents),
                )
            with connection.cursor() as cursor:
                cursor.executemany(
                    "INSERT INTO api_unread (source, document, reason) VALUES (%s, %s, %s)", list(unread.values())
                )

    def unreadable_documents(self) -> list[UnreadableDocument]:
        rows = self._database.query("SELECT source, document, reason FROM api_unread ORDER BY source, document")
        return list(map(UnreadableDocument._make, rows))

    def apis(self) -> list[ApiRow]:
        return [ApiRow(*row) for row in self._database.query(f"SELECT {_API_COLUMNS}, id FROM api {_BY_NAME}")]

    def api(self, name: str) -> ApiRow | None:
        rows = self._database.query(f"SELECT {_API_COLUMNS}, id FROM api WHERE {_NAME_CONDITION}", (name,))
        return ApiRow(*rows[0]) if rows else None

    def apis_of_source(self, source_name: str) -> list[ApiRow]:
        of_source = 'lower(source_name COLLATE "C") = lower(%s COLLATE "C")'
        query = f"SELECT {_API_COLUMNS}, id FROM api WHERE {of_source} {_BY_NAME}"
        return [ApiRow(*row) for row in self._database.query(query, (source_name,))]

    def set_projects(self, source_name: str, projects: str) -> None:
        with self._database.write() as connection:
            connection.execute(
                'UPDATE api SET projects = %s WHERE lower(source_name COLLATE "C") = lower(%s COLLATE "C")',
                (projects, source_name),
            )

    def units(self, api_id: int, kinds: Sequence[str]) -> list[UnitRow]:
        query = f"SELECT {_UNIT_COLUMNS} FROM api_unit WHERE api = %s AND kind = ANY(%s) ORDER BY id"
        return [UnitRow(*row) for row in self._database.query(query, (api_id, list(kinds)))]

    def unit_ids(self, api_id: int) -> list[int]:
        return [row[0] for row in self._database.query("SELECT id FROM api_unit WHERE api = %s", (api_id,))]

    def overview_ids(self) -> dict[str, int]:
        query = """SELECT a.name, u.id FROM api a JOIN api_unit u ON u.api = a.id
            AND md5(u.pointer) = md5('#') AND u.pointer = '#' AND u.kind = 'overview'"""
        return dict(self._database.query(query))

    def unit(self, api_id: int, key: str) -> UnitRow | None:
        query = f"""SELECT {_UNIT_COLUMNS} FROM api_unit
            WHERE api = %s AND md5(key) = md5(%s) AND key = %s AND kind <> 'fragment' ORDER BY id LIMIT 1"""
        rows = self._database.query(query, (api_id, key, key))
        return UnitRow(*rows[0]) if rows else None

    def body(self, unit_id: int) -> bytes:
        rows = self._database.query(
            "SELECT body FROM api_unit WHERE api = %s AND id = %s", (owner_of(unit_id), unit_id)
        )
        return rows[0][0] if rows else b""

    def target(self, api_id: int, pointer: str) -> bytes | None:
        query = """SELECT body FROM api_unit WHERE api = %s AND md5(pointer) = md5(%s) AND pointer = %s
            AND kind IN ('schema', 'message', 'fragment') ORDER BY id LIMIT 1"""
        rows = self._database.query(query, (api_id, pointer, pointer))
        return rows[0][0] if rows else None

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
            of_kinds = """EXISTS (SELECT 1 FROM api_unit u WHERE u.api = ANY(%s) AND u.api = g.owner AND u.id = g.item
                AND u.kind = ANY(%s))"""
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
        query = f"""SELECT {_MATCH_COLUMNS} FROM api_unit u JOIN api a ON a.id = u.api
            WHERE u.api = ANY(%s) AND u.id = ANY(%s) AND u.names IS NOT NULL AND (%s OR u.kind = ANY(%s))"""
        rows = self._database.query(query, (owners, list(scores), not kinds, list(kinds)))
        units = {row[9]: _unit_match(row, scores[row[9]]) for row in rows}
        return [units[unit_id] for unit_id in scores if unit_id in units]

    def document_frequencies(self, stems: Sequence[str]) -> dict[str, int]:
        return UNIT_WORDS.frequencies(self._database, stems)

    def count_searchable(self, api_id: int | None = None) -> int:
        if api_id is None:
            return UNIT_WORDS.count(self._database)
        query = "SELECT count(*) FROM api_unit WHERE kind <> 'fragment' AND api = %s"
        return int(self._database.query(query, (api_id,))[0][0])


def _unit_match(row: tuple[Any, ...], score: float) -> UnitMatch:
    return UnitMatch(UnitRow(*row[:10]), row[10], UnitWords(*row[11:16]), score)


def _delete_api(connection: Connection, name: str) -> bool:
    row = connection.execute(f"SELECT id FROM api WHERE {_NAME_CONDITION}", (name,)).fetchone()
    if row is None:
        return False
    connection.execute("DELETE FROM api_unit WHERE api = %s", row)
    connection.execute("DELETE FROM api_unit_vector WHERE key BETWEEN %s AND %s", ids_of_owner(row[0]))
    UNIT_WORDS.remove_owner(connection, row[0])
    connection.execute("DELETE FROM api WHERE id = %s", row)  # last, because policies hide units of a deleted API
    return True


def _insert_units(connection: Connection, api_id: int, units: Sequence[NewUnit]) -> None:
    first = _next_ids(connection, api_id, len(units))
    columns = f"{_UNIT_COLUMNS}, api, body, names, words_title, words_tags, description, details"
    copy_rows(
        connection,
        f"api_unit ({columns})",
        (*("text",) * 7, "bytea", "bool", "int8", "int4", "bytea", *("text",) * 5),
        (
            (*unit.row[:-2], bool(unit.row.deprecated), unit_id, api_id, unit.body, *(unit.words or (None,) * 5))
            for unit_id, unit in zip(first, units, strict=True)
        ),
    )
    awaited = [unit_id for unit_id, unit in zip(first, units, strict=True) if unit.row.kind != "fragment"]
    connection.execute("INSERT INTO api_unit_vector (key) SELECT unnest(%s::bigint[])", (awaited,))
    UNIT_WORDS.add(
        connection,
        api_id,
        [UNIT_WORDS.words_of(unit_id, unit.words) for unit_id, unit in zip(first, units, strict=True) if unit.words],
    )


def _next_ids(connection: Connection, api_id: int, count: int) -> list[int]:
    rows = connection.execute(
        "SELECT nextval('api_unit_number') FROM generate_series(1, %s) ORDER BY 1", (count,)
    ).fetchall()
    return [(api_id << ITEM_BITS) + row[0] for row in rows]
