"""The main promise of the README: no key, no download, no daemon, and everything works offline."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
import uuid
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import anyio.from_thread
import anyio.to_thread
import pytest
from mcp import Client, StdioServerParameters

from tests.e2e.every_tool import call_every_tool, listed_tools, write_project

WAIT_TIMEOUT_SECONDS = 60
# Refuses and logs every connection to another machine and every name lookup.
OFFLINE_HOOK = """
import sys

def refuse(event, given):
    asks = event in ("socket.getaddrinfo", "socket.gethostbyname", "socket.sendto", "socket.sendmsg")
    if asks or (event == "socket.connect" and not isinstance(given[1], (str, bytes))):
        with open(sys.argv[1], "a") as told:
            told.write(f"{event} {given}\\n")
        raise OSError("there is no network")

sys.addaudithook(refuse)
from deltos.cli.main import main
sys.exit(main(sys.argv[2:]))
"""


def no_network_prefix() -> list[str]:
    """Return a command prefix that runs a program without network access; empty if the system has none."""
    words = ["unshare", "--map-root-user", "--net"]
    works = shutil.which("unshare") and subprocess.run([*words, "true"], capture_output=True).returncode == 0
    return words if works else []


def processes_with(mark: str) -> list[str]:
    """Return the processes with a mark in their environment."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/environ"):
        try:
            found += [entry.parent.name] if mark.encode() in entry.read_bytes() else []
        except OSError:  # the process has ended or belongs to another user
            continue
    return found


@pytest.mark.skipif(sys.platform == "win32", reason="the event loop uses sockets on Windows")
def test_every_tool_works_without_network_and_keys_and_leaves_no_process(tmp_path: Path) -> None:
    project, home, log = write_project(tmp_path / "project"), tmp_path / "home", tmp_path / "told"
    home.mkdir()
    mark = f"mark-{uuid.uuid4()}"
    variables = {"HOME": str(home), "DELTOS_HOME": str(home / "data"), "DELTOS_TEST_MARK": mark}
    words = [*no_network_prefix(), sys.executable, "-P", "-c", OFFLINE_HOOK, str(log), "mcp", str(project)]
    target = StdioServerParameters(command=words[0], args=words[1:], env=variables)

    async def scenario() -> set[str]:
        async with Client(target) as client:

            def call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
                result = anyio.from_thread.run(partial(client.call_tool, name, arguments))
                dumped: dict[str, Any] = result.model_dump(by_alias=True, mode="json")
                return dumped

            assert processes_with(mark) or sys.platform != "linux", "the server process must be running and visible"
            return await anyio.to_thread.run_sync(call_every_tool, call, project)

    assert anyio.run(scenario) == listed_tools()
    assert not log.exists(), log.read_text()
    deadline = time.monotonic() + WAIT_TIMEOUT_SECONDS
    while (left := processes_with(mark)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert left == [], "no process may remain after the server has ended"


def test_network_access_is_detected(tmp_path: Path) -> None:
    words = [
        sys.executable,
        "-P",
        "-c",
        OFFLINE_HOOK,
        str(tmp_path / "told"),
        "docs",
        "add",
        "https://example.org",
        "--wait",
    ]
    done = subprocess.run(words, env={**os.environ, "DELTOS_HOME": str(tmp_path / "home")}, capture_output=True)
    assert done.returncode != 0
    assert "socket.getaddrinfo ('example.org'" in (tmp_path / "told").read_text()
