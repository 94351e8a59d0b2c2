"""The SDK's client calls every tool: over stdio with a handshake, over HTTP without one."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
import anyio.from_thread
import anyio.to_thread
import jsonschema  # type: ignore[import-untyped]
import pytest
from mcp import Client, StdioServerParameters

from tests.e2e.every_tool import call_every_tool, listed_tools, write_project
from tests.server.over_http.served import Served
from tests.server.raw import environment

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SERVER_ARGUMENTS = ["-P", "-m", "deltos", "mcp"]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return write_project(tmp_path / "project")


@pytest.fixture
def served(project: Path, tmp_path: Path) -> Iterator[Served]:
    """A real server on loopback."""
    running = Served([sys.executable, *SERVER_ARGUMENTS, str(project), "--http", "127.0.0.1:0"], tmp_path / "home")
    yield running
    running.shut_down()


@pytest.mark.parametrize(("transport", "mode"), [("stdio", "legacy"), ("http", "auto")])
def test_the_sdk_client_calls_every_tool(
    transport: str, mode: str, project: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    target: Any = StdioServerParameters(
        command=sys.executable, args=[*SERVER_ARGUMENTS, str(project)], env=environment(tmp_path / "home")
    )
    if transport == "http":
        target = request.getfixturevalue("served").url

    async def scenario() -> set[str]:
        async with Client(target, mode=mode) as client:
            schemas = {tool.name: tool.input_schema for tool in (await client.list_tools()).tools}
            assert set(schemas) == listed_tools()

            def call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
                jsonschema.validate(arguments, schemas[name])
                result = anyio.from_thread.run(partial(client.call_tool, name, arguments))
                dumped: dict[str, Any] = result.model_dump(by_alias=True, mode="json")
                return dumped

            return await anyio.to_thread.run_sync(call_every_tool, call, project, mode == "legacy")

    assert anyio.run(scenario) == listed_tools()
