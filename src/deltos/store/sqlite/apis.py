"""API descriptions in SQLite: tables in the library file, and search. The other queries are in `store.apis`."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

from deltos.store.apis import (
    SELECT_UNREADABLE,
    UNIT_COLUMNS,
    ApiDescriptions,
    UnitMatch,
    UnreadableDocument,
    unit_match,
)
from deltos.store.migration import Migration
from deltos.store.sqlite.database import connect_read_only
from deltos.store.sqlite.fts_query import any_of
from deltos.store.sqlite.statements import SqliteStatements

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from deltos.store.apis import NewUnit
    from deltos.store.sqlite.database import SqliteDatabase
    from deltos.store.statements import WriteConnection

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

_MATCH_COLUMNS = (
    ", ".join(f"unit.{name}" for name in UNIT_COLUMNS.split(", "))
    + ", api.name, names, api_words.title, api_words.tags, description, details"
)
_MATCH_TABLES = "api_words JOIN api_unit AS unit ON unit.id = api_words.rowid JOIN api ON api.id = unit.api_id"
_WORD_COLUMNS = ("names", "title", "tags", "description", "details")


class SqliteApis(ApiDescriptions):
    """API descriptions in a library file."""

    def __init__(self, database: SqliteDatabase) -> None:
        super().__init__(SqliteStatements(database))
        self._database = database

    def _lock(self, connection: WriteConnection) -> None:
        """Do nothing, because a write transaction locks the whole file."""

    def _delete_units(self, connection: WriteConnection, api_id: int) -> None:
        connection.execute("DELETE FROM api_words WHERE rowid IN (SELECT id FROM api_unit WHERE api_id = ?)", (api_id,))
        connection.execute("DELETE FROM api_unit WHERE api_id = ?", (api_id,))

    def _insert_units(self, connection: WriteConnection, api_id: int, units: Sequence[NewUnit]) -> None:
        next_id = connection.execute("SELECT coalesce(max(id), 0) + 1 FROM api_unit").fetchone()[0]
        numbered = list(enumerate(units, start=next_id))
        connection.executemany(
            f"INSERT INTO api_unit ({UNIT_COLUMNS}, api_id, body) VALUES ({', '.join('?' * 12)})",
            [(*unit.row[:-1], unit_id, api_id, unit.body) for unit_id, unit in numbered],
        )
        connection.executemany(
            "INSERT INTO api_words (rowid, names, title, tags, description, details) VALUES (?, ?, ?, ?, ?, ?)",
            [(unit_id, *unit.words) for unit_id, unit in numbered if unit.words is not None],
        )

    def body(self, unit_id: int) -> bytes:
        rows = self._statements.query("SELECT body FROM api_unit WHERE id = ?", (unit_id,))
        return bytes(rows[0][0]) if rows else b""

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
        return [unit_match(row, row[16]) for row in rows]

    def units_by_id(
        self, unit_ids: Sequence[int], *, api_id: int | None, kinds: Sequence[str], excluded_apis: Sequence[int] = ()
    ) -> list[UnitMatch]:
        where, values = _unit_filter(api_id, kinds, excluded_apis)
        marks = ", ".join("?" * len(unit_ids))
        query = f"SELECT {_MATCH_COLUMNS}, 0.0 FROM {_MATCH_TABLES} WHERE unit.id IN ({marks}) {where}"
        rows = self._database.read().execute(query, (*unit_ids, *values))
        by_id = {unit.row.id: unit for unit in (unit_match(row, 0.0) for row in rows)}
        return [by_id[unit_id] for unit_id in unit_ids if unit_id in by_id]

    def document_frequencies(self, stems: Sequence[str]) -> dict[str, int]:
        marks = ", ".join("?" * len(stems))
        return dict(self._statements.query(f"SELECT term, doc FROM api_vocabulary WHERE term IN ({marks})", stems))

    def _count_indexed(self) -> int:
        # The rows of a small table of the word index are counted, because counting the large table of units is slow.
        return int(self._statements.query("SELECT count(*) FROM api_words_docsize")[0][0])


def read_unreadable_documents(path: Path) -> list[UnreadableDocument]:
    """Return the unreadable documents recorded in a library file, or an empty list if the file cannot be read."""
    try:
        with closing(connect_read_only(path)) as connection:
            return list(map(UnreadableDocument._make, connection.execute(SELECT_UNREADABLE)))
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
