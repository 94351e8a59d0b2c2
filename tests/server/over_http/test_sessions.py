"""Sessions of protocol versions before 2026-07-28, and limits per caller."""

from __future__ import annotations

import http.client
import re
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from deltos.server.access import Level
from deltos.server.http.caller_id import caller_id
from tests.server.over_http.served import rpc, tool_call
from tests.server.over_http.test_access import OPENING, bearer, create_token
from tests.server.raw import WAIT_TIMEOUT_SECONDS

if TYPE_CHECKING:
    from pathlib import Path

    from tests.server.over_http.conftest import Serve
    from tests.server.over_http.served import Served


def open_session_count(server: Served, headers: dict[str, str] | None = None) -> int:
    text = server.request(path="/metrics", headers=headers).body.decode()
    found = re.search(r"^deltos_sessions (\d+)", text, re.MULTILINE)
    assert found
    return int(found[1])


def is_session_open(server: Served, session: dict[str, str]) -> bool:
    return server.post(rpc("ping"), session).status == 200


def test_a_single_token_cannot_occupy_all_sessions(serve: Serve, tmp_path: Path) -> None:
    greedy, modest = bearer(create_token(tmp_path, Level.ADMIN)), bearer(create_token(tmp_path, Level.READ))
    server = serve("--require-token", "--max-sessions", "8")
    taken = [server.open_session(greedy) for _ in range(6)]
    assert server.post(OPENING, greedy).status == 503
    own = [server.open_session(modest) for _ in range(2)]
    assert server.post(OPENING, modest).status == 503
    assert all(is_session_open(server, session) for session in (*taken, *own))
    assert open_session_count(server, greedy) == 8
    assert server.request("DELETE", headers=taken[0]).status == 200
    assert is_session_open(server, server.open_session(modest))


def test_the_gauge_counts_open_sessions(serve: Serve) -> None:
    server = serve()
    sessions = [server.open_session() for _ in range(3)]
    assert open_session_count(server) == 3
    assert server.request("DELETE", headers=sessions[0]).status == 200
    assert server.post(rpc("ping"), {"Mcp-Session-Id": "0" * 32}).status == 404
    assert server.post(b"{}").status == 400
    assert server.post(rpc("tools/list")).status == 400  # a request without a session opens none
    assert open_session_count(server) == 2


def test_a_caller_cannot_end_a_session_of_another_caller(serve: Serve, tmp_path: Path) -> None:
    one, other = bearer(create_token(tmp_path, Level.ADMIN)), bearer(create_token(tmp_path, Level.READ))
    server = serve("--require-token")
    session = server.open_session(one)
    assert server.request("DELETE", headers={**session, **other}).status == 404
    assert is_session_open(server, session)
    assert open_session_count(server, one) == 1


def test_a_resumed_stream_does_not_replay_old_events(serve: Serve) -> None:
    server = serve()
    session = server.open_session()
    connection = http.client.HTTPConnection(
        str(server.address.hostname), server.address.port, timeout=WAIT_TIMEOUT_SECONDS
    )
    headers = {**session, "Accept": "text/event-stream", "Last-Event-ID": "7"}
    connection.request("GET", "/mcp", headers=headers)
    answer = connection.getresponse()
    assert (answer.status, answer.getheader("content-type", "").split(";")[0]) == (200, "text/event-stream")
    connection.close()
    assert is_session_open(server, session)


def test_many_requests_of_one_caller_do_not_block_others(serve: Serve, tmp_path: Path) -> None:
    greedy, modest = bearer(create_token(tmp_path, Level.ADMIN)), bearer(create_token(tmp_path, Level.READ))
    server = serve("--require-token", "--max-concurrent", "8")
    session, until = server.open_session(greedy), tmp_path / "go"
    with ThreadPoolExecutor(6) as pool:
        calls = [{**tool_call("hold", until=str(until)), "id": number} for number in range(6)]
        running = [pool.submit(server.post, call, session) for call in calls]
        for _ in running:
            server.wait_for_log("holding")
        assert server.post(rpc("ping"), session).status == 503
        assert server.post(OPENING, modest).status == 200
        until.touch()
        assert {one.result(WAIT_TIMEOUT_SECONDS).status for one in running} == {200}
    assert server.post(rpc("ping"), session).status == 200


def test_all_addresses_of_an_ipv6_network_are_one_caller() -> None:
    def caller(address: str) -> str:
        return caller_id({"type": "http", "client": (address, 1)})

    assert caller("2001:db8::1") == caller("2001:db8::ffff:2") != caller("2001:db8:0:1::1")
    assert caller("::ffff:10.0.0.1") == caller("10.0.0.1") != caller("10.0.0.2")


def test_three_hundred_concurrent_sessions_are_served(serve: Serve) -> None:
    server = serve()
    with ThreadPoolExecutor(60) as pool:
        sessions = list(pool.map(lambda _: server.open_session(), range(300)))
        answers = list(pool.map(lambda session: server.text("echo", session, text="x"), sessions))
    assert answers == ["x"] * 300
    assert open_session_count(server) == 300
