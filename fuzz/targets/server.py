"""JSON-RPC messages: the parsers, and a real server over stdio and HTTP that must survive every message."""

from __future__ import annotations

import http.client
import json
import os
import queue
import re
import subprocess
import sys
import threading
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import urlsplit

from fuzz.orphans import die_with_parent
from fuzz.target import OpenedTarget, Run, Target, without_cleanup

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ANSWER_TIMEOUT_SECONDS = 60
_RPC = (
    b'"jsonrpc":"2.0"', b'"id"', b'"method"', b'"params"', b'"result"', b'"error"', b'"tools/call"', b'"tools/list"', b'"initialize"', b'"ping"', b'"_meta"', b'"progressToken"',
    b'"arguments"', b'"name"', b'"search_code"', b'"notifications/cancelled"', b'"requestId"', b'"resources/read"', b'"uri"', b'"prompts/get"', b'"completion/complete"', b'"cursor"',
    b'"logging/setLevel"', b'"protocolVersion"', b'"capabilities"', b'"clientInfo"', b'"io.modelcontextprotocol/protocolVersion"', b"null", b"\\u0000", b"[", b"]", b"{", b"}",
)  # fmt: skip
_HTTP = (
    b"Host: ", b"Origin: ", b"Content-Length: ", b"Transfer-Encoding: chunked\r\n", b"Mcp-Session-Id: ", b"Last-Event-ID: ", b"Accept: ", b"Authorization: Bearer ", b"\r\n", b"\n",
    b"\r\n ", b"GET ", b"POST ", b"DELETE ", b"OPTIONS ", b"/mcp", b"/healthz", b"/metrics", b" HTTP/1.1\r\n", b" HTTP/1.0\r\n", b"Connection: close\r\n", b"Expect: 100-continue\r\n", b"%2e%2e", b"0\r\n\r\n",
)  # fmt: skip

_JSON_HEADERS = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
_INITIALIZE_REQUEST: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": "hello",
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "fuzz", "version": "1"}},
}
_INITIALIZED_NOTIFICATION = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'


class ServerFailed(Exception):
    """Raised when the server returns an internal error, does not answer, or ends."""


def targets() -> Iterator[Target]:
    """Return one target for the parsers alone, then one for each transport."""
    yield Target("jsonrpc", without_cleanup(_open_reader), ("jsonrpc",), (), _RPC, is_json=True, is_exposed=True)
    yield Target("server-stdio", _open_stdio, ("jsonrpc",), (), _RPC, is_json=True, is_exposed=True, max_bytes=50_000)
    yield Target("server-http", _open_http, ("jsonrpc",), (), _RPC, is_json=True, is_exposed=True, max_bytes=50_000)
    yield Target("server-http-raw", _http_raw, ("http",), (), (*_HTTP, *_RPC[:8]), max_bytes=50_000)


def _open_reader(_scratch: Path) -> Run:
    from deltos.config import TOOLSETS
    from deltos.server.handshake import Handshake
    from deltos.server.manifest import Manifest
    from deltos.server.messages import InvalidMessage, read_message, write_message

    manifest = Manifest.load(TOOLSETS)

    def run(data: bytes) -> None:
        try:
            parsed = json.loads(data)
        except (ValueError, RecursionError):
            parsed = None
        if isinstance(parsed, dict):
            Handshake(manifest).answer(data, parsed)
        try:
            write_message(read_message(data))
        except InvalidMessage as refused:
            write_message(refused.answer)

    return run


@contextmanager
def _open_stdio(scratch: Path) -> Iterator[OpenedTarget]:
    client = StdioClient(scratch)
    yield OpenedTarget(client.run, client.process.pid)
    client.process.kill()
    client.process.wait()


@contextmanager
def _open_http(scratch: Path) -> Iterator[OpenedTarget]:
    client = HttpClient(scratch)
    yield OpenedTarget(client.post, client.process.pid)
    client.process.kill()
    client.process.wait()


@contextmanager
def _http_raw(scratch: Path) -> Iterator[OpenedTarget]:
    client = HttpClient(scratch)
    yield OpenedTarget(client.send_raw, client.process.pid)
    client.process.kill()
    client.process.wait()


def _start_server(scratch: Path, *arguments: str) -> subprocess.Popen[bytes]:
    from fuzz.targets.small_project import write_project

    root = write_project(scratch / "project")
    environment = {
        **os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "DELTOS_HOME": str(scratch / "home"), "HOME": str(scratch),
    }  # fmt: skip
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "deltos", "mcp", str(root), *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=(scratch / "log").open("ab"),
        cwd=scratch,
        env=environment,
        preexec_fn=die_with_parent,  # noqa: PLW1509 (one thread starts it)
    )


class StdioClient:
    """Sends a line and a ping, and reads output until the ping is answered."""

    def __init__(self, scratch: Path) -> None:
        self.process = _start_server(scratch)
        self._scratch = scratch
        self._pings = 0
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._stdin: IO[bytes] = self.process.stdin
        self._lines: queue.Queue[bytes] = queue.Queue()
        threading.Thread(target=self._read_output, args=(self.process.stdout,), daemon=True).start()
        self._send(json.dumps(_INITIALIZE_REQUEST).encode())
        self._read_until("hello")
        self._send(_INITIALIZED_NOTIFICATION)

    def run(self, data: bytes) -> None:
        """Run one input as one line."""
        line = data.replace(b"\n", b" ").replace(b"\r", b" ")
        self._pings += 1
        label = f"ping-{self._pings}"
        self._send(line)
        self._send(json.dumps({"jsonrpc": "2.0", "id": label, "method": "ping"}).encode())
        self._read_until(label)

    def _read_output(self, stdout: IO[bytes]) -> None:
        for line in stdout:
            self._lines.put(line)
        self._lines.put(b"")

    def _send(self, line: bytes) -> None:
        try:
            self._stdin.write(line + b"\n")
            self._stdin.flush()
        except OSError as exc:
            raise ServerFailed("the server is gone") from exc

    def _read_until(self, label: str) -> None:
        while True:
            try:
                line = self._lines.get(timeout=ANSWER_TIMEOUT_SECONDS)
            except queue.Empty:
                raise ServerFailed("a ping was not answered") from None
            if not line:
                raise ServerFailed("the server closed the connection")
            check_answer(line)
            if json.loads(line).get("id") == label:
                return


class HttpClient:
    """Posts messages or sends raw bytes, and then checks that the server is healthy."""

    def __init__(self, scratch: Path) -> None:
        self.process = _start_server(scratch, "--http", "127.0.0.1:0")
        assert self.process.stdout is not None
        announcement = self.process.stdout.readline().decode()
        sample_files = re.search(r"(https?://\S+)", announcement)
        if sample_files is None:
            raise ServerFailed((scratch / "log").read_text("utf-8", "replace"))
        self._address = urlsplit(sample_files[1])
        self._connection = self._connect()
        self._session = self._open_session()

    def post(self, data: bytes) -> None:
        """Send one input as a request body."""
        status, session, body = self._send_request(
            "POST", "/mcp", data, {**_JSON_HEADERS, "Mcp-Session-Id": self._session}
        )
        check_answer(body)
        if session and session != self._session:
            self._send_request("DELETE", "/mcp", None, {"Mcp-Session-Id": session})
        if status == 404:
            self._session = self._open_session()
        if status >= 500:
            raise ServerFailed(f"status {status}: {body[:300]!r}")
        self._check_health()

    def send_raw(self, data: bytes) -> None:
        """Send one input as the complete contents of a connection."""
        import socket

        with socket.create_connection(
            (self._address.hostname or "", self._address.port or 0), timeout=ANSWER_TIMEOUT_SECONDS
        ) as wire:
            try:
                wire.sendall(data)
                wire.shutdown(socket.SHUT_WR)
                answer = b""
                while piece := wire.recv(65_536):
                    answer += piece
            except OSError:
                answer = b""  # The server refused the request before it was complete.
        check_answer(answer)
        if re.match(rb"HTTP/1\.[01] 5", answer) and answer[9:12] not in (b"501", b"503", b"505"):
            raise ServerFailed(repr(answer[:300]))
        self._check_health()

    def _check_health(self) -> None:
        status, _, body = self._send_request("GET", "/healthz", None, {})
        if status != 200:
            raise ServerFailed(f"unhealthy: {status} {body[:300]!r}")

    def _open_session(self) -> str:
        status, session, body = self._send_request(
            "POST", "/mcp", json.dumps(_INITIALIZE_REQUEST).encode(), _JSON_HEADERS
        )
        if status != 200:
            raise ServerFailed(f"no session: {status} {body[:300]!r}")
        self._send_request("POST", "/mcp", _INITIALIZED_NOTIFICATION, {**_JSON_HEADERS, "Mcp-Session-Id": session})
        return session

    def _send_request(
        self, method: str, path: str, body: bytes | None, headers: dict[str, str]
    ) -> tuple[int, str, bytes]:
        """Send a request and return status, session and body; retry once, because the server may have closed the connection."""
        for is_last in (False, True):
            try:
                self._connection.request(method, path, body, headers)
                answer = self._connection.getresponse()
                return answer.status, answer.getheader("Mcp-Session-Id") or "", answer.read()
            except (http.client.HTTPException, OSError) as exc:
                self._connection.close()
                self._connection = self._connect()
                if is_last:
                    raise ServerFailed(f"no answer: {exc!r}") from exc
        raise AssertionError  # unreachable, because the second attempt returns or raises an error

    def _connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(
            self._address.hostname or "", self._address.port or 0, timeout=ANSWER_TIMEOUT_SECONDS
        )


def check_answer(answer: bytes) -> None:
    """Raise `ServerFailed` if the answer is an internal error."""
    if b"-32603" in answer or b"internal error" in answer.lower() or b"Traceback" in answer:
        raise ServerFailed(repr(answer[:500]))
