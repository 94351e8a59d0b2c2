"""Runs the MCP inspector. Its two tests are in separate files, so that they can run in parallel."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any

from tests import node
from tests.e2e.every_tool import call_every_tool, call_some_tools, listed_tools

if TYPE_CHECKING:
    from pathlib import Path

INSPECTOR_TIMEOUT_SECONDS = 120


class Inspector:
    """The inspector, connected to a server, with a scratch folder for its files."""

    def __init__(self, target: list[str], scratch: Path) -> None:
        self._target = target
        self._environment = node.environment(
            HOME=str(scratch),
            NODE_COMPILE_CACHE=str(scratch / "compiled"),
            MCP_CATALOG_PATH=str(scratch / "catalog.json"),
        )

    def drive_every_tool(self, project: Path) -> None:
        """List the tools and call each of them."""
        self._list_tools()
        assert call_every_tool(self._call, project) == listed_tools()

    def drive_some_tools(self) -> None:
        """List the tools and call one of each domain, because every call over stdio starts a server."""
        self._list_tools()
        call_some_tools(self._call)

    def _list_tools(self) -> None:
        names = {tool["name"] for tool in self._run("--method", "tools/list", "--strict")["tools"]}
        assert names == listed_tools()

    def _call(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        return self._run("--method", "tools/call", "--tool-name", name, "--tool-args-json", json.dumps(arguments))

    def _run(self, *words: str) -> dict[str, Any]:
        done = subprocess.run(
            [node.program("mcp-inspector"), "--cli", "--quiet", "--format", "json", *words, *self._target],
            capture_output=True,
            text=True,
            timeout=INSPECTOR_TIMEOUT_SECONDS,
            env=self._environment,
        )
        assert done.stdout, done.stderr
        result: dict[str, Any] = json.loads(done.stdout)["result"]
        return result
