"""The MCP inspector calls every tool over HTTP."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from tests.e2e.every_tool import write_project
from tests.e2e.inspector import Inspector
from tests.server.over_http.served import Served

if TYPE_CHECKING:
    from pathlib import Path


def test_the_inspector_calls_every_tool_over_http(tmp_path: Path) -> None:
    project = write_project(tmp_path / "project")
    served = Served(
        [sys.executable, "-P", "-m", "deltos", "mcp", str(project), "--http", "127.0.0.1:0"], tmp_path / "home"
    )
    try:
        Inspector(["--transport", "http", "--server-url", served.url], tmp_path).drive_every_tool(project)
        assert served.stop() == 0
    finally:
        served.shut_down()
