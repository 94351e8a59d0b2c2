"""Failures: running servers with a PostgreSQL database that crashes, runs out of connections or changes its schema."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest

from deltos.errors import StoreBusy
from deltos.open_stores import open_tokens
from deltos.server.access import Level, Tokens
from deltos.store.postgres.database import PostgresDatabase
from deltos.store.postgres.health import find_schema_problem
from deltos.store.postgres.migrations import SCHEMA_STEPS
from tests.postgres_server import Server, another_server, empty_database, role_url, server
from tests.repositories import make_repository
from tests.server.over_http.served import Served, tool_call
from tests.server.raw import WAIT_TIMEOUT_SECONDS, environment
from tests.store.postgres.test_database import (
    EXTRA_COLUMN,
    NOTES,
    SCHEMA,
    add_note,
    note_texts,
    open_database,
    running_server,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.server.raw import JsonObject

__all__ = ["open_database", "running_server"]  # fixtures

_MIGRATION_TO_KILL = f"""
from deltos.store.postgres.database import PostgresDatabase
from deltos.store.migration import Migration
import sys
notes = Migration("notes", "CREATE TABLE note (text text NOT NULL); CREATE TABLE other (n integer)")
half = Migration("half", "CREATE TABLE half (n integer); SELECT pg_sleep(600) AS of_a_test")
PostgresDatabase(sys.stdin.readline().strip(), migrations=(notes, half), schema="{SCHEMA}")
"""


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    """A server for one small project that stores everything in an empty database."""
    make_repository(tmp_path / "shop", {"pay.py": "def pay_invoice():\n    return 1\n"})
    command = [sys.executable, "-P", "-m", "deltos", "mcp", str(tmp_path / "shop"), "--http", "127.0.0.1:0"]
    started = Served(command, tmp_path / "home", DELTOS_DATABASE=empty_database(), DELTOS_EMBED="off")
    yield started
    started.shut_down()


def text_of(result: JsonObject) -> str:
    text: str = result["content"][0]["text"]
    return text


def wait_until(has_happened: Callable[[], bool]) -> None:
    until = time.monotonic() + WAIT_TIMEOUT_SECONDS
    while not has_happened():
        assert time.monotonic() < until
        time.sleep(0.05)


def test_a_server_reports_a_dead_database_and_recovers(running_server: Server, served: Served) -> None:
    session = served.open_session()
    assert "pay.py" in text_of(served.call("search_code", session, query="pay_invoice"))
    assert not served.call("remember", session, text="invoices are paid on Fridays").get("isError")
    assert served.request(path="/readyz").status == 200
    assert re.search(r'deltos_database_connections\{state="open"\} [1-9]', metrics(served))
    running_server.kill()
    try:
        for tool, arguments in (
            ("remember", {"text": "never acknowledged"}),
            ("search_code", {"query": "pay_invoice"}),
            ("search", {"query": "invoices"}),
            ("list_sources", {}),
        ):
            reply = served.post(tool_call(tool, **arguments), session)
            assert reply.message["result"]["isError"], tool
            assert b"The server's database cannot be reached" in reply.body, tool
            assert b"127.0.0.1" not in reply.body
            assert b"p@ss" not in reply.body
            assert b"p%40ss" not in reply.body
        assert served.request(path="/healthz").status == 200
        assert served.request(path="/readyz").status == 503
    finally:
        running_server.start()
    wait_until(lambda: served.request(path="/readyz").status == 200)
    assert "pay.py" in text_of(served.call("search_code", session, query="pay_invoice"))
    assert "Fridays" in text_of(served.call("search", session, query="invoices acknowledged"))
    assert "never acknowledged" not in text_of(served.call("search", session, query="invoices acknowledged"))
    assert not served.call("remember", session, text="another one").get("isError")


@pytest.mark.parametrize(
    ("change", "undo", "expected_status"),
    [
        (
            "DELETE FROM migration WHERE position = (SELECT max(position) FROM migration)",
            "INSERT INTO migration OVERRIDING SYSTEM VALUE SELECT * FROM kept WHERE position NOT IN (SELECT position FROM migration)",
            "the tables of the database are older than this server",
        ),
        (
            "UPDATE migration SET name = 'of-tomorrow' WHERE position = (SELECT max(position) FROM migration)",
            "UPDATE migration SET name = kept.name FROM kept WHERE kept.position = migration.position",
            "the tables of the database are newer than this server",
        ),
    ],
)
def test_a_server_reports_older_or_newer_tables(tmp_path: Path, change: str, undo: str, expected_status: str) -> None:
    make_repository(tmp_path / "shop", {"pay.py": "def pay_invoice():\n    return 1\n"})
    command = [sys.executable, "-P", "-m", "deltos", "mcp", str(tmp_path / "shop"), "--http", "127.0.0.1:0"]
    with psycopg.connect(empty_database(), autocommit=True) as owner:
        owner.execute("SET search_path TO deltos")
        owner.execute("CREATE TEMP TABLE kept AS SELECT * FROM migration")
        owner.execute(change.encode())
        try:
            served = Served(command, tmp_path / "home", DELTOS_DATABASE=role_url(), DELTOS_EMBED="off")
            try:
                wait_until(lambda: served.request(path="/readyz").message != {"status": "starting"})
                reply = served.request(path="/readyz")
                assert (reply.status, reply.message) == (503, {"status": expected_status})
            finally:
                served.shut_down()
        finally:
            owner.execute(undo.encode())


def metrics(served: Served) -> str:
    return served.request(path="/metrics").body.decode()


def test_a_database_without_free_connections_raises_store_busy(running_server: Server) -> None:
    with ExitStack() as taken:
        with suppress(psycopg.OperationalError):
            while True:
                taken.enter_context(psycopg.connect(running_server.url))
        with pytest.raises(StoreBusy, match="too many clients") as expected_status:
            PostgresDatabase(running_server.url, migrations=())
        assert "max_connections" in expected_status.value.hint


def test_a_killed_migration_is_rolled_back_and_the_next_one_succeeds(
    running_server: Server, open_database: Callable[..., PostgresDatabase], tmp_path: Path
) -> None:
    add_note(open_database(), "kept")
    migrating = subprocess.Popen(
        [sys.executable, "-c", _MIGRATION_TO_KILL], stdin=subprocess.PIPE, env=environment(tmp_path), text=True
    )
    assert migrating.stdin
    migrating.stdin.write(f"{running_server.url}\n")
    migrating.stdin.flush()
    with closing(psycopg.connect(running_server.url, autocommit=True)) as looking:
        busy = "SELECT 1 FROM pg_stat_activity WHERE query LIKE '%of_a_test' AND pid <> pg_backend_pid()"
        wait_until(lambda: looking.execute(busy).fetchone() is not None)
        migrating.kill()
        migrating.wait()
    migrating.stdin.close()
    database = open_database((NOTES, EXTRA_COLUMN))
    assert database.query("SELECT text, extra FROM note") == [("kept", None)]
    assert database.query("SELECT to_regclass('half')") == [(None,)]


def test_a_running_older_server_continues_after_a_newer_migration(
    open_database: Callable[..., PostgresDatabase],
) -> None:
    older = open_database((NOTES,))
    add_note(older, "before")
    newer = open_database((NOTES, EXTRA_COLUMN))
    add_note(older, "after")
    assert note_texts(older) == note_texts(newer) == ["after", "before"]


def test_token_times_use_the_clock_of_the_server_process(tmp_path: Path) -> None:
    ahead = time.time() + 86_400
    clock = [ahead]
    tokens = Tokens(open_tokens(tmp_path, empty_database()), lambda: clock[0])
    _, text = tokens.create("ci", Level.READ, [], 60)
    clock[0] = ahead + 59
    assert tokens.verify(text)
    clock[0] = ahead + 61
    assert tokens.verify(text) is None
    clock[0] = ahead - 172_800  # the clock of the server process was set back
    assert tokens.verify(text)


# Files whose times are both written by the database and compared with its clock.
DATABASE_CLOCK_FILES = frozenset(("jobs.py", "health.py"))


def test_no_statement_compares_process_time_with_database_time() -> None:
    sources = Path(sys.modules[PostgresDatabase.__module__].__file__ or "").parent
    client = re.compile(r"(?i)\b(?:now|clock_timestamp|statement_timestamp)\(\)|\bcurrent_timestamp\b")
    found = {
        f"{path.name}: {line.strip()}"
        for path in sources.rglob("*.py")
        for line in path.read_text("utf-8").splitlines()
        if client.search(line) and "self._now()" not in line and path.name not in DATABASE_CLOCK_FILES
    }
    assert len(found) == 1, found  # the time at which a migration was applied, which is only displayed
    assert "INSERT INTO migration" in found.pop()


def test_servers_find_a_promoted_standby_and_lose_nothing(tmp_path: Path) -> None:
    primary = another_server()
    with closing(psycopg.connect(primary.url, autocommit=True)) as connection:
        connection.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
    standby = Server.start_standby(primary)
    with closing(psycopg.connect(primary.url, autocommit=True)) as connection:
        connection.execute("SELECT pg_reload_conf()")
    make_repository(tmp_path / "shop", {"pay.py": "def pay_invoice():\n    return 1\n"})
    hosts = f"127.0.0.1:{primary.port},127.0.0.1:{standby.port}"
    url = primary.url.replace(f"127.0.0.1:{primary.port}", hosts) + "?target_session_attrs=read-write"
    command = [sys.executable, "-P", "-m", "deltos", "mcp", str(tmp_path / "shop"), "--http", "127.0.0.1:0"]
    served = Served(command, tmp_path / "home", DELTOS_DATABASE=url, DELTOS_EMBED="off")
    try:
        session = served.open_session()
        assert "pay.py" in text_of(served.call("search_code", session, query="pay_invoice"))
        assert not served.call("remember", session, text="invoices are paid on Fridays").get("isError")
        primary.kill()
        refused = served.call("remember", session, text="the zebra was never acknowledged")
        assert refused["isError"]
        assert "The server's database" in text_of(refused)
        with closing(psycopg.connect(standby.url, autocommit=True)) as connection:
            connection.execute("ALTER SYSTEM RESET synchronous_standby_names")
            connection.execute("SELECT pg_reload_conf()")
            connection.execute("SELECT pg_promote(true, 60)")
        wait_until(lambda: served.request(path="/readyz").status == 200)
        assert "Fridays" in text_of(served.call("search", session, query="invoices acknowledged"))
        assert "pay.py" in text_of(served.call("search_code", session, query="pay_invoice"))
        assert not served.call("remember", session, text="another one about otters").get("isError")
        assert "otters" in text_of(served.call("search", session, query="otters", scope=["memory"]))
        assert "was never" not in text_of(served.call("search", session, query="zebra", scope=["memory"]))
    finally:
        served.shut_down()
        standby.stop()
        for stopped in (primary, standby):
            stopped.remove()


def test_a_database_of_an_earlier_version_loses_tables_that_are_no_longer_used() -> None:
    with psycopg.connect(empty_database(), autocommit=True) as owner:
        owner.execute("SET search_path TO deltos")
        owner.execute("DELETE FROM migration WHERE name IN ('http-sessions-002', 'code-003')")
        owner.execute("INSERT INTO migration SELECT max(position) + 1, 'http-sessions-001', now() FROM migration")
        owner.execute("CREATE TABLE http_session (key bytea PRIMARY KEY)")
        try:
            with closing(PostgresDatabase(server().url, migrations=SCHEMA_STEPS)) as database:
                assert database.query("SELECT to_regclass('http_session')") == [(None,)]
                assert find_schema_problem(database) == ""  # the steps may have been applied in another order
        finally:
            owner.execute("DELETE FROM migration WHERE name = 'http-sessions-001'")
