"""PostgreSQL databases: transactions, snapshots, locks, migrations, and error messages with hints."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from deltos.errors import BadArgument, StoreBusy, StoreError, StoreTooNew
from deltos.store.migration import Migration
from deltos.store.postgres.database import PostgresDatabase, savepoint
from deltos.store.postgres.errors import describe_address
from tests.postgres_server import PASSWORD, Server, server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

NOTES = Migration("notes", "CREATE TABLE note (text text NOT NULL); CREATE TABLE other (n integer)")
EXTRA_COLUMN = Migration("more", "ALTER TABLE note ADD COLUMN extra integer")
SCHEMA = "of_a_test"


@pytest.fixture
def running_server() -> Iterator[Server]:
    running_server = server()
    yield running_server
    with (
        closing(PostgresDatabase(running_server.url, migrations=(), schema="public")) as database,
        database.write() as connection,
    ):
        connection.execute(f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE")


@pytest.fixture
def open_database(running_server: Server) -> Iterator[Callable[..., PostgresDatabase]]:
    databases: list[PostgresDatabase] = []

    def open_database(migrations: Sequence[Migration] = (NOTES,), **settings: float) -> PostgresDatabase:
        databases.append(PostgresDatabase(running_server.url, migrations=migrations, schema=SCHEMA, **settings))  # type: ignore[arg-type]
        return databases[-1]

    yield open_database
    for database in databases:
        database.close()


def add_note(database: PostgresDatabase, text: str) -> None:
    with database.write() as connection:
        connection.execute("INSERT INTO note (text) VALUES (%s)", (text,))


def note_texts(database: PostgresDatabase) -> list[str]:
    return [row[0] for row in database.query("SELECT text FROM note ORDER BY text")]


def test_a_failed_transaction_keeps_only_committed_steps(open_database: Callable[..., PostgresDatabase]) -> None:
    database = open_database()

    def fail() -> None:
        with database.write() as connection:
            connection.execute("INSERT INTO note VALUES ('kept')")
            database.commit_step(connection)
            connection.execute("INSERT INTO note VALUES ('lost')")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert note_texts(database) == ["kept"]


def test_a_failed_savepoint_is_rolled_back_without_its_transaction(
    open_database: Callable[..., PostgresDatabase],
) -> None:
    database = open_database()
    with database.write() as connection:
        connection.execute("INSERT INTO note VALUES ('kept')")
        with pytest.raises(StoreError), database.errors, savepoint(connection):
            connection.execute("INSERT INTO note VALUES (NULL)")
        connection.execute("INSERT INTO note VALUES ('too')")
    assert note_texts(database) == ["kept", "too"]


def test_a_snapshot_is_consistent_and_a_transaction_reads_its_own_writes(
    open_database: Callable[..., PostgresDatabase],
) -> None:
    database, other = open_database(), open_database()
    with database.snapshot(), database.snapshot():
        assert note_texts(database) == []
        add_note(other, "meanwhile")
        assert note_texts(database) == []
    with database.write() as connection:
        connection.execute("INSERT INTO note VALUES ('own')")
        assert note_texts(database) == ["meanwhile", "own"]
        assert note_texts(other) == ["meanwhile"]


def test_an_advisory_lock_has_one_holder_and_ends_with_its_block(
    open_database: Callable[..., PostgresDatabase],
) -> None:
    database, other = open_database(), open_database()
    with database.try_lock("a") as first, other.try_lock("a") as second, other.try_lock("b") as other_key:
        assert (first, second, other_key) == (True, False, True)
    with other.try_lock("a") as third:
        assert third


def test_a_process_that_lost_its_lock_cannot_write_under_it(open_database: Callable[..., PostgresDatabase]) -> None:
    database, other = open_database(), open_database()
    add_note(database, "before")
    with database.try_lock("a"):
        add_note(database, "under the lock")
        other.query(
            """SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
               WHERE datname = current_database() AND query LIKE 'SELECT 1' AND pid <> pg_backend_pid()"""
        )
        with other.try_lock("a") as is_taken_over:
            assert is_taken_over
            with pytest.raises(StoreError):
                add_note(database, "too late")
    add_note(database, "after")
    assert note_texts(database) == ["after", "before", "under the lock"]


def test_nul_in_text_is_replaced(open_database: Callable[..., PostgresDatabase]) -> None:
    database = open_database()
    add_note(database, "a\0b")
    with database.write() as connection:
        connection.execute("INSERT INTO note SELECT unnest(%s::text[])", (["c\0d"],))
        with connection.cursor().copy("COPY note (text) FROM STDIN (FORMAT BINARY)") as copy:
            copy.set_types(["text"])
            copy.write_row(("e\0f",))
    assert note_texts(database) == ["a\ufffdb", "c\ufffdd", "e\ufffdf"]


def test_concurrent_opens_apply_migrations_once(open_database: Callable[..., PostgresDatabase]) -> None:
    with ThreadPoolExecutor(4) as threads:
        for opening in [threads.submit(open_database) for _ in range(4)]:
            opening.result()
    add_note(open_database(), "kept")
    database = open_database((NOTES, EXTRA_COLUMN))
    assert database.query("SELECT text, extra FROM note") == [("kept", None)]
    assert [row[0] for row in database.query("SELECT name FROM migration ORDER BY position")] == ["notes", "more"]


def test_a_failed_migration_is_rolled_back(open_database: Callable[..., PostgresDatabase]) -> None:
    open_database()
    with pytest.raises(StoreError):
        open_database((NOTES, EXTRA_COLUMN, Migration("broken", "CREATE TABLE half (n integer); SELECT nothing")))
    database = open_database()
    assert database.query("SELECT to_regclass('half')") == [(None,)]
    assert len(database.query("SELECT * FROM migration")) == 1


def test_a_step_inserted_before_applied_steps_is_added(open_database: Callable[..., PostgresDatabase]) -> None:
    open_database((NOTES, EXTRA_COLUMN))
    inserted = Migration("tags", "CREATE TABLE tag (name text)")
    database = open_database((NOTES, inserted, EXTRA_COLUMN))
    assert database.query("SELECT count(*) FROM tag") == [(0,)]
    assert {row[0] for row in database.query("SELECT name FROM migration")} == {"notes", "tags", "more"}
    assert open_database((NOTES, inserted, EXTRA_COLUMN)).query("SELECT count(*) FROM migration") == [(3,)]


def test_a_newer_schema_is_refused(open_database: Callable[..., PostgresDatabase]) -> None:
    open_database((NOTES, EXTRA_COLUMN))
    with pytest.raises(StoreTooNew, match="'more'"):
        open_database((NOTES,))


def test_the_error_names_a_pool_without_a_free_connection(open_database: Callable[..., PostgresDatabase]) -> None:
    database = open_database(pool_size=1, wait_seconds=0.2)
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


def test_waiting_too_long_for_a_locked_row_raises_store_busy(open_database: Callable[..., PostgresDatabase]) -> None:
    database, other = open_database(), open_database(wait_seconds=0.2)
    add_note(database, "one")
    with database.write() as connection:
        connection.execute("UPDATE note SET text = 'two'")
        with pytest.raises(StoreBusy), other.write() as waiting:
            waiting.execute("UPDATE note SET text = 'three'")
    assert note_texts(database) == ["two"]


def test_a_crashed_server_is_reported_loses_only_uncommitted_writes_and_is_used_again(
    running_server: Server, open_database: Callable[..., PostgresDatabase]
) -> None:
    database = open_database(wait_seconds=2.0)
    add_note(database, "before")

    def write_during_crash() -> None:
        with database.write() as connection:
            connection.execute("INSERT INTO note VALUES ('lost')")
            running_server.kill()

    try:
        with pytest.raises(StoreError, match="cannot be reached") as raised:
            write_during_crash()
        assert "Uncommitted writes are lost" in raised.value.hint
        with pytest.raises(StoreError, match="cannot be reached"):
            database.query("SELECT 1")
        with pytest.raises(StoreError, match="cannot be reached"), database.try_lock("a"):
            pass
    finally:
        running_server.start()
    assert note_texts(database) == ["before"]
    add_note(database, "after")
    assert note_texts(database) == ["after", "before"]


@pytest.mark.parametrize(
    ("change", "hint"),
    [
        (lambda url: f"{url}2", "Create the database"),
        (lambda url: url.replace("p%40ss", "s3cret"), "Check the user and the password"),
        (lambda _: "postgresql://deltos:s3cret@127.0.0.1:1/deltos", "Check that the database server is running"),
    ],
)
def test_errors_have_a_hint_and_never_the_password(
    running_server: Server, change: Callable[[str], str], hint: str
) -> None:
    with pytest.raises(StoreError) as raised:
        PostgresDatabase(change(running_server.url), migrations=())
    assert hint in str(raised.value)
    assert "s3cret" not in str(raised.value)
    assert PASSWORD not in str(raised.value)


@pytest.mark.parametrize("password", ["s3cret/", "1/s3cret", "@s3cret", "@s3cret:", "x@s3cret:1", "%s3cret"])
def test_a_database_url_with_an_unescaped_password_is_not_repeated_in_errors(password: str) -> None:
    with pytest.raises(BadArgument) as raised:
        PostgresDatabase(f"postgresql://deltos:{password}@127.0.0.1:5432/deltos", migrations=())
    assert "s3cret" not in str(raised.value)
    assert "postgresql://USER" in raised.value.hint


@pytest.mark.parametrize(
    ("hosts", "named"),
    [
        ("one:5432,two:5433", "one:5432,two:5433"),
        ("one,two", "one,two"),
        ("one:5432", "one:5432"),
    ],
)
def test_a_database_url_with_several_servers_is_shown_with_all_of_them(hosts: str, named: str) -> None:
    url = f"postgresql://deltos:s3cret@{hosts}/deltos?target_session_attrs=read-write"
    assert describe_address(url) == f"postgresql://deltos@{named}/deltos"
