"""The SDK's client over real stdio, with and without a handshake."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
import mcp_types as types
import pytest
from mcp import Client, MCPError, StdioServerParameters
from pydantic import FileUrl

from deltos.hook_settings import TOOLSETS_FILE
from tests.server.raw import environment, toy_command

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from pathlib import Path

    from mcp.client import ClientRequestContext

    Connect = Callable[..., Any]

CLIENT_MODES = ("legacy", "auto")
pytestmark = pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")


@pytest.fixture
def connect(manifest_path: Path, tmp_path: Path) -> Connect:
    """Return a function that connects a client to a new server."""

    @asynccontextmanager
    async def connect(*arguments: str, cwd: Path | None = None, **options: Any) -> AsyncIterator[Client]:
        command, *rest = toy_command(manifest_path, *arguments)
        parameters = StdioServerParameters(command=command, args=rest, env=environment(tmp_path), cwd=cwd)
        with anyio.fail_after(60):
            async with Client(parameters, **options) as client:
                yield client

    return connect


def text_of(result: types.CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, types.TextContent)
    return content.text


@pytest.mark.parametrize("mode", CLIENT_MODES)
def test_every_protocol_version_lists_and_calls_tools(connect: Connect, mode: str) -> None:
    async def scenario() -> None:
        async with connect(mode=mode) as client:
            assert client.server_info.name == "deltos"
            assert client.instructions.startswith("A local index.")
            tools = (await client.list_tools()).tools
            assert tools[0].name == "echo"
            assert tools[0].annotations.read_only_hint is True
            assert text_of(await client.call_tool("echo", {"text": "hello"})) == "hello"
            result = await client.call_tool("structured", {})
            assert result.structured_content["results"] == [{"name": "naïve"}]
            assert (await client.call_tool("no_such", {})).is_error is True

    anyio.run(scenario)


@pytest.mark.parametrize("mode", CLIENT_MODES)
def test_progress_reaches_the_callback(connect: Connect, mode: str) -> None:
    steps: list[tuple[float, float | None, str | None]] = []

    async def listen(progress: float, total: float | None, message: str | None) -> None:
        steps.append((progress, total, message))

    async def scenario() -> None:
        async with connect(mode=mode) as client:
            await client.call_tool("count_steps", {"steps": 7}, progress_callback=listen)

    anyio.run(scenario)
    assert steps[0] == (1, 7, "steps")
    assert steps[-1] == (7, 7, "steps")


def test_a_cancelled_call_stops_its_tool(connect: Connect) -> None:
    async def scenario() -> None:
        async with connect(mode="legacy") as client:
            with pytest.raises(MCPError, match=r"[Tt]imed out"):
                await client.call_tool("wait_until_cancelled", {}, read_timeout_seconds=0.5)
            assert text_of(await client.call_tool("echo", {"text": "free again"})) == "free again"

    anyio.run(scenario)


def test_modern_clients_that_opted_in_are_warned_of_truncation(connect: Connect) -> None:
    heard: list[str] = []

    async def listen(params: types.LoggingMessageNotificationParams) -> None:
        heard.append(params.level)

    async def scenario(log_level: str | None) -> None:
        async with connect(logging_callback=listen, log_level=log_level) as client:
            await client.call_tool("structured", {"cut": True})

    anyio.run(scenario, None)
    assert heard == []
    anyio.run(scenario, "info")
    assert heard == ["warning"]


@pytest.mark.parametrize("mode", CLIENT_MODES)
def test_clients_are_notified_when_toolsets_change(connect: Connect, mode: str, tmp_path: Path) -> None:
    async def scenario() -> None:
        changed = anyio.Event()

        async def receive(message: object) -> None:
            if getattr(message, "method", "") == "notifications/tools/list_changed":
                changed.set()

        async with connect(mode=mode, message_handler=receive) as client:
            assert (await client.list_tools()).tools
            if mode == "legacy":
                (tmp_path / TOOLSETS_FILE).write_text("memory")
                await changed.wait()
            else:
                async with client.listen(tools_list_changed=True) as subscription:
                    (tmp_path / TOOLSETS_FILE).write_text("memory")
                    await anext(aiter(subscription))
            assert (await client.list_tools(cache_mode="bypass")).tools == []
            (tmp_path / TOOLSETS_FILE).write_text("kitchen")  # invalid file: the previous toolsets stay active
            assert (await client.call_tool("echo", {"text": "x"})).is_error is True

    anyio.run(scenario)


def roots_callback(*folders: Path) -> Callable[[ClientRequestContext], Awaitable[types.ListRootsResult]]:
    """Return a callback that answers `roots/list` with a nonexistent root followed by the given folders."""

    async def list_roots(_: ClientRequestContext) -> types.ListRootsResult:
        roots = [types.Root(uri=FileUrl(folder.as_uri())) for folder in folders]
        return types.ListRootsResult(roots=[types.Root(uri=FileUrl("file:///no/such/folder")), *roots])

    return list_roots


def test_the_client_root_is_the_default_project(connect: Connect, tmp_path: Path) -> None:
    root = tmp_path / "a project, 100 %"
    root.mkdir()

    async def scenario() -> None:
        async with connect(str(tmp_path), mode="legacy", list_roots_callback=roots_callback(root)) as client:
            assert text_of(await client.call_tool("where", {})) == str(root)
            chosen = await client.call_tool("where", {"directory": str(tmp_path)})
            assert text_of(chosen) == text_of(await client.call_tool("where", {})) == str(tmp_path)

    anyio.run(scenario)


def test_a_changed_client_root_becomes_the_project(connect: Connect, tmp_path: Path) -> None:
    folders = [tmp_path / "before", tmp_path / "after"]
    for folder in folders:
        folder.mkdir()
    asked = anyio.Event()

    async def list_roots(context: ClientRequestContext) -> types.ListRootsResult:
        asked.set()
        return await roots_callback(folders[-1])(context)

    async def scenario() -> None:
        async with connect(mode="legacy", list_roots_callback=list_roots) as client:
            assert text_of(await client.call_tool("where", {})) == str(tmp_path / "after")
            folders.reverse()
            await client.send_roots_list_changed()
            while text_of(await client.call_tool("where", {})) != str(tmp_path / "before"):
                pass

    anyio.run(scenario)
    assert asked.is_set()


@pytest.mark.parametrize("mode", CLIENT_MODES)
def test_without_roots_the_path_argument_or_the_current_folder_is_used(
    connect: Connect, mode: str, tmp_path: Path
) -> None:
    (tmp_path / "given").mkdir()

    async def scenario() -> None:
        async with connect("given", mode=mode, cwd=tmp_path) as client:
            assert text_of(await client.call_tool("where", {})) == str(tmp_path / "given")
        async with connect(mode=mode, cwd=tmp_path) as client:
            assert text_of(await client.call_tool("where", {})) == str(tmp_path)

    anyio.run(scenario)


def test_a_client_that_never_reports_its_roots_is_served(connect: Connect, tmp_path: Path) -> None:
    async def never(_: ClientRequestContext) -> types.ListRootsResult:
        await anyio.sleep_forever()
        raise AssertionError

    async def fail(_: ClientRequestContext) -> types.ErrorData:
        return types.ErrorData(code=-32000, message="no roots today")

    async def scenario(callback: Callable[..., object]) -> None:
        async with connect(mode="legacy", cwd=tmp_path, list_roots_callback=callback) as client:
            assert text_of(await client.call_tool("where", {})) == str(tmp_path)

    anyio.run(scenario, never)
    anyio.run(scenario, fail)
