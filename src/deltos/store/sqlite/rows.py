"""SQLite implementation of the rows of one project: one file contains the rows of one project only."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

from deltos.store.project_rows import ProjectRows
from deltos.store.sqlite.code import SqliteChunkTerms
from deltos.store.sqlite.database import connect_read_only
from deltos.store.sqlite.word_index import SqliteWordIndex

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from deltos.store.project_rows import Query, Row
    from deltos.store.sqlite.database import SqliteDatabase
    from deltos.store.version import Version
    from deltos.store.word_index import WordTable

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class SqliteRowSource:
    """Implementation of `store.project_rows.RowSource` with the path of the file."""

    path: Path
    is_remote = False

    def connect(self) -> Query:
        connection = connect_read_only(self.path)
        return lambda sql, *values: connection.execute(_translate(sql), _bind(values)).fetchall()


class SqliteRows(ProjectRows):
    """Implementation of `store.project_rows.ProjectRows` for a project file."""

    def __init__(self, database: SqliteDatabase) -> None:
        super().__init__()
        self.database = database

    def _read(self, sql: str, values: Sequence[object]) -> list[Row]:
        return self.database.read().execute(_translate(sql), _bind(values)).fetchall()

    def execute(self, sql: str, *values: object) -> int:
        return self.database.read().execute(_translate(sql), _bind(values)).rowcount

    def insert(self, table: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
        marks = ", ".join("?" * len(columns))
        self.database.read().executemany(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})", rows)

    def update(self, table: str, key: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
        assignments = ", ".join(f"{column} = ?" for column in columns)
        sql = f"UPDATE {table} SET {assignments} WHERE {key} = ?"
        self.database.read().executemany(sql, [(*values, row_key) for row_key, *values in rows])

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        self.flush()
        with self.database.snapshot():
            yield

    def version(self) -> Version:
        return self.database.version()

    def cached(self, name: str, read: Callable[[], _T]) -> _T:
        self.flush()
        return self.database.cached(name, lambda _: read())

    def words(self, table: WordTable) -> SqliteWordIndex:
        return SqliteWordIndex(self, table)

    def chunk_terms(self) -> SqliteChunkTerms:
        return SqliteChunkTerms(self.database)

    def source(self) -> SqliteRowSource:
        return SqliteRowSource(self.database.path)

    def translating_errors(self) -> AbstractContextManager[object]:
        return self.database.errors


@lru_cache(maxsize=1_000)
def _translate(sql: str) -> str:
    # A list is passed as one JSON value, because the number of bound values of a statement is limited.
    return sql.replace(" IN ?", " IN (SELECT value FROM json_each(?))")


def _bind(values: Sequence[object]) -> list[Any]:
    """Return values as SQLite accepts them. A list becomes JSON."""
    return [json.dumps(list(value)) if isinstance(value, (list, tuple, set, frozenset)) else value for value in values]
