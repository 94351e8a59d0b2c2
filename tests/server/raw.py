"""A client that writes JSON lines to a real server process, so that tests see the exact bytes."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

TOYSERVER = Path(__file__).with_name("toyserver.py")
WAIT_TIMEOUT_SECONDS = 60
END = b""

JsonObject = dict[str, Any]


def toy_command(manifest: Path, *arguments: str) -> list[str]:
    return [sys.executable, str(TOYSERVER), str(manifest), *arguments]


def environment(home: Path, **more: str) -> dict[str, str]:
    """Return the environment of a server process, with a separate data folder and the packages of this process."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "DELTOS_HOME": str(home), **more}


def initialize_params(
    version: str = "2025-06-18", capabilities: JsonObject | None = None, *, name: str = "raw"
) -> JsonObject:
    client = {"name": name, "version": "1"}
    return {"protocolVersion": version, "capabilities": capabilities or {}, "clientInfo": client}


class RawClient:
    """Client that starts the server, sends lines, and returns received messages in order."""

    def __init__(self, command: list[str], *, home: Path, cwd: Path | None = None, **environ: str) -> None:
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=cwd,
            env=environment(home, **environ),
        )
        assert self.process.stdin
        assert self.process.stdout
        assert self.process.stderr
        self._stdin = self.process.stdin
        self._stdout = _lines_of(self.process.stdout)
        self._stderr = _lines_of(self.process.stderr)
        self._next_id = 0
        self.others: list[JsonObject] = []

    def send_line(self, line: bytes) -> None:
        self._stdin.write(line + b"\n")
        self._stdin.flush()

    def send(self, method: str, params: JsonObject | None = None, **more: object) -> None:
        message: JsonObject = {"jsonrpc": "2.0", "method": method, **more}
        if params is not None:
            message["params"] = params
        self.send_line(json.dumps(message).encode())

    def send_request(self, method: str, params: JsonObject | None = None) -> int:
        self._next_id += 1
        self.send(method, params, id=self._next_id)
        return self._next_id

    def receive(self) -> JsonObject:
        line = self._stdout.get(timeout=WAIT_TIMEOUT_SECONDS)
        assert line != END, "the server closed the connection"
        message: JsonObject = json.loads(line)
        return message

    def answer_to(self, request_id: int) -> JsonObject:
        """Return the answer to a request and store other messages for later."""
        while True:
            message = self.receive()
            if message.get("id") == request_id and "method" not in message:
                return message
            self.others.append(message)

    def request(self, method: str, params: JsonObject | None = None) -> JsonObject:
        return self.answer_to(self.send_request(method, params))

    def initialize(
        self, version: str = "2025-06-18", capabilities: JsonObject | None = None, *, name: str = "raw"
    ) -> JsonObject:
        answer = self.request("initialize", initialize_params(version, capabilities, name=name))
        self.send("notifications/initialized")
        return answer

    def start_call(self, name: str, /, **arguments: object) -> int:
        return self.send_request("tools/call", {"name": name, "arguments": arguments})

    def call(self, name: str, /, **arguments: object) -> JsonObject:
        result: JsonObject = self.answer_to(self.start_call(name, **arguments))["result"]
        return result

    def text(self, name: str, /, **arguments: object) -> str:
        text: str = self.call(name, **arguments)["content"][0]["text"]
        return text

    def wait_for_log(self, words: str) -> None:
        while words.encode() not in (line := self._stderr.get(timeout=WAIT_TIMEOUT_SECONDS)):
            assert line != END, "the server ended before it logged the expected line"

    def remaining_log(self) -> str:
        lines = []
        while (line := self._stderr.get(timeout=WAIT_TIMEOUT_SECONDS)) != END:
            lines.append(line)
        return b"".join(lines).decode()

    def remaining(self) -> list[JsonObject]:
        messages = []
        while (line := self._stdout.get(timeout=WAIT_TIMEOUT_SECONDS)) != END:
            messages.append(json.loads(line))
        return messages

    def disconnect(self) -> int:
        """Close the server's stdin and wait for it to end."""
        self._stdin.close()
        return self.process.wait(WAIT_TIMEOUT_SECONDS)

    def shut_down(self) -> None:
        """Close the input of the server and kill it if it does not exit."""
        with suppress(BrokenPipeError):
            self._stdin.close()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def _lines_of(pipe: IO[bytes]) -> queue.Queue[bytes]:
    lines: queue.Queue[bytes] = queue.Queue()

    def read() -> None:
        for line in pipe:
            lines.put(line)
        lines.put(END)
        pipe.close()

    threading.Thread(target=read, daemon=True).start()
    return lines
