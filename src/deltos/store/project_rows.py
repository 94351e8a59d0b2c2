"""Rows of one project, read and written with SQL that both storage engines execute.

- A table name refers only to the rows of the project, and `?` is a placeholder.
- `IN ?` takes a list of values.
- CROSS JOIN fixes the join order in SQLite. PostgreSQL chooses the order by itself.
- `name COLLATE NOCASE IN ?` ignores the case of ASCII letters.
- DELETE and UPDATE have a WHERE clause without OR at the top level.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from deltos.store.code import ChunkTermIndex
    from deltos.store.version import Version
    from deltos.store.word_index import WordIndex, WordTable

    Row = tuple[Any, ...]
    Query = Callable[..., list[Row]]

_T = TypeVar("_T")


class RowSource(Protocol):
    """Location of a project's committed rows. It can be pickled, so that another process can read the rows."""

    @property
    def is_remote(self) -> bool:
        """Whether the rows are on a server, so that one query for all rows is faster than hundreds for single rows."""

    def connect(self) -> Query:
        """Return a function that runs queries in this process."""


@dataclass(slots=True)
class _Writing:
    """State of a thread's write transaction: a function that writes buffered rows, and the next id of each table."""

    write_buffer: Callable[[], None]
    is_flushing: bool = False
    next_ids: dict[str, int] = field(default_factory=dict)


class ProjectRows(ABC):
    """Rows of one project. A thread sees the rows that it has written but not yet committed."""

    def __init__(self) -> None:
        self._local = threading.local()

    @abstractmethod
    def _read(self, sql: str, values: Sequence[object]) -> list[Row]:
        """Return the rows of a query."""

    @abstractmethod
    def execute(self, sql: str, *values: object) -> int:
        """Run a DELETE or UPDATE statement in this thread's transaction, and return the number of changed rows."""

    @abstractmethod
    def insert(self, table: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
        """Insert rows in this thread's transaction."""

    @abstractmethod
    def update(self, table: str, key: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
        """Update rows in this thread's transaction. Each row contains the value of `key` and the new column values."""

    @abstractmethod
    def snapshot(self) -> AbstractContextManager[object]:
        """Return a context manager within which all reads see the same state."""

    @abstractmethod
    def version(self) -> Version:
        """Return a value that identifies the state that this thread reads."""

    @abstractmethod
    def cached(self, name: str, read: Callable[[], _T]) -> _T:
        """Return `read()`, cached under `name` for each state that this thread sees."""

    @abstractmethod
    def words(self, table: WordTable) -> WordIndex:
        """Return an inverted index of the project."""

    @abstractmethod
    def chunk_terms(self) -> ChunkTermIndex:
        """Return the words of the project's chunks."""

    @abstractmethod
    def source(self) -> RowSource:
        """Return the location of the committed rows for other processes."""

    @abstractmethod
    def translating_errors(self) -> AbstractContextManager[object]:
        """Return a context manager that converts errors of the database to StoreError."""

    def query(self, sql: str, *values: object) -> list[Row]:
        """Return the rows of a query. Rows that this thread has buffered are written first."""
        self.flush()
        return self._read(sql, values)

    def flush(self) -> None:
        """Write the rows that this thread has buffered. A nested call does nothing."""
        state = self._writing_state()
        if state is None or state.is_flushing:
            return
        state.is_flushing = True
        try:
            state.write_buffer()
        finally:
            state.is_flushing = False

    @contextmanager
    def writing(self, write_buffer: Callable[[], None]) -> Iterator[None]:
        """Call `write_buffer` before each query of this thread during the `with` block."""
        self._local.state = _Writing(write_buffer)
        try:
            yield
        finally:
            self._local.state = None

    def allocate_ids(self, table: str, count: int = 1) -> int:
        """Reserve `count` successive ids of a table in this thread's transaction, and return the first one."""
        state = self._writing_state()
        assert state is not None  # noqa: S101 (only a transaction inserts rows)
        first = state.next_ids.get(table)
        if first is None:
            first = int(self.query(f"SELECT coalesce(MAX(id), 0) + 1 FROM {table}")[0][0])
        state.next_ids[table] = first + count
        return first

    def forget_ids(self) -> None:
        """Discard the cached next id of each table, because another process may insert rows before the next use."""
        if state := self._writing_state():
            state.next_ids.clear()

    def is_writing(self) -> bool:
        """Whether this thread is in a write transaction."""
        return self._writing_state() is not None

    def _writing_state(self) -> _Writing | None:
        state: _Writing | None = getattr(self._local, "state", None)
        return state

    def replace_rows(
        self, table: str, columns: Sequence[str], condition: str, value: object, rows: Sequence[Sequence[object]]
    ) -> None:
        """Replace the rows that meet a condition with one placeholder.

        Equal rows are not written, so that an edit changes few pages of the database.
        """
        before = Counter(self.query(f"SELECT {', '.join(columns)} FROM {table} WHERE {condition}", value))
        after = Counter(map(tuple, rows))
        outdated = (before - after).keys()
        is_row = " AND ".join(f"{column} = ?" for column in columns)
        for row in outdated:
            self.execute(f"DELETE FROM {table} WHERE {is_row}", *row)
        added = after - Counter({row: number for row, number in before.items() if row not in outdated})
        self.insert(table, columns, list(added.elements()))
