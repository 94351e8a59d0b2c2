"""Memory in PostgreSQL: concurrent writers and crashes lose nothing, and purged text is deleted."""

from __future__ import annotations

import re
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from deltos.errors import StoreError
from deltos.model import Clean
from deltos.store.observations import NewObservation
from deltos.store.postgres.database import PostgresDatabase
from deltos.store.postgres.memory.reader import PostgresObservations
from deltos.store.postgres.migrations import SCHEMA_STEPS
from tests.postgres_server import empty_database, server
from tests.store.postgres.test_library import WatchedDatabase

if TYPE_CHECKING:
    from collections.abc import Iterator

WRITERS, EACH = 3, 15


@pytest.fixture
def database() -> Iterator[WatchedDatabase]:
    with closing(WatchedDatabase(empty_database(), migrations=SCHEMA_STEPS)) as opened:
        opened.touched = set()
        yield opened


@pytest.fixture
def observations(database: WatchedDatabase) -> PostgresObservations:
    return PostgresObservations(database)


def add_observation(observations: PostgresObservations, text: str, *, project: str = "p", session: str = "s") -> int:
    with observations.writing() as writer:
        key = writer.upsert_project(project, root="", now=1)
        new = NewObservation(Clean(text), Clean(text), Clean("finding"), Clean(""), 1)
        return writer.insert(key, writer.upsert_session(key, session, agent="", now=1), new)


def add_observations(url: str, name: str) -> None:
    """Add observations to a shared session from one of several concurrent processes."""
    with closing(PostgresDatabase(url, migrations=SCHEMA_STEPS)) as database:
        for number in range(EACH):
            add_observation(PostgresObservations(database), f"{name} {number}")


def test_a_query_on_one_project_reads_only_its_partition(
    observations: PostgresObservations, database: WatchedDatabase
) -> None:
    places = [add_observation(observations, f"quokka {number}", project=f"p{number}") for number in range(6)]
    key = observations.projects()[3].key
    database.partitions()
    assert observations.row_numbers_with(["quokkas"], at_most=9, project_keys=[key]) == [places[3]]
    assert observations.frequency(["quokka"], at_most=9, project_keys=[key]) == 1
    assert database.partitions("observation_posting", "observation") == {"observation_posting": 1, "observation": 0}
    observations.recent_observations([key], limit=9)
    observations.page([key], 9, 0, limit=9)
    observations.at_row_numbers([places[3]])
    observations.by_ids(["quokka 3"])
    observations.summaries([places[3]], head_characters=9)
    assert database.partitions("observation") == {"observation": 1}
    assert observations.row_numbers_with(["quokka"], at_most=9) == places[::-1]


def test_concurrent_writers_lose_no_observation(observations: PostgresObservations, database: WatchedDatabase) -> None:
    code = "import sys; from tests.store.postgres.test_memory import add_observations; add_observations(*sys.argv[1:])"
    url = server().url
    running = [
        subprocess.Popen([sys.executable, "-c", code, url, f"writer{number}"], cwd=Path(__file__).parents[3])
        for number in range(WRITERS)
    ]
    assert [process.wait() for process in running] == [0] * WRITERS
    texts = {row.text for row in observations.all()}
    assert texts == {f"writer{writer} {number}" for writer in range(WRITERS) for number in range(EACH)}
    places = [row.place for row in observations.all()]
    assert places == list(range(places[0], places[0] + WRITERS * EACH)), (
        "positions within the session must be consecutive"
    )
    assert len(observations.row_numbers_with(["writer1"], at_most=1_000)) == EACH
    assert observations.repair().problems == ()


def test_changes_are_numbered_in_commit_order(observations: PostgresObservations) -> None:
    first = add_observation(observations, "one")
    seen = observations.last_change_number()
    second = add_observation(observations, "two")
    with observations.writing() as writer:
        writer.update(first, updated_at=5)
    assert [row.place for row in observations.changed_after(seen)] == [first, second]
    assert observations.change_number(first) > observations.change_number(second) > seen


def test_a_write_interrupted_by_a_crash_is_rolled_back(observations: PostgresObservations) -> None:
    add_observation(observations, "before")

    def write_during_crash() -> None:
        with observations.writing() as writer:
            key = writer.upsert_project("p", root="", now=1)
            session = writer.upsert_session(key, "s", agent="", now=1)
            writer.insert(key, session, NewObservation(Clean("x"), Clean("half"), Clean(""), Clean(""), 1))
            server().kill()

    try:
        with pytest.raises(StoreError, match="cannot be reached"):
            write_during_crash()
    finally:
        server().start()
    assert [row.text for row in observations.all()] == ["before"]
    assert observations.row_numbers_with(["half"], at_most=9) == []
    assert observations.repair().problems == ()
    add_observation(observations, "after")
    assert [row.text for row in observations.all()] == ["before", "after"]


def test_purged_text_is_in_no_table_file_after_scrub(
    observations: PostgresObservations, database: WatchedDatabase
) -> None:
    kept, gone = add_observation(observations, "the kept quokka"), add_observation(observations, "hush4711secret")
    with observations.writing() as writer:
        writer.update(gone, deleted_at=5)
        assert writer.purge(6) == 1
        assert observations.was_purged("hush4711secret")
    assert server().files_containing(b"hush4711secret", excluded_folders=("pg_wal",)), (
        "text of deleted rows must remain until scrub"
    )
    assert observations.scrub()
    assert [row.place for row in observations.all()] == [kept]
    assert not server().files_containing(b"hush4711secret", excluded_folders=("pg_wal",))
    assert observations.row_numbers_with(["quokka"], at_most=9) == [kept]


def test_scrub_returns_false_while_another_process_reads(observations: PostgresObservations) -> None:
    add_observation(observations, "one")
    with closing(PostgresDatabase(server().url, migrations=SCHEMA_STEPS)) as other, other.snapshot():
        assert len(list(PostgresObservations(other).all())) == 1
        assert not observations.scrub()
    assert observations.scrub()


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ("DELETE FROM observation_posting WHERE term = 'quokka'", "word index"),
        ("DELETE FROM observation_place", "directory"),
    ],
)
def test_repair_rebuilds_a_wrong_index(
    observations: PostgresObservations, database: WatchedDatabase, damage: str, message: str
) -> None:
    place = add_observation(observations, "the quokka")
    with database.write() as connection:
        connection.execute(damage.encode())
    [problem] = observations.repair().problems
    assert re.search(message, problem)
    assert observations.repair().problems == ()
    assert observations.row_numbers_with(["quokka"], at_most=9) == [place]
    assert [row.text for row in observations.all()] == ["the quokka"]
