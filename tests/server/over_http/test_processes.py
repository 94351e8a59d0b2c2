"""Several server processes: any of them answers requests of 2026-07-28; a session of an older version belongs to one."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from deltos.open_stores import open_tokens
from deltos.server.access import Level
from tests.postgres_server import empty_database, role_url, server
from tests.server.over_http.served import MODERN_META, Served, rpc, tool_call
from tests.server.over_http.test_access import bearer, create_token
from tests.server.raw import WAIT_TIMEOUT_SECONDS, environment, initialize_params, toy_command

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Start = Callable[..., Served]


@pytest.fixture
def database() -> str:
    empty_database()
    return role_url()


@pytest.fixture
def start(manifest_path: Path, tmp_path: Path, database: str) -> Iterator[Start]:
    """Return a function that starts servers that share a database but have separate data folders."""
    running: list[Served] = []

    def start_server(*arguments: str) -> Served:
        home = tmp_path / f"home{len(running)}"
        command = toy_command(manifest_path, str(tmp_path), "--http", "127.0.0.1:0", *arguments)
        running.append(Served(command, home, DELTOS_DATABASE=database))
        return running[-1]

    yield start_server
    for served in running:
        served.dismiss()


def stateless_request(method: str, params: dict[str, object], request_id: object = 1) -> dict[str, object]:
    """Return a request of the protocol version without sessions."""
    return rpc(method, {**params, "_meta": MODERN_META}, request_id)


def stateless_headers(method: str, name: str = "") -> dict[str, str]:
    more = {"Mcp-Name": name} if name else {}
    return {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method, **more}


def test_any_server_answers_a_request_without_a_session(start: Start, tmp_path: Path, database: str) -> None:
    text = create_token(tmp_path, Level.READ, database=database)
    headers = {**bearer(text), **stateless_headers("tools/list")}
    servers = [start("--require-token"), start("--require-token", "--workers", "2")]
    for each in [*servers, *servers, *servers]:
        assert each.post(stateless_request("tools/list", {}), headers).message["result"]["tools"]
    open_tokens(tmp_path, database).revoke(text.split("_")[1], int(time.time()))
    assert [each.post(stateless_request("tools/list", {}), headers).status for each in servers] == [401, 401]


def test_a_folder_cannot_be_chosen_without_a_session(start: Start, tmp_path: Path) -> None:
    called = tool_call("where", directory=str(tmp_path))["params"]
    reply = start().post(stateless_request("tools/call", called), stateless_headers("tools/call", "where"))
    result = reply.message["result"]
    assert result["isError"]
    assert "no session" in result["content"][0]["text"]
    assert "project_path" in result["content"][0]["text"]


def test_a_session_of_an_older_protocol_version_is_known_only_to_its_server(start: Start) -> None:
    first, second = start(), start()
    session = first.open_session()
    assert [each.post(rpc("ping"), session).status for each in (first, second)] == [200, 404]


def test_workers_serve_older_protocol_versions_without_sessions(start: Start) -> None:
    served = start("--workers", "2")
    opened = served.post(rpc("initialize", initialize_params("2025-11-25")))
    assert opened.status == 200
    assert "mcp-session-id" not in opened.headers
    headers = {"MCP-Protocol-Version": "2025-11-25"}
    for n in range(8):
        assert served.post(rpc("tools/list", request_id=n), headers).message["result"]["tools"]
        assert served.text("echo", headers, text="x") == "x"


def test_without_the_database_requests_get_503(start: Start, tmp_path: Path, database: str) -> None:
    headers = {**bearer(create_token(tmp_path, Level.READ, database=database)), **stateless_headers("tools/list")}
    served = start("--require-token")
    server().kill()
    try:
        refused = served.post(stateless_request("tools/list", {}), headers)
        assert refused.status == 503
        assert refused.headers["retry-after"]
        assert served.request(path="/healthz").status == 200
    finally:
        server().start()
    assert served.post(stateless_request("tools/list", {}), headers).status == 200


def test_workers_share_a_port_and_a_crashed_one_is_restarted(start: Start) -> None:
    served = start("--workers", "3")
    (found,) = re.findall(r"serving \d+ tools? at", served.announcement)
    assert found
    workers = _children(served.process.pid)
    assert len(workers) == 3
    os.kill(workers[0], signal.SIGKILL)
    served.wait_for_log("restarting a worker")

    def ask(n: int) -> bool:
        return served.post(stateless_request("tools/list", {}, n + 1), stateless_headers("tools/list")).status == 200

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(ask, range(60)))
    until = time.monotonic() + WAIT_TIMEOUT_SECONDS
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
    until = time.monotonic() + WAIT_TIMEOUT_SECONDS
    while any(_is_there(worker) for worker in workers) and time.monotonic() < until:
        time.sleep(0.05)
    assert not any(_is_there(worker) for worker in workers)


def test_several_workers_require_a_database(manifest_path: Path, tmp_path: Path) -> None:
    command = toy_command(manifest_path, str(tmp_path), "--http", "127.0.0.1:0", "--workers", "2")
    done = subprocess.run(command, env=environment(tmp_path, DELTOS_DATABASE=""), capture_output=True, text=True)
    assert done.returncode == 2
    assert "--workers requires a database" in done.stderr


def _children(process: int) -> list[int]:
    """Return the process ids of a server's workers."""
    return [int(word) for word in Path(f"/proc/{process}/task/{process}/children").read_text("ascii").split()]


def _is_there(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text("ascii").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
