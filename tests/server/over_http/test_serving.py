"""Answers over HTTP, with and without a handshake."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import anyio
import pytest
from mcp import Client

from deltos.hook_settings import TOOLSETS_FILE
from deltos.server.access import Level
from tests.server.over_http.served import MODERN_META, rpc, tool_call
from tests.server.over_http.test_access import bearer, create_token
from tests.server.raw import initialize_params
from tests.server.test_clients import text_of

if TYPE_CHECKING:
    from pathlib import Path

    import mcp_types as types

    from tests.server.over_http.conftest import Serve
    from tests.server.over_http.served import Served

CLIENT_MODES = ("legacy", "auto")
HANDSHAKES = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
STATELESS_HEADERS = {"MCP-Protocol-Version": "2026-07-28"}
pytestmark = pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")


@pytest.mark.parametrize("mode", CLIENT_MODES)
def test_every_protocol_version_lists_and_calls_tools(server: Served, mode: str) -> None:
    steps: list[float] = []

    async def listen(progress: float, total: float | None, message: str | None) -> None:
        steps.append(progress)

    async def scenario() -> None:
        async with Client(server.url, mode=mode) as client:
            assert client.server_info
            assert client.server_info.name == "deltos"
            assert (await client.list_tools()).tools[0].name == "echo"
            assert text_of(await client.call_tool("echo", {"text": "hello"})) == "hello"
            assert (await client.call_tool("structured", {})).structured_content["results"] == [{"name": "naïve"}]
            assert (await client.call_tool("fail", {"how": "known"})).is_error is True
            await client.call_tool("count_steps", {"steps": 7}, progress_callback=listen)

    anyio.run(scenario)
    assert (steps[0], steps[-1]) == (1, 7)


@pytest.mark.parametrize("version", HANDSHAKES)
def test_every_handshake_version_is_supported(server: Served, version: str) -> None:
    opened = server.post(rpc("initialize", initialize_params(version)))
    assert opened.message["result"]["protocolVersion"] == version
    session = {"Mcp-Session-Id": opened.headers["mcp-session-id"], "MCP-Protocol-Version": version}
    server.post({"jsonrpc": "2.0", "method": "notifications/initialized"}, session)
    assert server.text("echo", session, text="x") == "x"
    assert server.request("DELETE", headers=session).status == 200
    assert server.post(rpc("ping"), session).status == 404


def test_requests_of_the_stateless_version_are_independent(server: Served) -> None:
    headers = {**STATELESS_HEADERS, "Mcp-Method": "tools/call", "Mcp-Name": "echo"}
    call = tool_call("echo", text="x")
    call["params"]["_meta"] = MODERN_META
    reply = server.post(call, headers)
    assert reply.message["result"]["content"][0]["text"] == "x"
    assert "mcp-session-id" not in reply.headers


def test_each_session_has_a_separate_conversation(server: Served, tmp_path: Path) -> None:
    one, other = server.open_session(), server.open_session()
    start = server.text("where", other)
    assert server.text("where", one, directory=str(tmp_path)) == str(tmp_path)
    assert server.text("where", one) == str(tmp_path)
    assert server.text("where", other) == start


def test_pings_are_answered_while_a_call_runs(server: Served, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Client(server.url, mode="legacy") as client, anyio.create_task_group() as tasks:
            results: list[types.CallToolResult] = []

            async def call_hold() -> None:
                results.append(await client.call_tool("hold", {"until": str(tmp_path / "go")}))

            tasks.start_soon(call_hold)
            await anyio.to_thread.run_sync(server.wait_for_log, "holding")
            await client.send_ping()
            assert results == []
            (tmp_path / "go").touch()
            tasks.cancel_scope.shield = True
        assert text_of(results[0]) == "let go"

    anyio.run(scenario)


@pytest.mark.parametrize("mode", CLIENT_MODES)
def test_a_cancelled_call_stops_its_tool(server: Served, mode: str) -> None:
    async def scenario() -> None:
        async with Client(server.url, mode=mode) as client:
            with anyio.CancelScope() as scope:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(client.call_tool, "wait_until_cancelled", {})
                    await anyio.to_thread.run_sync(server.wait_for_log, "waiting")
                    scope.cancel()
            await anyio.to_thread.run_sync(server.wait_for_log, "noticed the cancellation")

    anyio.run(scenario)


def test_an_unknown_method_gets_the_specified_error(server: Served) -> None:
    assert server.post(rpc("no/such"), server.open_session()).message["error"]["code"] == -32601
    unknown = rpc("no/such", {"_meta": MODERN_META})
    reply = server.post(unknown, {**STATELESS_HEADERS, "Mcp-Method": "no/such"})
    assert (reply.status, reply.message["error"]["code"]) == (404, -32601)


def test_the_log_level_applies_only_to_its_session(server: Served) -> None:
    quiet, loud = server.open_session(), server.open_session()
    assert server.post(rpc("logging/setLevel", {"level": "error"}), quiet).message["result"] == {}
    heard = {
        name: b"notifications/message" in server.post(tool_call("structured", cut=True), session).body
        for name, session in (("quiet", quiet), ("loud", loud))
    }
    assert heard == {"quiet": False, "loud": True}


@pytest.mark.parametrize("mode", CLIENT_MODES)
def test_clients_are_notified_of_changed_toolsets(serve: Serve, tmp_path: Path, mode: str) -> None:
    server = serve()

    async def scenario() -> None:
        changed = anyio.Event()

        async def receive_message(message: object) -> None:
            if getattr(message, "method", "") == "notifications/tools/list_changed":
                changed.set()

        async with (
            Client(server.url, mode=mode, message_handler=receive_message) as client,
            anyio.create_task_group() as tasks,
        ):
            assert "echo" in [tool.name for tool in (await client.list_tools()).tools]
            if mode == "auto":
                await _listen(client, tasks, changed)
            (tmp_path / TOOLSETS_FILE).write_text("memory")
            await changed.wait()
            assert (await client.list_tools(cache_mode="bypass")).tools == []
            assert "Unknown tool" in text_of(await client.call_tool("echo", {"text": "x"}))
            tasks.cancel_scope.cancel()

    anyio.run(scenario)


async def _listen(client: Client, tasks: anyio.abc.TaskGroup, changed: anyio.Event) -> None:
    subscribed = anyio.Event()

    async def listen() -> None:
        async with client.listen(tools_list_changed=True) as subscription:
            subscribed.set()
            async for _ in subscription:
                changed.set()

    tasks.start_soon(listen)
    await subscribed.wait()


def test_toolsets_fixed_by_an_option_do_not_change(serve: Serve, tmp_path: Path) -> None:
    (tmp_path / TOOLSETS_FILE).write_text("memory")
    server = serve("--toolsets", "code")
    assert server.text("echo", server.open_session(), text="x") == "x"


def test_health_and_metrics_are_served(server: Served) -> None:
    server.text("echo", server.open_session(), text="x")
    server.call("no_such_tool", server.open_session())
    assert server.request(path="/healthz").message == {"status": "ok"}
    shown = server.request(path="/metrics")
    assert shown.headers["content-type"].startswith("text/plain; version=0.0.4")
    text = shown.body.decode()
    assert 'deltos_tool_calls_total{outcome="ok",tool="echo"}' in text
    assert 'deltos_tool_calls_total{outcome="refused",tool="unknown"}' in text
    assert 'deltos_tool_seconds_bucket{le="+Inf",tool="echo"}' in text
    assert "# TYPE deltos_sessions gauge" in text


def test_a_server_is_ready_when_its_toolbox_is_open(server: Served) -> None:
    assert server.request(path="/readyz").message == {"status": "ready"}


def test_a_server_without_its_database_is_healthy_but_not_ready(serve: Serve) -> None:
    server = serve(DELTOS_DATABASE="postgresql://ada:s3cret@127.0.0.1:1/deltos")
    assert server.request(path="/healthz").status == 200
    entries = server.request(path="/readyz")
    assert (entries.status, entries.message) == (503, {"status": "the database is not available"})


@pytest.mark.parametrize(("flags", "variables"), [(("--log-format", "json"), {}), ((), {"DELTOS_LOG": "json"})])
def test_structured_logs_are_json_lines_without_arguments_or_tokens(
    serve: Serve, tmp_path: Path, flags: tuple[str, ...], variables: dict[str, str]
) -> None:
    token = create_token(tmp_path, Level.ADMIN)
    server = serve("--require-token", *flags, **variables)
    session = server.open_session(bearer(token))
    server.call("echo", session, text="s3cret words")
    server.call("fail", session, how="s3cret words")
    assert server.request(path="/metrics?key=s3cret").status == 401
    server.stop()
    lines = [server.announcement, *server.remaining_log().splitlines()]
    entries = [json.loads(line) for line in lines]
    assert entries[0]["event"] == "serving"
    calls = [(each["tool"], each["outcome"]) for each in entries if each["event"] == "call"]
    requests = [(each["path"], each["status"], each["caller"]) for each in entries if each["event"] == "request"]
    assert calls == [("echo", "ok"), ("fail", "error")]
    assert ("/mcp", 200, f"token {token.split('_')[1]}") in requests
    assert requests[-1][:2] == ("/metrics", 401)
    [failure] = [each for each in entries if each["event"] == "log" and each["level"] == "error"]
    assert (failure["level"], failure["logger"]) == ("error", "deltos.server.tool_runner")
    assert failure["frames"][-1].endswith(" fail")
    assert not [line for line in lines if "s3cret" in line or "secret detail" in line or token in line]
