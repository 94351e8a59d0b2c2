"""Interface for SQL statements that both engines execute, with `?` as placeholder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager


class Cursor(Protocol):
    """The result of a statement."""

    @property
    def rowcount(self) -> int:
        """Number of changed rows."""

    def fetchone(self) -> Any:
        """Return the next row, or None at the end."""

    def fetchall(self) -> list[Any]:
        """Return the remaining rows."""


class WriteConnection(Protocol):
    """Connection within a write transaction."""

    def execute(self, sql: str, values: Sequence[object] = (), /) -> Cursor:
        """Execute one statement."""

    def executemany(self, sql: str, rows: Sequence[Sequence[object]], /) -> object:
        """Execute one statement for each row of values."""


class Statements(Protocol):
    """Access to a database of either storage engine."""

    def query(self, sql: str, values: Sequence[object] = ()) -> list[Any]:
        """Return the rows of a query."""

    def snapshot(self) -> AbstractContextManager[object]:
        """Return a context manager within which all reads see the same state."""

    def write(self) -> AbstractContextManager[WriteConnection]:
        """Return a context manager for one write transaction."""

    def close(self) -> None:
        """Close the database if no other store uses it."""
