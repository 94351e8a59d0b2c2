"""Reads tables of another program's SQLite file: from a copy, without its views, triggers and functions, within
limits."""

from __future__ import annotations

import sqlite3
import tempfile
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from deltos.errors import FileRefused, SourceError
from deltos.files import FileTree

if TYPE_CHECKING:
    from collections.abc import Iterator

_LARGEST_FILE = 2_000_000_000
_LONGEST_CELL = 10_000_000
_PIECE_BYTES = 1_000_000
_STEPS_BETWEEN_LOOKS = 100_000
_MOST_LOOKS = 200_000
_PAGE_ROWS = 500


class ForeignTables:
    """The plain tables of a file."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._looks = 0
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST_CELL)
        connection.set_progress_handler(self._look, _STEPS_BETWEEN_LOOKS)
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.text_factory = lambda raw: raw.decode("utf-8", "replace")

    def rows(self, table: str) -> Iterator[dict[str, object]]:
        """The rows of a table by the names of their columns; none where there is no such table."""
        name = table.replace('"', "")
        plain = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ? AND sql LIKE 'CREATE TABLE%'"
        try:
            if self._connection.execute(plain, (name,)).fetchone() is None:
                return
            last = -(2**63)
            sql = f'SELECT rowid AS deltos_row, * FROM "{name}" WHERE rowid > ? ORDER BY rowid LIMIT {_PAGE_ROWS}'
            while True:
                cursor = self._connection.execute(sql, (last,))
                columns = [column[0] for column in cursor.description]
                page = cursor.fetchall()
                if not page:
                    return
                last = page[-1][0]
                yield from (dict(zip(columns, row, strict=True)) for row in page)
        except sqlite3.Error as exc:
            raise SourceError(f"Cannot read the table {name} ({exc})", hint="Is the file damaged?") from exc

    def _look(self) -> int:
        """Stop whatever the file has SQLite do, once it is too much."""
        self._looks += 1
        return int(self._looks > _MOST_LOOKS)


@contextmanager
def foreign_tables(path: Path) -> Iterator[ForeignTables]:
    """The tables of a file as it is now; the program that owns it may go on writing, and nothing is written there."""
    with tempfile.TemporaryDirectory(prefix="deltos-import-") as folder:
        copy = Path(folder) / "copy.db"
        with FileTree(path.parent) as tree:
            _copy(tree, path.name, copy)
            if tree.is_file(f"{path.name}-wal"):  # what was written last
                _copy(tree, f"{path.name}-wal", Path(folder) / "copy.db-wal")
        try:
            with closing(sqlite3.connect(copy)) as connection:
                yield ForeignTables(connection)
        except sqlite3.DatabaseError as exc:
            raise SourceError(f"Cannot read {path.name} ({exc})", hint="Is it a database, and whole?") from exc


def _copy(tree: FileTree, name: str, target: Path) -> None:
    copied = 0
    with target.open("wb") as out:
        for piece in tree.pieces(name, _PIECE_BYTES):
            copied += len(piece)
            if copied > _LARGEST_FILE:
                raise FileRefused(name, "too large", f"At most {_LARGEST_FILE:,} bytes are read.")
            out.write(piece)
