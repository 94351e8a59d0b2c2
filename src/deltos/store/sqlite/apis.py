"""API descriptions in SQLite: tables in the library file, and all queries.

A unit is one operation, webhook, schema or fragment of a description. The body of a unit is encoded content.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from deltos.store.apis import ApiRow, NewUnit, UnitMatch, UnitRow, UnitWords, UnreadableDocument
from deltos.store.migration import Migration
from deltos.store.sqlite.database import connect_read_only
from deltos.store.sqlite.fts_query import any_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from deltos.store.sqlite.database import SqliteDatabase

MIGRATIONS = (
    Migration(
        "apis-1",
        """
        CREATE TABLE api (
            id INTEGER PRIMARY KEY,
            name TEXT NOT NULL UNIQUE COLLATE NOCASE,
            source_name TEXT NOT NULL COLLATE NOCASE,
            source TEXT NOT NULL,
            citation TEXT NOT NULL,
            overview BLOB NOT NULL,
            operations INTEGER NOT NULL,
            schemas INTEGER NOT NULL,
            webhooks INTEGER NOT NULL,
            warnings BLOB NOT NULL,
            indexed_at REAL NOT NULL
        );
        CREATE INDEX api_by_source ON api (source_name);
        CREATE TABLE api_unit (
            id INTEGER PRIMARY KEY,
            api_id INTEGER NOT NULL REFERENCES api (id) ON DELETE CASCADE,
            kind TEXT NOT NULL,
            key TEXT NOT NULL,
            pointer TEXT NOT NULL,
            title TEXT NOT NULL,
            grouping TEXT NOT NULL,
            method TEXT NOT NULL,
            path TEXT NOT NULL,
            tags BLOB NOT NULL,
            deprecated INTEGER NOT NULL,
            body BLOB NOT NULL
        );
        CREATE INDEX api_unit_by_pointer ON api_unit (api_id, pointer);
        CREATE VIRTUAL TABLE api_words USING fts5 (
            names, title, tags, description, details, tokenize = 'porter unicode61 remove_diacritics 2'
        );
        CREATE VIRTUAL TABLE api_vocabulary USING fts5vocab (api_words, 'row');
        """,
    ),
)
APIS_002 = Migration(
    "apis-2",
    """
    CREATE TABLE api_unread (
        source TEXT NOT NULL,
        document TEXT NOT NULL,
        reason TEXT NOT NULL,
        PRIMARY KEY (source, document)
    ) WITHOUT ROWID;
    """,
)
APIS_003 = Migration("apis-3", """ALTER TABLE api ADD COLUMN projects TEXT NOT NULL DEFAULT '["*"]';""")

_UNIT_COLUMNS = "kind, key, pointer, title, grouping, method, path, tags, deprecated, id"
_MATCH_COLUMNS = (
    ", ".join(f"unit.{name}" for name in _UNIT_COLUMNS.split(", "))
    + ", api.name, names, api_words.title, api_words.tags, description, details"
)
_MATCH_TABLES = "api_words JOIN api_unit AS unit ON unit.id = api_words.rowid JOIN api ON api.id = unit.api_id"
_WORD_COLUMNS = ("names", "title", "tags", "description", "details")
_CALLABLE_KINDS = "('operation', 'webhook')"
_SELECT_UNREADABLE = "SELECT source, document, reason FROM api_unread ORDER BY source, document"


_API_FIELDS = tuple(field.name for field in fields(ApiRow) if field.name != "id")
_API_COLUMNS = ", ".join(_API_FIELDS)


class SqliteApis:
    """Implementation of `store.apis.ApiDescriptions` in a library file."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    def snapshot(self) -> AbstractContextManager[object]:
        return self._database.snapshot()

    def replace(self, api: ApiRow, units: Iterable[NewUnit]) -> None:
        with self._database.write() as connection:
            _delete_api(connection, api.name)
            marks = ", ".join("?" * len(_API_FIELDS))
            cursor = connection.execute(
                f"INSERT INTO api ({_API_COLUMNS}) VALUES ({marks})",
                [getattr(api, name) for name in _API_FIELDS],
            )
            _insert_units(connection, cursor.lastrowid or 0, units)

    def remove(self, name: str) -> bool:
        with self._database.write() as connection:
            removed = _delete_api(connection, name)
            connection.execute("DELETE FROM api_unread WHERE source NOT IN (SELECT source FROM api)")
            return removed

    def replace_unreadable(self, source: str, rows: Iterable[UnreadableDocument]) -> None:
        with self._database.write() as connection:
            connection.execute("DELETE FROM api_unread WHERE source = ?", (source,))
            connection.executemany("INSERT OR REPLACE INTO api_unread VALUES (?, ?, ?)", rows)

    def unreadable_documents(self) -> list[UnreadableDocument]:
        return list(map(UnreadableDocument._make, self._database.read().execute(_SELECT_UNREADABLE)))

    def apis(self) -> list[ApiRow]:
        rows = self._database.read().execute(f"SELECT {_API_COLUMNS}, id FROM api ORDER BY name")
        return [ApiRow(*row) for row in rows]

    def api(self, name: str) -> ApiRow | None:
        rows = self._database.read().execute(f"SELECT {_API_COLUMNS}, id FROM api WHERE name = ?", (name,))
        row = rows.fetchone()
        return ApiRow(*row) if row else None

    def apis_of_source(self, source_name: str) -> list[ApiRow]:
        query = f"SELECT {_API_COLUMNS}, id FROM api WHERE source_name = ? ORDER BY name"
        return [ApiRow(*row) for row in self._database.read().execute(query, (source_name,))]

    def set_projects(self, source_name: str, projects: str) -> None:
        with self._database.write() as connection:
            connection.execute("UPDATE api SET projects = ? WHERE source_name = ?", (projects, source_name))

    def units(self, api_id: int, kinds: Sequence[str]) -> list[UnitRow]:
        marks = ", ".join("?" * len(kinds))
        query = f"SELECT {_UNIT_COLUMNS} FROM api_unit WHERE api_id = ? AND kind IN ({marks}) ORDER BY id"
        return [UnitRow(*row) for row in self._database.read().execute(query, (api_id, *kinds))]

    def unit_ids(self, api_id: int) -> list[int]:
        # This query reads only the index on `pointer`, because the rows of the table contain large bodies.
        return [row[0] for row in self._database.read().execute("SELECT id FROM api_unit WHERE api_id = ?", (api_id,))]

    def overview_ids(self) -> dict[str, int]:
        query = """SELECT api.name, unit.id FROM api CROSS JOIN api_unit AS unit
            ON unit.api_id = api.id AND unit.pointer = '#' AND unit.kind = 'overview'"""
        return dict(self._database.read().execute(query).fetchall())

    def unit(self, api_id: int, key: str) -> UnitRow | None:
        query = f"SELECT {_UNIT_COLUMNS} FROM api_unit WHERE api_id = ? AND key = ? AND kind <> 'fragment'"
        row = self._database.read().execute(query, (api_id, key)).fetchone()
        return UnitRow(*row) if row else None

    def body(self, unit_id: int) -> bytes:
        row = self._database.read().execute("SELECT body FROM api_unit WHERE id = ?", (unit_id,)).fetchone()
        return bytes(row[0]) if row else b""

    def target(self, api_id: int, pointer: str) -> bytes | None:
        kinds = "('schema', 'message', 'fragment')"
        query = f"SELECT body FROM api_unit WHERE api_id = ? AND pointer = ? AND kind IN {kinds}"
        row = self._database.read().execute(query, (api_id, pointer)).fetchone()
        return bytes(row[0]) if row else None

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
        where, values = _unit_filter(api_id, kinds, excluded_apis)
        ranking = ", ".join(str(float(weight)) for weight in weights)
        query = (
            f"SELECT {_MATCH_COLUMNS}, -bm25(api_words, {ranking}) AS score FROM {_MATCH_TABLES} "
            f"WHERE api_words MATCH ? {where} ORDER BY score DESC, unit.id LIMIT ?"
        )
        searched = [name for name, weight in zip(_WORD_COLUMNS, weights, strict=True) if weight]
        match = any_of(words) if len(searched) == len(weights) else f"{{{' '.join(searched)}}} : ({any_of(words)})"
        rows = self._database.read().execute(query, (match, *values, limit))
        return [_unit_match(row) for row in rows]

    def units_by_id(
        self, unit_ids: Sequence[int], *, api_id: int | None, kinds: Sequence[str], excluded_apis: Sequence[int] = ()
    ) -> list[UnitMatch]:
        where, values = _unit_filter(api_id, kinds, excluded_apis)
        marks = ", ".join("?" * len(unit_ids))
        query = f"SELECT {_MATCH_COLUMNS}, 0.0 FROM {_MATCH_TABLES} WHERE unit.id IN ({marks}) {where}"
        rows = self._database.read().execute(query, (*unit_ids, *values))
        by_id = {unit.row.id: unit for unit in map(_unit_match, rows)}
        return [by_id[unit_id] for unit_id in unit_ids if unit_id in by_id]

    def document_frequencies(self, stems: Sequence[str]) -> dict[str, int]:
        marks = ", ".join("?" * len(stems))
        query = f"SELECT term, doc FROM api_vocabulary WHERE term IN ({marks})"
        return dict(self._database.read().execute(query, tuple(stems)).fetchall())

    def count_searchable(self, api_id: int | None = None) -> int:
        if api_id is None:  # rows of a small table of the index are counted, because the table of units is large
            query, values = "SELECT count(*) FROM api_words_docsize", tuple[int, ...]()
        else:
            query, values = "SELECT count(*) FROM api_unit WHERE kind <> 'fragment' AND api_id = ?", (api_id,)
        return int(self._database.read().execute(query, values).fetchone()[0])


def read_unreadable_documents(path: Path) -> list[UnreadableDocument]:
    """Return the unreadable documents recorded in a library file, or an empty list if the file cannot be read."""
    try:
        with closing(connect_read_only(path)) as connection:
            return list(map(UnreadableDocument._make, connection.execute(_SELECT_UNREADABLE)))
    except sqlite3.Error:  # the file is damaged or too old to contain this table
        return []


def _unit_filter(api_id: int | None, kinds: Sequence[str], excluded_apis: Sequence[int]) -> tuple[str, list[object]]:
    """Return an SQL condition that selects units by API and kind, and the bound values."""
    where, values = "", list[object]()
    if api_id is not None:
        where += " AND unit.api_id = ?"
        values.append(api_id)
    if excluded_apis:
        where += f" AND unit.api_id NOT IN ({', '.join('?' * len(excluded_apis))})"
        values.extend(excluded_apis)
    if kinds:
        where += f" AND unit.kind IN ({', '.join('?' * len(kinds))})"
        values.extend(kinds)
    return where, values


def _unit_match(row: tuple[Any, ...]) -> UnitMatch:
    return UnitMatch(UnitRow(*row[:10]), row[10], UnitWords(*row[11:16]), row[16])


def _delete_api(connection: sqlite3.Connection, name: str) -> bool:
    row = connection.execute("SELECT id FROM api WHERE name = ?", (name,)).fetchone()
    if row is None:
        return False
    connection.execute("DELETE FROM api_words WHERE rowid IN (SELECT id FROM api_unit WHERE api_id = ?)", row)
    connection.execute("DELETE FROM api_unit WHERE api_id = ?", row)
    connection.execute("DELETE FROM api WHERE id = ?", row)
    return True


def _insert_units(connection: sqlite3.Connection, api_id: int, units: Iterable[NewUnit]) -> None:
    next_id = connection.execute("SELECT coalesce(max(id), 0) + 1 FROM api_unit").fetchone()[0]
    numbered = list(enumerate(units, start=next_id))
    connection.executemany(
        f"INSERT INTO api_unit ({_UNIT_COLUMNS}, api_id, body) VALUES ({', '.join('?' * 12)})",
        ((*unit.row[:-1], unit_id, api_id, unit.body) for unit_id, unit in numbered),
    )
    connection.executemany(
        "INSERT INTO api_words (rowid, names, title, tags, description, details) VALUES (?, ?, ?, ?, ?, ?)",
        ((unit_id, *unit.words) for unit_id, unit in numbered if unit.words is not None),
    )
