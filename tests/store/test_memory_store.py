"""What `memory.db` promises: places, the word index in step with the rows, a private file, a copy before it
is migrated."""

from __future__ import annotations

import os
import sqlite3
import stat
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from deltos.errors import StoreBusy, StoreTooNew
from deltos.store.observations import Clean, NewObservation, session_of
from deltos.store.sqlite.database import Database, Migration
from deltos.store.sqlite.memory.reader import SqliteObservations
from deltos.store.sqlite.memory.schema import MIGRATIONS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteObservations]:
    store = SqliteObservations(tmp_path / "memory.db")
    yield store
    store.close()


def new(observation_id: str, text: str, at: int) -> NewObservation:
    return NewObservation(Clean(observation_id), Clean(text), Clean("finding"), Clean(""), at)


def add(
    store: SqliteObservations, text: str, *, session_id: str | None = "s", project_id: str = "p", at: int = 1
) -> int:
    with store.writing() as writer:
        project = writer.project(project_id, root="", now=at)
        session = writer.session(project, session_id, agent="", now=at)
        count = len(list(writer.recent(project, limit=1000)))
        return writer.insert(project, session, new(f"{text[:8]}{count}", text, at))


def test_the_file_is_readable_by_its_owner_only(store: SqliteObservations) -> None:
    if os.name == "posix":
        assert stat.S_IMODE(store.database.path.stat().st_mode) == 0o600


def test_writes_are_flushed_before_they_are_acknowledged(store: SqliteObservations) -> None:
    full = 2
    assert store.database.read().execute("PRAGMA synchronous").fetchone()[0] == full
    assert store.database.read().execute("PRAGMA journal_mode").fetchone()[0] == "wal"


def test_observations_of_one_session_lie_side_by_side(store: SqliteObservations) -> None:
    first, second = add(store, "one"), add(store, "two")
    assert second == first + 1
    assert session_of(first) == session_of(second)


def test_observations_outside_any_session_are_no_neighbours(store: SqliteObservations) -> None:
    first, second = add(store, "one", session_id=None), add(store, "two", session_id=None)
    assert second - first > 2


def test_sessions_with_the_same_id_in_two_projects_stay_apart(store: SqliteObservations) -> None:
    assert session_of(add(store, "one", project_id="p")) != session_of(add(store, "two", project_id="q"))


def test_a_deleted_observation_is_not_found_by_its_words_until_it_is_restored(store: SqliteObservations) -> None:
    place = add(store, "the parser hangs")
    with store.writing() as writer:
        writer.mark_deleted(place, 5)
    assert store.places_with(["parser"], at_most=9) == []
    with store.writing() as writer:
        writer.mark_deleted(place, None)
    assert store.places_with(["parsers"], at_most=9) == [place]


def test_a_purged_observation_is_gone_with_its_words(store: SqliteObservations) -> None:
    place = add(store, "the parser hangs")
    with store.writing() as writer:
        writer.mark_deleted(place, 5)
        assert writer.purge(6) == 1
    assert list(store.all()) == []


def test_words_cannot_become_query_syntax(store: SqliteObservations) -> None:
    place = add(store, 'say "hello" AND near')
    assert store.places_with(['"', "NEAR", "*", "NOT"], at_most=9) == [place]


def test_rebuilding_brings_a_broken_word_index_back(store: SqliteObservations) -> None:
    place = add(store, "the parser hangs")
    with store.writing() as writer:
        writer._connection.execute("INSERT INTO word (word) VALUES ('delete-all')")
    assert store.places_with(["parser"], at_most=9) == []
    with store.writing() as writer:
        writer.rebuild_words()
    assert store.places_with(["parser"], at_most=9) == [place]


def test_a_folder_that_got_a_remote_keeps_its_memory(store: SqliteObservations) -> None:
    with store.writing() as writer:
        before = writer.project("path:abc", root="/home/ada/app", now=1)
        after = writer.project("host/app", root="/home/ada/app", now=2)
    assert after == before
    assert [project.project_id for project in store.projects()] == ["host/app"]


def test_a_project_known_by_its_commit_is_found_by_its_folder(store: SqliteObservations) -> None:
    with store.writing() as writer:
        known = writer.project("git:123", root="/home/ada/app", now=1)
        assert writer.project("path:abc", root="/home/ada/app", now=2) == known
    assert [project.project_id for project in store.projects()] == ["git:123"]


def test_what_a_clone_kept_under_its_folders_name_moves_to_the_project_it_belongs_to(store: SqliteObservations) -> None:
    with store.writing() as writer:
        shared = writer.project("git:123", root="/home/ada/first", now=1)
        writer.session(shared, "s", agent="", now=1)
        alone = writer.project("path:abc", root="/home/ada/second", now=2)
        session = writer.session(alone, "s", agent="", now=2)
        writer.insert(alone, session, new("one", "quokka", 2))
        assert writer.project("git:123", root="/home/ada/second", now=3) == shared
    assert [project.project_id for project in store.projects()] == ["git:123"]
    assert [row.project_id for row in store.all()] == ["git:123"]
    assert store.session_keys([shared]) == {session_of(store.places_with(["quokka"], at_most=9)[0]), 1}


def test_another_repository_in_the_same_folder_is_another_project(store: SqliteObservations) -> None:
    with store.writing() as writer:
        first = writer.project("host/one", root="/home/ada/app", now=1)
        assert writer.project("host/two", root="/home/ada/app", now=2) != first


def test_the_file_is_copied_before_it_is_migrated(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    store = SqliteObservations(path)
    add(store, "kept from before")
    store.close()
    later = (*MIGRATIONS, Migration("002-later", "ALTER TABLE session ADD COLUMN note TEXT;"))
    Database(path, later, durability="FULL", backup_before_migration=True).close()
    with closing(sqlite3.connect(tmp_path / "memory.db.before-002-later")) as copy:
        assert copy.execute("SELECT text FROM observation").fetchall() == [("kept from before",)]
    with pytest.raises(StoreTooNew):
        SqliteObservations(path)


def test_a_new_file_is_not_copied(tmp_path: Path) -> None:
    SqliteObservations(tmp_path / "memory.db").close()
    assert list(tmp_path.glob("*.before-*")) == []


def test_a_locked_file_is_an_error_that_says_so(store: SqliteObservations) -> None:
    store.database.read().execute("PRAGMA busy_timeout = 1")
    with closing(sqlite3.connect(store.database.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreBusy, match="in use"):
            add(store, "never acknowledged")
    assert list(store.all()) == []
