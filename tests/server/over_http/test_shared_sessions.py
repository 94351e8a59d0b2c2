"""Servers with a shared database share sessions: each of them can continue a valid session of another."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest

from deltos.open_stores import open_tokens
from deltos.server.access import Level
from deltos.store.postgres.database import SCHEMA
from tests.postgres_server import empty_database, role_url, server
from tests.server.over_http.served import Served, rpc
from tests.server.over_http.test_access import bearer, create
from tests.server.raw import PATIENCE_SECONDS, environment, toy_command

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Start = Callable[..., Served]


@pytest.fixture
def database() -> str:
    empty_database()
    return role_url()


@pytest.fixture
def start(manifest_path: Path, tmp_path: Path, database: str) -> Iterator[Start]:
    """Return a function that starts servers with one database, as on several machines, each with its own data folder."""
    running: list[Served] = []

    def begin(*arguments: str) -> Served:
        home = tmp_path / f"home{len(running)}"
        command = toy_command(manifest_path, str(tmp_path), "--http", "127.0.0.1:0", *arguments)
        running.append(Served(command, home, DELTOS_DATABASE=database))
        return running[-1]

    yield begin
    for served in running:
        served.dismiss()


def lives(server: Served, session: dict[str, str]) -> bool:
    return server.post(rpc("ping"), session).status == 200


def test_another_server_continues_a_session_when_its_server_is_killed(
    start: Start, tmp_path: Path, database: str
) -> None:
    token = bearer(create(tmp_path, Level.ADMIN, database=database))
    first, second = start("--require-token"), start("--require-token")
    (tmp_path / "chosen").mkdir()
    session = first.open_session(token)
    assert first.text("where", session, directory=str(tmp_path / "chosen")) == str(tmp_path / "chosen")
    reply = second.post(rpc("tools/list"), session)
    assert reply.status == 200
    assert reply.headers["mcp-session-id"] == session["Mcp-Session-Id"]
    assert second.text("where", session) == str(tmp_path / "chosen")
    first.process.send_signal(signal.SIGKILL)
    first.process.wait(PATIENCE_SECONDS)
    assert second.text("where", session) == str(tmp_path / "chosen")
    third = start("--require-token")
    assert third.text("where", session, directory=str(tmp_path)) == str(tmp_path)
    assert second.text("where", session) == str(tmp_path)  # the project chosen on the first server applies here


def test_on_every_server_a_session_belongs_to_the_token_that_opened_it(
    start: Start, tmp_path: Path, database: str
) -> None:
    mine, theirs = (bearer(create(tmp_path, Level.READ, database=database)) for _ in range(2))
    first, second = start("--require-token"), start("--require-token")
    session = first.open_session(mine)
    for each in (first, second):
        stolen = each.post(rpc("ping"), {**session, **theirs})
        assert stolen.status == 404
        assert stolen.body == each.post(rpc("ping"), {**theirs, "Mcp-Session-Id": "0" * 32}).body
        assert lives(each, session)


def test_a_token_revoked_during_a_session_is_rejected_by_every_server(
    start: Start, tmp_path: Path, database: str
) -> None:
    text = create(tmp_path, Level.ADMIN, database=database)
    servers = [start("--require-token"), start("--require-token")]
    session = servers[0].open_session(bearer(text))
    assert all(lives(each, session) for each in servers)
    open_tokens(tmp_path, database).revoke(text.split("_")[1], int(time.time()))
    assert [each.post(rpc("ping"), session).status for each in servers] == [401, 401]


def test_a_session_that_ended_or_expired_has_ended_on_every_server(start: Start) -> None:
    first, second = start(), start()
    ended, unused = first.open_session(), first.open_session()
    assert lives(second, ended)
    assert first.request("DELETE", headers=ended).status == 200
    assert not lives(second, ended)
    assert lives(second, unused)
    with psycopg.connect(server().url, autocommit=True) as connection:
        connection.execute(f"UPDATE {SCHEMA}.http_session SET used_at = now() - interval '31 minutes'")
    assert [each.post(rpc("ping"), unused).status for each in (first, second)] == [404, 404]


def test_the_session_limit_applies_to_all_servers_together(start: Start, tmp_path: Path, database: str) -> None:
    greedy, modest = (bearer(create(tmp_path, Level.READ, database=database)) for _ in range(2))
    servers = [start("--require-token", "--max-sessions", "4") for _ in range(2)]
    taken = [servers[n % 2].open_session(greedy) for n in range(4)]
    late = servers[1].open_session(modest)
    assert [lives(servers[0], session) for session in taken].count(True) == 3
    assert lives(servers[0], late)
    with psycopg.connect(server().url) as connection:
        assert connection.execute(f"SELECT count(*) FROM {SCHEMA}.http_session").fetchone() == (4,)


def test_without_the_database_requests_get_503_and_sessions_continue_afterwards(
    start: Start, tmp_path: Path, database: str
) -> None:
    token = bearer(create(tmp_path, Level.READ, database=database))
    served = start("--require-token")
    session = served.open_session(token)
    server().kill()
    try:
        refused = served.post(rpc("ping"), session)
        assert refused.status == 503
        assert refused.headers["retry-after"]
        assert served.request(path="/healthz").status == 200
    finally:
        server().start()
    assert lives(served, session)


def test_workers_share_a_port_and_a_crashed_one_is_restarted(start: Start) -> None:
    served = start("--workers", "3")
    session = served.open_session()
    (found,) = re.findall(r"serving \d+ tools? at", served.announcement)
    assert found
    workers = _children(served.process.pid)
    assert len(workers) == 3
    os.kill(workers[0], signal.SIGKILL)
    served.wait_for_log("restarting a worker that ended")

    def ask(n: int) -> bool:
        return served.post(rpc("ping", request_id=n + 1), session).status == 200

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(ask, range(60)))
    until = time.monotonic() + PATIENCE_SECONDS
    while len(now := _children(served.process.pid)) < 3 and time.monotonic() < until:
        time.sleep(0.05)
    assert workers[0] not in now
    assert len(now) == 3
    assert served.stop() == 0
    assert not any(_is_there(worker) for worker in now)


def test_workers_end_when_the_supervisor_is_killed(start: Start) -> None:
    served = start("--workers", "2")
    workers = _children(served.process.pid)
    served.process.kill()
    until = time.monotonic() + PATIENCE_SECONDS
    while any(_is_there(worker) for worker in workers) and time.monotonic() < until:
        time.sleep(0.05)
    assert not any(_is_there(worker) for worker in workers)


def test_several_workers_require_a_database(manifest_path: Path, tmp_path: Path) -> None:
    command = toy_command(manifest_path, str(tmp_path), "--http", "127.0.0.1:0", "--workers", "2")
    done = subprocess.run(command, env=environment(tmp_path, DELTOS_DATABASE=""), capture_output=True, text=True)
    assert done.returncode == 2
    assert "--workers needs a database" in done.stderr


def _children(process: int) -> list[int]:
    """Return the process ids of a server's workers."""
    return [int(word) for word in Path(f"/proc/{process}/task/{process}/children").read_text("ascii").split()]


def _is_there(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text("ascii").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
