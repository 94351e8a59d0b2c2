"""A real HTTP server process and plain requests to it, so that tests see the exact responses."""

from __future__ import annotations

import http.client
import json
import queue
import re
import subprocess
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from tests.server.raw import END, WAIT_TIMEOUT_SECONDS, environment, initialize_params

if TYPE_CHECKING:
    from pathlib import Path

    from tests.server.raw import JsonObject

ACCEPT = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
MODERN_META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


@dataclass(frozen=True, slots=True)
class Reply:
    """A response of the server."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def message(self) -> JsonObject:
        """The last JSON-RPC message in a JSON or event-stream body."""
        text = self.body.decode()
        if "text/event-stream" in self.headers.get("content-type", ""):
            text = re.findall(r"^data: (.+)$", text, re.MULTILINE)[-1]
        message: JsonObject = json.loads(text)
        return message


class Served:
    """A running server."""

    def __init__(self, command: list[str], home: Path, **environ: str) -> None:
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(home, **environ),
        )
        assert self.process.stdout
        self._log: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._read_log, daemon=True).start()
        self.announcement = self.process.stdout.readline()
        found = re.search(r"(https?://[^\s\"]+)", self.announcement)
        assert found, self.remaining_log()
        self.url = found[1]
        self.address = urlsplit(self.url)

    def request(
        self, method: str = "GET", path: str = "/mcp", body: bytes | None = None, headers: dict[str, str] | None = None
    ) -> Reply:
        """Send one request on a new connection."""
        connection = http.client.HTTPConnection(
            self.address.hostname or "", self.address.port or 0, timeout=WAIT_TIMEOUT_SECONDS
        )
        try:
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            lowered = {name.lower(): value for name, value in answer.getheaders()}
            return Reply(answer.status, lowered, answer.read())
        finally:
            connection.close()

    def post(self, message: object, headers: dict[str, str] | None = None) -> Reply:
        """Send a JSON-RPC message, or raw bytes."""
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        return self.request("POST", "/mcp", body, {**ACCEPT, **(headers or {})})

    def open_session(self, headers: dict[str, str] | None = None) -> dict[str, str]:
        """Open a session and return its headers."""
        opened = self.post(rpc("initialize", initialize_params("2025-11-25")), headers)
        assert opened.status == 200, opened
        session = {**(headers or {}), "Mcp-Session-Id": opened.headers["mcp-session-id"]}
        assert self.post({"jsonrpc": "2.0", "method": "notifications/initialized"}, session).status == 202
        return session

    def call(self, tool: str, session: dict[str, str], /, **arguments: object) -> JsonObject:
        """Return the result of a tool call."""
        result: JsonObject = self.post(tool_call(tool, **arguments), session).message["result"]
        return result

    def text(self, name: str, session: dict[str, str], /, **arguments: object) -> str:
        """Return the text of a tool's answer."""
        text: str = self.call(name, session, **arguments)["content"][0]["text"]
        return text

    def wait_for_log(self, words: str) -> None:
        """Wait until the server writes a line with these words to stderr."""
        while words not in (line := self._log.get(timeout=WAIT_TIMEOUT_SECONDS)):
            assert line != END.decode(), "the server ended before it logged the expected line"

    def remaining_log(self) -> str:
        """Return everything that the server writes to stderr until it ends."""
        lines = []
        while line := self._log.get(timeout=WAIT_TIMEOUT_SECONDS):
            lines.append(line)
        return "".join(lines)

    def stop(self) -> int:
        """Send SIGTERM and wait for the end."""
        self.process.terminate()
        return self.process.wait(WAIT_TIMEOUT_SECONDS)

    def shut_down(self) -> None:
        """Stop the server, and kill it if it does not exit."""
        self.process.terminate()
        try:
            self.process.wait(15)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        assert self.process.stdout
        self.process.stdout.close()

    def _read_log(self) -> None:
        assert self.process.stderr
        for line in self.process.stderr:
            self._log.put(line)
        self._log.put("")
        self.process.stderr.close()


def rpc(method: str, params: Any = None, request_id: object = 1) -> JsonObject:
    """Return a JSON-RPC request."""
    message: JsonObject = {"jsonrpc": "2.0", "id": request_id, "method": method}
    return message if params is None else {**message, "params": params}


def tool_call(name: str, /, **arguments: object) -> JsonObject:
    """Return a request that calls a tool."""
    return rpc("tools/call", {"name": name, "arguments": arguments})
