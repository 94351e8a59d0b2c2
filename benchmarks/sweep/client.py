"""A minimal MCP client over standard input and output, which calls the tools of one server."""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

CALL_TIMEOUT_SECONDS = 600


class ServerFailed(Exception):
    """Raised when the server has ended or does not answer in time."""


class Server:
    """A `deltos mcp` process for one project."""

    def __init__(self, root: Path, environment: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "deltos", "mcp", str(root), "--toolsets", "code,graph"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment, text=True,
        )  # fmt: skip
        self._answers: queue.SimpleQueue[str] = queue.SimpleQueue()
        threading.Thread(target=self._read_messages, daemon=True).start()
        self._number = 0
        client = {"name": "sweep", "version": "1"}
        self._send_request("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client})
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def call(self, tool: str, **arguments: object) -> tuple[str, Any, bool]:
        """Call a tool, and return its text, its structured content and whether it is an error."""
        result = self._send_request("tools/call", {"name": tool, "arguments": arguments})
        text = "\n".join(block["text"] for block in result["content"] if block["type"] == "text")
        return text, result.get("structuredContent"), bool(result.get("isError"))

    def close(self) -> None:
        """Stop the server."""
        self._process.kill()
        self._process.wait()

    def _read_messages(self) -> None:
        for line in self._process.stdout or ():
            self._answers.put(line)
        self._answers.put("")

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(message) + "\n")
            self._process.stdin.flush()
        except OSError as exc:
            raise ServerFailed("the server has ended") from exc

    def _send_request(self, method: str, parameters: dict[str, Any]) -> Any:
        self._number += 1
        self._send({"jsonrpc": "2.0", "id": self._number, "method": method, "params": parameters})
        while True:
            try:
                line = self._answers.get(timeout=CALL_TIMEOUT_SECONDS)
            except queue.Empty as exc:
                raise ServerFailed(f"no answer to {method} within {CALL_TIMEOUT_SECONDS} s") from exc
            if not line:
                raise ServerFailed(f"the server ended during {method}")
            message = json.loads(line)
            if message.get("id") == self._number:
                if "error" in message:
                    raise ServerFailed(str(message["error"])[:300])
                return message["result"]
