"""SQLite files: migrations, reading, writing, and replacement of damaged files."""

from __future__ import annotations

import gc
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import tempfile
import threading
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from deltos.errors import StoreBusy, StoreCorrupt, StoreError, StoreTooNew, StoreUnwritable
from deltos.store.migration import Migration
from deltos.store.sqlite.database import SqliteDatabase, check_file, move_aside, split_statements

if TYPE_CHECKING:
    from collections.abc import Iterator

NOTES = Migration("001-notes", "CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT);")
TAGS = Migration("002-tags", "CREATE TABLE tag (name TEXT); INSERT INTO tag VALUES ('first');")
BROKEN = Migration("002-broken", "CREATE TABLE other (name TEXT);\nSELECT * FROM nowhere;")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "notes.db"


@pytest.fixture
def database(path: Path) -> Iterator[SqliteDatabase]:
    database = SqliteDatabase(path, [NOTES])
    yield database
    database.close()


def add_note(database: SqliteDatabase, text: str) -> None:
    with database.write() as connection:
        connection.execute("INSERT INTO note (text) VALUES (?)", (text,))


def read_notes(database: SqliteDatabase) -> list[str]:
    with database.snapshot() as connection:
        return [row[0] for row in connection.execute("SELECT text FROM note ORDER BY id")]


def fill_notes(database: SqliteDatabase, count: int = 5_000) -> None:
    with database.write() as connection:
        connection.executemany("INSERT INTO note (text) VALUES (?)", [(f"note {n} " * 10,) for n in range(count)])


def damage_the_middle(path: Path) -> None:
    """Overwrite pages that contain rows, but not the first page."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2 :] = b"\xa5" * (len(content) - len(content) // 2)
    path.write_bytes(content)


def test_a_new_file_is_in_wal_mode_and_private(database: SqliteDatabase) -> None:
    assert database.read().execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert stat.S_IMODE(database.path.stat().st_mode) == 0o600


def test_writes_survive_reopening_the_file(path: Path) -> None:
    first = SqliteDatabase(path, [NOTES])
    add_note(first, "kept")
    first.close()
    assert read_notes(SqliteDatabase(path, [NOTES])) == ["kept"]


def test_a_failed_write_is_rolled_back(database: SqliteDatabase) -> None:
    def fail() -> None:
        with database.write() as connection:
            connection.execute("INSERT INTO note (text) VALUES ('half')")
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert read_notes(database) == []
    add_note(database, "whole")
    assert read_notes(database) == ["whole"]


def test_a_committed_step_is_kept_if_a_later_one_fails(database: SqliteDatabase) -> None:
    def fail() -> None:
        with database.write() as connection:
            connection.execute("INSERT INTO note (text) VALUES ('first step')")
            database.commit_step(connection)
            connection.execute("INSERT INTO note (text) VALUES ('second step')")
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert read_notes(database) == ["first step"]


def test_migrations_are_applied_once_and_recorded_by_name(path: Path) -> None:
    SqliteDatabase(path, [NOTES]).close()
    SqliteDatabase(path, [NOTES, TAGS]).close()
    again = SqliteDatabase(path, [NOTES, TAGS])
    assert again.read().execute("SELECT position, name FROM migration").fetchall() == [
        (0, "001-notes"),
        (1, "002-tags"),
    ]
    assert again.read().execute("SELECT name FROM tag").fetchall() == [("first",)]


def test_a_migration_that_fails_changes_nothing(path: Path) -> None:
    SqliteDatabase(path, [NOTES]).close()
    with pytest.raises(StoreError, match="nowhere"):
        SqliteDatabase(path, [NOTES, BROKEN])
    database = SqliteDatabase(path, [NOTES, TAGS])
    tables = {row[0] for row in database.read().execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    assert tables == {"migration", "note", "tag"}


def test_scripts_are_split_into_statements() -> None:
    script = (
        "CREATE TABLE a (x); CREATE TRIGGER t AFTER INSERT ON a BEGIN\n SELECT 1;\n SELECT 2;\nEND;\n\nSELECT ';'\n"
    )
    assert [statement[:14] for statement in split_statements(script)] == [
        "CREATE TABLE a",
        "CREATE TRIGGER",
        "SELECT ';'\n;",
    ]


@pytest.mark.parametrize("known", [[], [NOTES], [NOTES, BROKEN]])
def test_a_file_of_a_newer_version_is_refused_and_left_untouched(path: Path, known: list[Migration]) -> None:
    newer = SqliteDatabase(path, [NOTES, TAGS])
    newer.close()
    before = path.read_bytes()
    with pytest.raises(StoreTooNew, match=r"migrated by a newer version.*Upgrade deltos"):
        SqliteDatabase(path, known)
    assert path.read_bytes() == before
    assert [entry.name for entry in path.parent.iterdir() if "corrupt" in entry.name] == []


@pytest.mark.parametrize("content", [b"garbage" * 1_000, b"SQLite format 3\0" + b"\xff" * 4_000])
def test_a_file_that_is_not_a_database_is_set_aside_unchanged(path: Path, content: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    database = SqliteDatabase(path, [NOTES])
    assert database.damaged_file is not None
    assert database.damaged_file.read_bytes() == content
    add_note(database, "works")
    assert read_notes(database) == ["works"]


def test_a_truncated_file_is_set_aside(path: Path) -> None:
    database = SqliteDatabase(path, [NOTES])
    fill_notes(database)
    database.close()
    os.truncate(path, path.stat().st_size // 2)
    again = SqliteDatabase(path, [NOTES])
    assert again.damaged_file is not None
    assert read_notes(again) == []


def test_an_empty_file_is_a_new_database(path: Path) -> None:
    path.parent.mkdir()
    path.touch()
    database = SqliteDatabase(path, [NOTES])
    assert database.damaged_file is None
    assert read_notes(database) == []


def test_two_damaged_files_are_both_kept(path: Path) -> None:
    path.parent.mkdir()
    for content in (b"first garbage" * 99, b"second garbage" * 99):
        path.write_bytes(content)
        SqliteDatabase(path, [NOTES]).close()
    kept = sorted(entry.read_bytes()[:6] for entry in path.parent.iterdir() if "corrupt" in entry.name)
    assert kept == [b"first ", b"second"]


def test_damage_found_while_reading_raises_and_the_file_can_be_replaced(database: SqliteDatabase) -> None:
    fill_notes(database)
    database.close()
    damage_the_middle(database.path)
    file = database.inode
    with pytest.raises(StoreCorrupt, match="damaged"):
        read_notes(database)
    database.replace_damaged_file(file)
    assert read_notes(database) == []
    assert database.damaged_file is not None
    assert database.damaged_file.stat().st_ino == file


def test_a_file_that_was_already_replaced_is_not_replaced_again(database: SqliteDatabase) -> None:
    damaged = database.inode
    database.replace_damaged_file(damaged)
    add_note(database, "new")
    database.replace_damaged_file(damaged)
    assert read_notes(database) == ["new"]


def test_side_files_are_set_aside_with_their_database(path: Path) -> None:
    path.parent.mkdir()
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).write_text(f"what was in {suffix}")
    aside = move_aside(path)
    assert [entry.name for entry in sorted(path.parent.iterdir())] == [
        aside.name,
        f"{aside.name}-shm",
        f"{aside.name}-wal",
    ]
    assert aside.with_name(f"{aside.name}-wal").read_text() == "what was in -wal"


def test_check_file_reports_problems_of_a_damaged_file_only(database: SqliteDatabase) -> None:
    fill_notes(database)
    database.close()
    assert check_file(database.path) == []
    damage_the_middle(database.path)
    assert check_file(database.path) != []


def test_a_file_that_is_not_a_database_cannot_be_checked(tmp_path: Path) -> None:
    (tmp_path / "x.db").write_bytes(b"garbage" * 999)
    with pytest.raises(StoreCorrupt):
        check_file(tmp_path / "x.db")


def test_a_writer_that_waits_too_long_raises_store_busy(path: Path) -> None:
    first, second = (SqliteDatabase(path, [NOTES], busy_timeout_seconds=0.05) for _ in range(2))
    with first.write(), pytest.raises(StoreBusy, match="in use by another process"):
        add_note(second, "too late")
    add_note(second, "in time")
    assert read_notes(first) == ["in time"]


def test_readers_are_not_blocked_by_a_writer_and_see_only_committed_rows(path: Path) -> None:
    writer, reader = SqliteDatabase(path, [NOTES]), SqliteDatabase(path, [NOTES])
    add_note(writer, "old")
    with writer.write() as connection:
        connection.execute("INSERT INTO note (text) VALUES ('new')")
        assert read_notes(reader) == ["old"]
    assert read_notes(reader) == ["old", "new"]


def test_a_snapshot_stays_the_same_while_others_write(path: Path) -> None:
    writer, reader = SqliteDatabase(path, [NOTES]), SqliteDatabase(path, [NOTES])
    with reader.snapshot() as connection:
        assert connection.execute("SELECT COUNT(*) FROM note").fetchone() == (0,)
        add_note(writer, "meanwhile")
        assert read_notes(reader) == []
    assert read_notes(reader) == ["meanwhile"]


def test_closing_interrupts_running_queries_and_closes_idle_connections(database: SqliteDatabase) -> None:
    endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT MAX(x) FROM n"
    short = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 99) SELECT x FROM n"
    ended: list[str] = []
    may_end = threading.Event()

    def run(began: threading.Event, query: str, reads: int) -> None:
        try:
            with database.snapshot() as connection:
                for _ in range(reads):
                    began.set()
                    connection.execute(query).fetchall()
        except StoreError as error:
            ended.append(str(error))

    def idle(began: threading.Event, *_: object) -> None:
        database.read()
        began.set()
        may_end.wait()

    threads = []
    for work, query, reads in ((run, endless, 1), (run, short, 10**6), (run, short, 10**6), (idle, "", 0)):
        began = threading.Event()
        threads.append(threading.Thread(target=work, args=(began, query, reads), daemon=True))
        threads[-1].start()
        began.wait()
    database.close()
    for thread in threads[:3]:
        thread.join()
    assert len(ended) == 3
    gc.collect()  # errors refer to their frames, and the frames to cursors
    assert not [name for name in open_files() if name.startswith(str(database.path))]
    may_end.set()


def open_files() -> list[str]:
    """Return the paths of this process's open files, where /proc lists them."""
    folder = Path("/proc/self/fd")
    return [str(entry.readlink()) for entry in folder.iterdir() if entry.is_symlink()] if folder.exists() else []


def test_each_thread_has_its_own_connection_and_can_release_it(database: SqliteDatabase) -> None:
    seen: list[sqlite3.Connection] = []

    def use_connection() -> None:
        seen.append(database.read())
        database.release()
        database.release()

    thread = threading.Thread(target=use_connection)
    thread.start()
    thread.join()
    assert seen[0] is not database.read()
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        seen[0].execute("SELECT 1")
    assert read_notes(database) == []


OPENER = """
import pathlib, sys
from deltos.store.sqlite.database import SqliteDatabase
from deltos.store.migration import Migration
sys.stdin.readline()
notes = Migration("001-notes", "CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT);")
database = SqliteDatabase(pathlib.Path(sys.argv[1]), [notes])
with database.write() as connection:
    connection.execute("INSERT INTO note (text) VALUES (?)", (sys.argv[2],))
print(database.damaged_file is not None)
"""


@pytest.mark.parametrize("garbage", [False, True])
def test_processes_can_open_the_same_file_at_once(path: Path, garbage: bool) -> None:
    path.parent.mkdir()
    if garbage:
        path.write_bytes(b"garbage" * 999)
    command = [sys.executable, "-c", OPENER, str(path)]
    openers = [
        subprocess.Popen([*command, str(n)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for n in range(4)
    ]
    for opener in openers:
        assert opener.stdin is not None
        opener.stdin.write("go\n")
        opener.stdin.flush()
    replaced = [opener.communicate()[0].strip() == "True" for opener in openers]
    assert replaced.count(True) == (1 if garbage else 0)
    assert sorted(read_notes(SqliteDatabase(path, [NOTES]))) == ["0", "1", "2", "3"]


@contextmanager
def read_only_folder() -> Iterator[Path]:
    """A folder that this process may not write to, even if the tests run as root."""
    folder = Path(tempfile.mkdtemp(prefix="read-only-"))
    is_root = os.geteuid() == 0
    try:
        yield folder
    finally:
        if is_root:
            os.seteuid(0)
        folder.chmod(0o700)
        shutil.rmtree(folder)


def lock_folder(folder: Path) -> None:
    folder.chmod(0o555)
    if os.geteuid() == 0:
        os.seteuid(65_534)


def test_a_read_only_folder_raises_store_unwritable() -> None:
    with read_only_folder() as folder:
        lock_folder(folder)
        for place in (folder / "notes.db", folder / "deeper" / "notes.db"):
            with pytest.raises(StoreUnwritable, match="Set DELTOS_HOME to a writable folder"):
                SqliteDatabase(place, [NOTES])


def test_a_read_only_file_raises_store_unwritable_and_keeps_its_content() -> None:
    with read_only_folder() as folder:
        database = SqliteDatabase(folder / "notes.db", [NOTES])
        add_note(database, "kept")
        database.close()
        lock_folder(folder)
        with pytest.raises(StoreUnwritable):
            SqliteDatabase(folder / "notes.db", [NOTES])
        if os.getuid() == 0:
            os.seteuid(0)
        assert read_notes(SqliteDatabase(folder / "notes.db", [NOTES])) == ["kept"]


def test_a_folder_instead_of_the_file_raises_store_unwritable(path: Path) -> None:
    path.mkdir(parents=True)
    with pytest.raises(StoreUnwritable):
        SqliteDatabase(path, [NOTES])


def test_other_database_errors_name_the_file(database: SqliteDatabase) -> None:
    with pytest.raises(StoreError, match=r"notes\.db: no such table"), database.snapshot() as connection:
        connection.execute("SELECT * FROM nowhere")


def test_a_full_disk_raises_store_unwritable_and_keeps_committed_rows(path: Path) -> None:
    database = SqliteDatabase(path, [NOTES])
    add_note(database, "kept")
    pages = database.read().execute("PRAGMA page_count").fetchone()[0]
    database.read().execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(StoreUnwritable, match="Free disk space"):
        fill_notes(database)
    assert read_notes(database) == ["kept"]


def test_a_deleted_file_is_recreated_by_replace(database: SqliteDatabase) -> None:
    database.path.unlink()
    with closing(database):
        database.replace_damaged_file(database.inode)
        assert read_notes(database) == []
