"""A process keeps its locks on a database file while it uses the file in other ways.

POSIX releases all locks of a process on a file when the process closes any descriptor of it. Other processes would then
treat the database as unused, and SQLite would lose writes.
"""

from __future__ import annotations

import subprocess
import sys
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from deltos.errors import FileRefused, StoreUnwritable
from deltos.files import IN_USE, FileTree
from deltos.store.migration import Migration
from deltos.store.sqlite.database import SqliteDatabase, check_file
from deltos.store.sqlite.external_tables import open_external_tables
from deltos.store.sqlite.memory.read_only import ReadableCopy
from deltos.store.sqlite.memory.reader import SqliteObservations

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

NOTES = Migration("001-notes", "CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT);")
# Another process opens and closes the database. If it were the last process to do so, it would remove the log.
READER_SCRIPT = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
print(*(text for text, in connection.execute("SELECT text FROM note ORDER BY id")))
connection.close()
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "notes.db"


@pytest.fixture
def database(path: Path) -> Iterator[SqliteDatabase]:
    database = SqliteDatabase(path, [NOTES])
    yield database
    database.close()


def add_note(database: SqliteDatabase, text: str) -> None:
    with database.write() as connection:
        connection.execute("INSERT INTO note (text) VALUES (?)", (text,))


def read_in_another_process(path: Path) -> str:
    """Return the notes that another process reads."""
    command = [sys.executable, "-I", "-c", READER_SCRIPT, str(path)]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout.strip()


def open_a_second_time(path: Path) -> None:
    SqliteDatabase(path, [NOTES]).close()


def read_as_a_file(path: Path) -> None:
    with FileTree(path.parent) as tree, pytest.raises(FileRefused, match=IN_USE):
        tree.read(path.name, 10**9)


def read_its_shared_memory_as_a_file(path: Path) -> None:
    with FileTree(path.parent) as tree, pytest.raises(FileRefused, match=IN_USE):
        tree.read_head(f"{path.name}-shm", 100)


def import_from_it(path: Path) -> None:
    with pytest.raises(FileRefused, match=IN_USE), open_external_tables(path):
        pass


def check_it(path: Path) -> None:
    assert check_file(path) == []


@pytest.mark.parametrize(
    "use", [open_a_second_time, read_as_a_file, read_its_shared_memory_as_a_file, import_from_it, check_it]
)
def test_writes_after_another_use_of_the_file_are_not_lost(
    database: SqliteDatabase, path: Path, use: Callable[[Path], None]
) -> None:
    add_note(database, "one")
    use(path)
    assert read_in_another_process(path) == "one"
    assert path.with_name(f"{path.name}-wal").exists(), (
        "the other process removed the log although the file is still in use"
    )
    add_note(database, "two")
    assert read_in_another_process(path) == "one two"


def test_a_writer_keeps_the_lock_when_the_file_is_opened_a_second_time(database: SqliteDatabase, path: Path) -> None:
    script = "import sqlite3, sys; sqlite3.connect(sys.argv[1], timeout=0).execute('BEGIN IMMEDIATE')"
    with database.write() as connection:
        connection.execute("INSERT INTO note (text) VALUES ('half')")
        with closing(SqliteDatabase(path, [NOTES])):
            pass
        command = [sys.executable, "-I", "-c", script, str(path)]
        other = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    assert "database is locked" in other.stderr


def test_an_open_memory_file_is_copied_through_sqlite(tmp_path: Path) -> None:
    store = SqliteObservations(tmp_path / "memory.db")
    copy = ReadableCopy(tmp_path / "memory.db", StoreUnwritable("nothing can be written there"))
    assert [path.name for path in copy.path.parent.iterdir()] == ["memory.db"]  # closing merges the log into the file
    assert check_file(copy.path) == []
    copy.remove()
    store.close()


def test_a_closed_database_can_be_read_as_a_file(database: SqliteDatabase, path: Path) -> None:
    add_note(database, "one")
    database.close()
    with FileTree(path.parent) as tree:
        assert tree.read_head(path.name, 15) == b"SQLite format 3"


def test_another_file_of_the_same_name_can_be_read(database: SqliteDatabase, path: Path) -> None:
    add_note(database, "one")
    other = path.parent / "other" / path.name
    other.parent.mkdir()
    other.write_bytes(b"something else")
    with FileTree(path.parent) as tree:
        assert tree.read(f"other/{path.name}", 100) == b"something else"
