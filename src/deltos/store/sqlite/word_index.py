"""SQLite implementation of inverted indexes, with FTS5."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.store.sqlite.fts_query import any_of, any_single_or_pair
from deltos.store.word_index import EVERY_ROW

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

    from deltos.store.sqlite.rows import SqliteRows
    from deltos.store.word_index import RowCondition, WordTable

_MAX_COUNTS_PER_STATEMENT = 500  # SQLite limits the number of columns of a statement


class SqliteWordIndex:
    """Implementation of `store.word_index.WordIndex` with an FTS5 table."""

    def __init__(self, rows: SqliteRows, table: WordTable) -> None:
        self._rows = rows
        self._table = table

    def match(
        self,
        single_terms: Sequence[str],
        paired_terms: Sequence[str] = (),
        *,
        first_column_terms: Sequence[str] = (),
        condition: RowCondition = EVERY_ROW,
        limit: int,
    ) -> list[tuple[int, float]]:
        name, every = self._table.name, [*single_terms, *paired_terms]
        in_first = [f"{self._table.columns[0]} : ({any_of(first_column_terms)})"] if first_column_terms else []
        is_selective = single_terms or len(paired_terms) > 1
        selecting = [*in_first, *([any_single_or_pair(single_terms, paired_terms)] if is_selective else [])]
        if not selecting:
            return []
        given = [" OR ".join([*in_first, *([any_of(every)] if every else [])])]
        selection = ""
        if (narrower := " OR ".join(selecting)) != given[0]:
            # `+` makes SQLite read the postings of the selection once and filter rows before it computes scores.
            # Without `+`, SQLite would run one lookup for each row.
            selection = f"AND +{name}.rowid IN (SELECT rowid FROM {name} WHERE {name} MATCH ?)"
            given.append(narrower)
        where = f"AND {condition.sql.format(id=f'{name}.rowid')}" if condition.sql else ""
        weights = ", ".join(map(str, self._table.weights))
        return self._rows.query(
            f"""SELECT rowid, -bm25({name}, {weights}) AS score FROM {name}
                WHERE {name} MATCH ? {selection} {where} ORDER BY score DESC LIMIT ?""",
            *given,
            *condition.values,
            limit,
        )

    def rows_with_all(self, groups: Sequence[Sequence[str]]) -> list[int]:
        name, first = self._table.name, self._table.columns[0]
        expression = " AND ".join(f"{first} : ({any_of(group)})" for group in groups)
        rows = self._rows.query(f"SELECT rowid FROM {name} WHERE {name} MATCH ?", expression)
        return [row[0] for row in rows]

    def row_counts(self, terms: Sequence[str]) -> dict[str, int]:
        name = self._table.name
        unique_terms = list(dict.fromkeys(terms))
        count = f"(SELECT COUNT(*) FROM {name} WHERE {name} MATCH ?)"
        found: dict[str, int] = {}
        for start in range(0, len(unique_terms), _MAX_COUNTS_PER_STATEMENT):
            some = unique_terms[start : start + _MAX_COUNTS_PER_STATEMENT]
            (row,) = self._rows.query(f"SELECT {', '.join([count] * len(some))}", *(any_of([term]) for term in some))
            found.update(zip(some, row, strict=True))
        return {term: number for term, number in found.items() if number}

    def id_range(self) -> tuple[int, int] | None:
        # The ids are read from FTS5's table of row sizes, because the index itself has no column for ids.
        sql = f"SELECT MIN(id), MAX(id) FROM {self._table.name}_docsize"
        ((lowest, highest),) = self._rows.query(sql)
        return None if lowest is None else (lowest, highest)

    def writer(self) -> SqliteWordWriter:
        return SqliteWordWriter(self._rows.database.read(), self._table)


class SqliteWordWriter:
    """Implementation of `store.word_index.WordWriter`. Rows are written immediately."""

    def __init__(self, connection: sqlite3.Connection, table: WordTable) -> None:
        self._connection = connection
        self._name = table.name
        columns = ", ".join(table.columns)
        marks = ", ".join("?" * len(table.columns))
        self._insert = f"INSERT INTO {self._name} (rowid, {columns}) VALUES (?, {marks})"
        self._delete = f"INSERT INTO {self._name} ({self._name}, rowid, {columns}) VALUES ('delete', ?, {marks})"
        self._has_texts = table.has_texts

    def add(self, row_id: int, texts: Sequence[str]) -> None:
        self._connection.execute(self._insert, (row_id, *texts))

    def remove(self, row_id: int, texts: Sequence[str]) -> None:
        if self._has_texts:
            self._connection.execute(f"DELETE FROM {self._name} WHERE rowid = ?", (row_id,))
        else:
            self._connection.execute(self._delete, (row_id, *texts))

    def remove_all(self) -> None:
        self._connection.execute(f"INSERT INTO {self._name} ({self._name}) VALUES ('delete-all')")

    def flush(self) -> None:
        pass

    def discard(self) -> None:
        pass
