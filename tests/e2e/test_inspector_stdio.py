"""The MCP inspector calls a tool of each domain over stdio."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from tests.e2e.every_tool import write_project
from tests.e2e.inspector import Inspector

if TYPE_CHECKING:
    from pathlib import Path


def test_the_inspector_calls_a_tool_of_each_domain_over_stdio(tmp_path: Path) -> None:
    project = write_project(tmp_path / "project")
    variables = {"PYTHONPATH": ":".join(sys.path), "DELTOS_HOME": str(tmp_path / "home")}
    given = [word for name, value in variables.items() for word in ("-e", f"{name}={value}")]
    target = [*given, "--", sys.executable, "-P", "-m", "deltos", "mcp", str(project)]
    Inspector(target, tmp_path).drive_some_tools()
