"""`memory.db`: a private file, flushed on every write, backed up before migrations, with a word index that can be
rebuilt.
"""

from __future__ import annotations

import os
import sqlite3
import stat
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from deltos.errors import StoreBusy, StoreTooNew
from deltos.store.migration import Migration
from deltos.store.sqlite.database import SqliteDatabase
from deltos.store.sqlite.memory.reader import SqliteObservations
from deltos.store.sqlite.memory.schema import MIGRATIONS
from tests.store.test_observations import add_observation

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteObservations]:
    store = SqliteObservations(tmp_path / "memory.db")
    yield store
    store.close()


def test_the_file_is_readable_by_its_owner_only(store: SqliteObservations) -> None:
    if os.name == "posix":
        assert stat.S_IMODE(store.database.path.stat().st_mode) == 0o600


def test_writes_are_flushed_before_they_are_acknowledged(store: SqliteObservations) -> None:
    full = 2
    assert store.database.read().execute("PRAGMA synchronous").fetchone()[0] == full
    assert store.database.read().execute("PRAGMA journal_mode").fetchone()[0] == "wal"


def test_rebuild_words_restores_a_broken_word_index(store: SqliteObservations) -> None:
    place = add_observation(store, "the parser hangs")
    with store.writing() as writer:
        writer._connection.execute("INSERT INTO word (word) VALUES ('delete-all')")
    assert store.row_numbers_with(["parser"], at_most=9) == []
    with store.writing() as writer:
        writer.rebuild_words()
    assert store.row_numbers_with(["parser"], at_most=9) == [place]


def test_the_file_is_backed_up_before_a_migration(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    store = SqliteObservations(path)
    add_observation(store, "kept from before")
    store.close()
    later = (*MIGRATIONS, Migration("002-later", "ALTER TABLE session ADD COLUMN note TEXT;"))
    SqliteDatabase(path, later, durability="FULL", backup_before_migration=True).close()
    with closing(sqlite3.connect(tmp_path / "memory.db.before-002-later")) as copy:
        assert copy.execute("SELECT text FROM observation").fetchall() == [("kept from before",)]
    with pytest.raises(StoreTooNew):
        SqliteObservations(path)


def test_a_new_file_is_not_backed_up(tmp_path: Path) -> None:
    SqliteObservations(tmp_path / "memory.db").close()
    assert list(tmp_path.glob("*.before-*")) == []


def test_a_locked_file_raises_store_busy(store: SqliteObservations) -> None:
    store.database.read().execute("PRAGMA busy_timeout = 1")
    with closing(sqlite3.connect(store.database.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreBusy, match="in use"):
            add_observation(store, "never acknowledged")
    assert list(store.all()) == []
