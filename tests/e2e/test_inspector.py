"""The MCP inspector drives every tool over both transports."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests import node
from tests.e2e.every_tool import call_every_tool, listed_tools, write_project
from tests.server.over_http.served import Served

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

PATIENCE_SECONDS = 120


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return write_project(tmp_path / "project")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def served(project: Path, home: Path) -> Iterator[Served]:
    """The real server on loopback."""
    running = Served([sys.executable, "-m", "pinakes", "mcp", str(project), "--http", "127.0.0.1:0"], home)
    yield running
    assert running.stop() == 0
    running.dismiss()


@pytest.fixture(params=["stdio", "http"])
def target(request: pytest.FixtureRequest, project: Path, home: Path) -> list[str]:
    """The inspector's arguments that reach the server."""
    if request.param == "http":
        served: Served = request.getfixturevalue("served")
        return ["--transport", "http", "--server-url", served.url]
    variables = {"PYTHONPATH": ":".join(sys.path), "PINAKES_HOME": str(home)}
    given = [word for name, value in variables.items() for word in ("-e", f"{name}={value}")]
    return [*given, "--", sys.executable, "-m", "pinakes", "mcp", str(project)]


@pytest.fixture
def inspect(
    target: list[str], tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., dict[str, Any]]:
    """Runs the inspector once."""
    settings = {
        "HOME": str(tmp_path),  # its own files
        "NODE_COMPILE_CACHE": str(tmp_path_factory.getbasetemp() / "compiled"),
        "MCP_CATALOG_PATH": str(tmp_path / "catalog.json"),
    }

    def run(*words: str) -> dict[str, Any]:
        done = subprocess.run(
            [node.program("mcp-inspector"), "--cli", "--quiet", "--format", "json", *words, *target],
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
            env=node.environment(**settings),
        )
        assert done.stdout, done.stderr
        result: dict[str, Any] = json.loads(done.stdout)["result"]
        return result

    return run


def test_the_inspector_drives_every_tool(inspect: Callable[..., dict[str, Any]], project: Path) -> None:
    names = {tool["name"] for tool in inspect("--method", "tools/list", "--strict")["tools"]}
    assert names == listed_tools()

    def call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        return inspect("--method", "tools/call", "--tool-name", name, "--tool-args-json", json.dumps(arguments))

    assert call_every_tool(call, project) == names
