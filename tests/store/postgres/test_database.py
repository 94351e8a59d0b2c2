"""What is promised of a PostgreSQL database: transactions, snapshots, claims, migrations, and errors that say what to do."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from deltos.errors import BadArgument, StoreBusy, StoreError, StoreTooNew
from deltos.store.postgres.database import Database, Migration, undone_on_error
from deltos.store.postgres.errors import place_of
from tests.postgres_server import PASSWORD, Server, server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

NOTES = Migration("notes", "CREATE TABLE note (text text NOT NULL); CREATE TABLE other (n integer)")
MORE = Migration("more", "ALTER TABLE note ADD COLUMN extra integer")
SCHEMA = "of_a_test"


@pytest.fixture
def running() -> Iterator[Server]:
    running = server()
    yield running
    with closing(Database(running.url, migrations=(), schema="public")) as database, database.write() as connection:
        connection.execute(f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE")


@pytest.fixture
def opened(running: Server) -> Iterator[Callable[..., Database]]:
    databases: list[Database] = []

    def opened(migrations: Sequence[Migration] = (NOTES,), **settings: float) -> Database:
        databases.append(Database(running.url, migrations=migrations, schema=SCHEMA, **settings))  # type: ignore[arg-type]
        return databases[-1]

    yield opened
    for database in databases:
        database.close()


def add(database: Database, text: str) -> None:
    with database.write() as connection:
        connection.execute("INSERT INTO note (text) VALUES (%s)", (text,))


def texts(database: Database) -> list[str]:
    return [row[0] for row in database.query("SELECT text FROM note ORDER BY text")]


def test_a_transaction_that_fails_leaves_only_its_steps(opened: Callable[..., Database]) -> None:
    database = opened()

    def fail() -> None:
        with database.write() as connection:
            connection.execute("INSERT INTO note VALUES ('kept')")
            database.commit_step(connection)
            connection.execute("INSERT INTO note VALUES ('lost')")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert texts(database) == ["kept"]


def test_a_part_that_fails_in_the_database_is_taken_back_alone(opened: Callable[..., Database]) -> None:
    database = opened()
    with database.write() as connection:
        connection.execute("INSERT INTO note VALUES ('kept')")
        with pytest.raises(StoreError), database.errors, undone_on_error(connection):
            connection.execute("INSERT INTO note VALUES (NULL)")
        connection.execute("INSERT INTO note VALUES ('too')")
    assert texts(database) == ["kept", "too"]


def test_a_snapshot_sees_one_state_and_a_transaction_its_own(opened: Callable[..., Database]) -> None:
    database, other = opened(), opened()
    with database.snapshot(), database.snapshot():
        assert texts(database) == []
        add(other, "meanwhile")
        assert texts(database) == []
    with database.write() as connection:
        connection.execute("INSERT INTO note VALUES ('own')")
        assert texts(database) == ["meanwhile", "own"]
        assert texts(other) == ["meanwhile"]


def test_a_claim_is_held_by_one_and_ends_with_its_block(opened: Callable[..., Database]) -> None:
    database, other = opened(), opened()
    with database.claim("a") as first, other.claim("a") as second, other.claim("b") as apart:
        assert (first, second, apart) == (True, False, True)
    with other.claim("a") as third:
        assert third


def test_who_lost_a_claim_can_write_nothing_more_under_it(opened: Callable[..., Database]) -> None:
    database, other = opened(), opened()
    add(database, "before")
    with database.claim("a"):
        add(database, "under the claim")
        other.query(
            """SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
               WHERE datname = current_database() AND query LIKE 'SELECT 1' AND pid <> pg_backend_pid()"""
        )
        with other.claim("a") as is_taken_over:
            assert is_taken_over
            with pytest.raises(StoreError):
                add(database, "too late")
    add(database, "after")
    assert texts(database) == ["after", "before", "under the claim"]


def test_text_may_contain_nul(opened: Callable[..., Database]) -> None:
    database = opened()
    add(database, "a\0b")
    with database.write() as connection:
        connection.execute("INSERT INTO note SELECT unnest(%s::text[])", (["c\0d"],))
        with connection.cursor().copy("COPY note (text) FROM STDIN (FORMAT BINARY)") as copy:
            copy.set_types(["text"])
            copy.write_row(("e\0f",))
    assert texts(database) == ["a\ufffdb", "c\ufffdd", "e\ufffdf"]


def test_steps_are_applied_once_and_by_one_at_a_time(opened: Callable[..., Database]) -> None:
    with ThreadPoolExecutor(4) as threads:
        for opening in [threads.submit(opened) for _ in range(4)]:
            opening.result()
    add(opened(), "kept")
    database = opened((NOTES, MORE))
    assert database.query("SELECT text, extra FROM note") == [("kept", None)]
    assert [row[0] for row in database.query("SELECT name FROM migration ORDER BY position")] == ["notes", "more"]


def test_a_step_that_fails_leaves_nothing(opened: Callable[..., Database]) -> None:
    opened()
    with pytest.raises(StoreError):
        opened((NOTES, MORE, Migration("broken", "CREATE TABLE half (n integer); SELECT nothing")))
    database = opened()
    assert database.query("SELECT to_regclass('half')") == [(None,)]
    assert len(database.query("SELECT * FROM migration")) == 1


def test_a_newer_schema_is_refused(opened: Callable[..., Database]) -> None:
    opened((NOTES, MORE))
    with pytest.raises(StoreTooNew, match="'more'"):
        opened((NOTES,))


def test_a_pool_without_a_free_connection_is_named(opened: Callable[..., Database]) -> None:
    database = opened(pool_size=1, wait_seconds=0.2)
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with database.snapshot():
            held.set()
            done.wait()

    holder = threading.Thread(target=hold)
    holder.start()
    held.wait()
    try:
        with pytest.raises(StoreBusy, match=f"1 connections of the pool deltos-{SCHEMA}"):
            database.query("SELECT 1")
    finally:
        done.set()
        holder.join()


def test_a_row_that_another_holds_is_waited_for_and_then_it_is_busy(opened: Callable[..., Database]) -> None:
    database, other = opened(), opened(wait_seconds=0.2)
    add(database, "one")
    with database.write() as connection:
        connection.execute("UPDATE note SET text = 'two'")
        with pytest.raises(StoreBusy), other.write() as waiting:
            waiting.execute("UPDATE note SET text = 'three'")
    assert texts(database) == ["two"]


def test_a_server_that_dies_is_named_nothing_is_acknowledged_and_it_is_used_again_when_it_is_back(
    running: Server, opened: Callable[..., Database]
) -> None:
    database = opened(wait_seconds=2.0)
    add(database, "before")

    def write_into_the_crash() -> None:
        with database.write() as connection:
            connection.execute("INSERT INTO note VALUES ('lost')")
            running.kill()

    try:
        with pytest.raises(StoreError, match="cannot be reached") as told:
            write_into_the_crash()
        assert "not kept" in told.value.hint
        with pytest.raises(StoreError, match="cannot be reached"):
            database.query("SELECT 1")
        with pytest.raises(StoreError, match="cannot be reached"), database.claim("a"):
            pass
    finally:
        running.start()
    assert texts(database) == ["before"]
    add(database, "after")
    assert texts(database) == ["after", "before"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda url: f"{url}2", "Create the database"),
        (lambda url: url.replace("p%40ss", "s3cret"), "Check the user and the password"),
        (lambda _: "postgresql://deltos:s3cret@127.0.0.1:1/deltos", "Is its server running"),
    ],
)
def test_errors_say_what_to_do_and_never_the_password(running: Server, change: Callable[[str], str], said: str) -> None:
    with pytest.raises(StoreError) as told:
        Database(change(running.url), migrations=())
    assert said in str(told.value)
    assert "s3cret" not in str(told.value)
    assert PASSWORD not in str(told.value)


@pytest.mark.parametrize("password", ["s3cret/", "1/s3cret", "@s3cret", "@s3cret:", "x@s3cret:1", "%s3cret"])
def test_an_address_with_an_unescaped_password_is_not_repeated(password: str) -> None:
    with pytest.raises(BadArgument) as told:
        Database(f"postgresql://deltos:{password}@127.0.0.1:5432/deltos", migrations=())
    assert "s3cret" not in str(told.value)
    assert "postgresql://USER" in told.value.hint


@pytest.mark.parametrize(
    ("hosts", "named"),
    [
        ("one:5432,two:5433", "one:5432,two:5433"),
        ("one,two", "one,two"),
        ("one:5432", "one:5432"),
    ],
)
def test_an_address_of_several_servers_is_named_with_all_of_them(hosts: str, named: str) -> None:
    url = f"postgresql://deltos:s3cret@{hosts}/deltos?target_session_attrs=read-write"
    assert place_of(url) == f"postgresql://deltos@{named}/deltos"
