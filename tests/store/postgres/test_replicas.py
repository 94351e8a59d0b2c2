"""Searches read from a streaming standby, never from a stale one, and continue without it."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager, closing
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import quote

import psycopg
import pytest

from deltos.app import App
from deltos.config import Config
from deltos.confinement import Confinement, confined
from deltos.open_stores import open_library
from deltos.store.postgres.health import standby_state
from tests.calling import Desk
from tests.postgres_server import DATABASE, ROLE, ROLE_PASSWORD, Server, empty_database, role_url, server
from tests.repositories import make_repository

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime
    from pathlib import Path

    from deltos.isolated.process_pool import ProcessPool

TIMEOUT_SECONDS = 60.0


class StoreWithSnapshots(Protocol):
    """A store whose snapshots are database connections."""

    def snapshot(self) -> AbstractContextManager[Any]: ...


@pytest.fixture(scope="module")
def standby() -> Iterator[Server]:
    """A standby that replicates the test server."""
    running = Server.standby_of(server())
    yield running
    running.stop()


def standby_url(standby: Server) -> str:
    return f"postgresql://{ROLE}:{quote(ROLE_PASSWORD, safe='')}@127.0.0.1:{standby.port}/{DATABASE}"


def replaying(standby: Server, *, on: bool) -> None:
    """Pause or resume replay on the standby; after resuming, wait until it has caught up."""
    with psycopg.connect(standby.url, autocommit=True) as connection:
        connection.execute("SELECT pg_wal_replay_resume()" if on else "SELECT pg_wal_replay_pause()")
    if on:
        catch_up(standby)


def catch_up(standby: Server) -> None:
    with psycopg.connect(server().url, autocommit=True) as primary, psycopg.connect(standby.url) as follower:
        row = primary.execute("SELECT pg_current_wal_lsn()").fetchone()
        until = time.monotonic() + TIMEOUT_SECONDS
        while follower.execute("SELECT pg_last_wal_replay_lsn() < %s", row).fetchone() == (True,):
            follower.rollback()
            assert time.monotonic() < until
            time.sleep(0.02)


def is_read_from(standby: Server, port: Callable[[], int]) -> bool:
    """Whether searches read from the standby once it has caught up, retrying because writes and connections may delay
    it.
    """
    until = time.monotonic() + TIMEOUT_SECONDS
    while port() != standby.port:
        if time.monotonic() > until:
            return False
        time.sleep(0.1)
        catch_up(standby)
    return True


def answer_from(standby: Server, run_query: Callable[[], str]) -> str:
    """Return an answer that was read from the standby after it caught up."""
    until = time.monotonic() + TIMEOUT_SECONDS
    while True:
        catch_up(standby)
        before = last_read(standby)
        answer = run_query()
        if last_read(standby) > before:
            return answer
        assert time.monotonic() < until
        time.sleep(0.1)


def port_of(store: StoreWithSnapshots) -> int:
    with store.snapshot() as connection:
        return int(connection.info.port)


def last_read(standby: Server) -> datetime:
    """Return the time of the last query of one of our servers on the standby."""
    sql = "SELECT max(query_start) FROM pg_stat_activity WHERE usename = %s"
    with psycopg.connect(standby.url, autocommit=True) as connection:
        row = connection.execute(sql, (ROLE,)).fetchone()
    assert row
    moment: datetime = row[0]
    return moment


def test_memory_and_documentation_are_read_from_an_up_to_date_standby(
    standby: Server, tmp_path: Path, workers: ProcessPool
) -> None:
    empty_database()
    root = make_repository(tmp_path / "served" / "shop", {"walrus.py": "def of_walrus(): ...\n"})
    other = make_repository(tmp_path / "served" / "other", {"docs/a.md": "# Whales\n\nA narwhal has one tusk.\n"})
    config = Config(tmp_path / "home", database=role_url(), standbys=(standby_url(standby),))
    catch_up(standby)
    with closing(App(config, workers=workers)) as app:
        desk = Desk(app.tools(), root)

        def found(query: str) -> str:
            return desk.call("search", query=query, scope=["memory"]).text

        desk.call("remember", text="The walrus is fed at noon", kind="decision")
        for _ in range(2):  # a new observation is found, whether the primary or the standby answers
            assert "fed at noon" in found("walrus fed")
        assert "fed at noon" in answer_from(standby, lambda: found("walrus fed"))
        library = open_library(config.home, config.database, config.standbys)
        for store in (app.domains.memory.store, library.passages, library.apis):
            assert is_read_from(standby, partial(port_of, store))
        with confined(Confinement((other,), {})):
            assert "fed at noon" not in found("walrus fed")

        replaying(standby, on=False)
        desk.call("remember", text="The otter is fed at dusk", kind="decision")
        assert "fed at dusk" in found("otter fed")
        assert port_of(app.domains.memory.store) == server().port
        replaying(standby, on=True)
        assert is_read_from(standby, partial(port_of, app.domains.memory.store))
        assert "fed at dusk" in found("otter fed")


class SearchedProject:
    """A project, and the port of the database that its searches read from."""

    def __init__(self, app: App, root: Path) -> None:
        self._desk = Desk(app.tools(), root)
        self.index = app.domains.projects.at(root)

    def text(self, query: str) -> str:
        return self._desk.call("search_code", query=query).text

    def graph(self, tool: str, symbol: str = "") -> str:
        return (self._desk.call(tool, symbol=symbol) if symbol else self._desk.call(tool)).text

    def port(self) -> int:
        return port_of(self.index.store.code)


def test_code_search_reads_from_the_standby_unless_it_lags_or_is_gone(
    standby: Server, tmp_path: Path, workers: ProcessPool
) -> None:
    empty_database()
    url, root = role_url(), tmp_path / "served" / "shop"
    other = make_repository(tmp_path / "served" / "other", {"zeppelin.py": "def of_zeppelin(): ...\n"})
    make_repository(root, {"walrus.py": "def of_walrus(): ...\n"})
    config = Config(tmp_path / "home", database=url, standbys=(standby_url(standby),))
    with closing(App(config, workers=workers)) as app:
        searched = SearchedProject(app, root)
        searched.index.index()
        app.domains.projects.at(other).index()
        catch_up(standby)
        assert is_read_from(standby, searched.port)
        assert "walrus.py" in searched.text("of_walrus")
        for tool in ("find_symbol", "find_references", "get_impact", "get_context", "get_stats", "detect_circular"):
            symbol = "" if tool in ("get_stats", "detect_circular") else "of_walrus"
            answer = answer_from(standby, partial(searched.graph, tool, symbol))
            assert "walrus.py" in answer or "1 file" in answer
        with confined(Confinement((root,), {})):  # row-level security also applies on the standby
            assert is_read_from(standby, searched.port)
            with searched.index.store.code.snapshot() as connection:
                found = connection.execute("SELECT DISTINCT project FROM file").fetchall()  # type: ignore[attr-defined]
            assert found == [(searched.index.store.tables.key,)]  # type: ignore[attr-defined]

        replaying(standby, on=False)
        (root / "later.py").write_text("def of_narwhal(): ...\n")
        searched.index.index()
        assert searched.port() == server().port
        assert "later.py" in searched.text("of_narwhal")
        replaying(standby, on=True)
        assert is_read_from(standby, searched.port)
        assert "later.py" in searched.text("of_narwhal")

        following_state, primary_state = (standby_state(address) for address in (config.standbys[0], url))
        assert f"127.0.0.1:{standby.port}/{DATABASE}: replicating, " in following_state
        assert "no standby" in primary_state

        standby.kill()
        assert "cannot be reached" in standby_state(config.standbys[0])
        assert "later.py" in searched.text("of_narwhal")
        assert searched.port() == server().port
        answer = searched.text("of_narwhal")
        assert f"127.0.0.1:{standby.port}/{DATABASE} cannot be read from; the primary answers" in answer
        assert ROLE_PASSWORD not in answer
        standby.start()
