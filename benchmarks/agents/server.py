"""A `deltos mcp` server over stdio, and a process that keeps one running behind a socket between commands.

    python -m benchmarks.agents.server SOCKET TREE [TOOL] -- COMMAND…

TOOL is called once after the server starts.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.agents.look_log import format_tool_list, visible_result
from benchmarks.paths import REPOSITORY

CLIENT = "claude-code"  # The answers of the server depend on the client.
IDLE_TIMEOUT_SECONDS = 1_200
START_TIMEOUT_SECONDS = 60


class Server:
    """A server process and the JSON-RPC conversation with it."""

    def __init__(self, command: list[str], tree: Path, environment: dict[str, str] | None = None) -> None:
        self.process = subprocess.Popen(
            [*command, str(tree)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=tree,
            env=environment,
        )
        self._next_id = 0
        client = {"name": os.environ.get("DELTOS_TRIALS_CLIENT", CLIENT), "version": "2.1.0"}
        begun = self._send_request(
            "initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
        )
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        self.listed = format_tool_list(self._send_request("tools/list", {})["tools"], begun.get("instructions", ""))

    def call(self, tool: str, arguments: dict[str, Any]) -> str:
        """Return the part of a tool result that a client sends to the model."""
        return visible_result(self._send_request("tools/call", {"name": tool, "arguments": arguments}))

    def end(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait(10)

    def _send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def _send_request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self._next_id += 1
        self._send({"jsonrpc": "2.0", "id": self._next_id, "method": method, "params": params})
        assert self.process.stdout
        for line in self.process.stdout:
            message = json.loads(line)
            if message.get("id") == self._next_id and "method" not in message:
                return self._parse_result(message)
        raise RuntimeError(f"the server ended during {method}")

    @staticmethod
    def _parse_result(message: dict[str, Any]) -> dict[str, Any]:
        if "error" in message:
            return {
                "isError": True,
                "content": [{"type": "text", "text": f"Error: {message['error'].get('message', '')}"}],
            }
        result: dict[str, Any] = message["result"]
        return result


def serve_on_socket(place: Path, tree: Path, command: list[str], first: list[str]) -> None:
    """Forward requests from a socket to one server until no request arrives for a while.

    `first` is a tool that some servers need to have called first.
    """
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(place))
    listener.listen()
    listener.settimeout(IDLE_TIMEOUT_SECONDS)
    server = Server(command, tree)
    for tool in first:
        server.call(tool, {})
    try:
        while True:
            connection, _ = listener.accept()
            with connection, connection.makefile("rw", encoding="utf-8") as lines:
                asked = json.loads(lines.readline())
                if asked.get("end"):
                    break
                shown = server.call(asked["tool"], asked["arguments"]) if asked.get("tool") else server.listed
                lines.write(json.dumps({"shown": shown}) + "\n")
    except TimeoutError:
        pass
    finally:
        place.unlink(missing_ok=True)
        server.end()


def call_server(
    place: Path,
    tree: Path,
    command: list[str],
    environment: dict[str, str],
    tool: str,
    arguments: dict[str, Any],
    first: tuple[str, ...] = (),
) -> str:
    """Query the server behind a socket, and start the server if necessary.

    Return the list of tools if no tool is given.
    """
    connection = _connect(place)
    if connection is None:
        stop_servers(place.parent)  # An agent works on one task at a time, so the servers of other tasks are stopped.
        place.parent.mkdir(parents=True, exist_ok=True)
        starting = [sys.executable, "-m", "benchmarks.agents.server", str(place), str(tree), *first, "--", *command]
        nothing = subprocess.DEVNULL
        subprocess.Popen(
            starting,
            cwd=REPOSITORY,
            env=environment,
            stdin=nothing,
            stdout=nothing,
            stderr=nothing,
            start_new_session=True,
        )
        connection = _wait_for_server(place)
    with connection, connection.makefile("rw", encoding="utf-8") as lines:
        lines.write(json.dumps({"tool": tool, "arguments": arguments}) + "\n")
        lines.flush()
        shown: str = json.loads(lines.readline())["shown"]
    return shown


def stop_servers(folder: Path) -> None:
    """Stop the servers behind all sockets in a folder."""
    for place in folder.glob("*.sock"):
        connection = _connect(place)
        if connection is not None:
            with connection:
                connection.sendall(b'{"end": true}\n')
        place.unlink(missing_ok=True)


def _connect(place: Path) -> socket.socket | None:
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.connect(str(place))
    except OSError:
        connection.close()
        return None
    return connection


def _wait_for_server(place: Path) -> socket.socket:
    until = time.monotonic() + START_TIMEOUT_SECONDS
    while time.monotonic() < until:
        connection = _connect(place)
        if connection is not None:
            return connection
        time.sleep(0.05)
    raise RuntimeError("the server did not start")


if __name__ == "__main__":
    here = sys.argv.index("--")
    os.umask(0o077)
    serve_on_socket(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[here + 1 :], sys.argv[3:here])
