"""Several server processes: any of them answers requests of 2026-07-28; a session of an older version belongs to one."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from deltos.open_stores import open_tokens
from deltos.server.access import Level
from tests.postgres_server import empty_database, role_url, server
from tests.server.over_http.served import MODERN_META, Served, rpc, tool_call
from tests.server.over_http.test_access import bearer, create_token
from tests.server.raw import toy_command

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

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
        served.shut_down()


def stateless_request(method: str, params: dict[str, object], request_id: object = 1) -> dict[str, object]:
    """Return a request of the protocol version without sessions."""
    return rpc(method, {**params, "_meta": MODERN_META}, request_id)


def stateless_headers(method: str, name: str = "") -> dict[str, str]:
    more = {"Mcp-Name": name} if name else {}
    return {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method, **more}


def test_any_server_answers_a_request_without_a_session(start: Start, tmp_path: Path, database: str) -> None:
    text = create_token(tmp_path, Level.READ, database=database)
    headers = {**bearer(text), **stateless_headers("tools/list")}
    servers = [start("--require-token"), start("--require-token")]
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
