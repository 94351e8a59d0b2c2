"""Read another program's SQLite file safely: from a copy, with limits, and without views, triggers or functions."""

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

_MAX_FILE_BYTES = 2_000_000_000
_MAX_CELL_BYTES = 10_000_000
_BLOCK_BYTES = 1_000_000
_STEPS_PER_CHECK = 100_000  # number of SQLite instructions between two checks of the instruction limit
_MAX_CHECKS = 200_000
_PAGE_ROWS = 500


class ExternalTables:
    """Tables (not views) of an SQLite file that another program wrote."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._checks = 0
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MAX_CELL_BYTES)
        connection.set_progress_handler(self._exceeds_step_limit, _STEPS_PER_CHECK)
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.text_factory = lambda raw: raw.decode("utf-8", "replace")

    def rows(self, table: str) -> Iterator[dict[str, object]]:
        """Yield the rows of a table as dictionaries by column name. Yield no rows if the table does not exist."""
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
            raise SourceError(f"Cannot read the table {name} ({exc})", hint="The file may be damaged.") from exc

    def _exceeds_step_limit(self) -> int:
        """Return 1 (interrupt the statement) if SQLite has executed too many instructions, otherwise 0."""
        self._checks += 1
        return int(self._checks > _MAX_CHECKS)


@contextmanager
def open_external_tables(path: Path) -> Iterator[ExternalTables]:
    """Yield the tables of a temporary copy of a file. Another program may be writing to the file."""
    with tempfile.TemporaryDirectory(prefix="deltos-import-") as folder:
        copy = Path(folder) / "copy.db"
        with FileTree(path.parent) as tree:
            _copy_file(tree, path.name, copy)
            if tree.is_file(f"{path.name}-wal"):  # the write-ahead log contains the latest writes
                _copy_file(tree, f"{path.name}-wal", Path(folder) / "copy.db-wal")
        try:
            with closing(sqlite3.connect(copy)) as connection:
                yield ExternalTables(connection)
        except sqlite3.DatabaseError as exc:
            raise SourceError(
                f"Cannot read {path.name} ({exc})", hint="The file is damaged or not an SQLite database."
            ) from exc


def _copy_file(tree: FileTree, name: str, target: Path) -> None:
    copied = 0
    with target.open("wb") as out:
        for piece in tree.pieces(name, _BLOCK_BYTES):
            copied += len(piece)
            if copied > _MAX_FILE_BYTES:
                raise FileRefused(name, "too large", f"The limit is {_MAX_FILE_BYTES:,} bytes.")
            out.write(piece)
