"""Run many concurrent HTTP sessions that search, and measure errors, latency, throughput and memory growth."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import statistics
import subprocess
import sys
import time
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

QUERIES = (
    "where are answers cut to the token budget",
    "how is a damaged database set aside",
    "rate limit of callers",
    "ProjectIndex",
    "class Greeter",
    "normalise_remote",
    "parse OpenAPI references without following cycles",
    "which files are worth indexing",
    '"BEGIN IMMEDIATE"',
    "how are secrets redacted before they are kept",
    "sitemap",
    "receiver types of method calls",
)
SAMPLE_SECONDS = 5.0


@dataclass(slots=True)
class Load:
    """Measurements of all sessions."""

    seconds: list[float] = field(default_factory=list)
    problems: Counter[str] = field(default_factory=Counter)
    resident_mb: list[float] = field(default_factory=list)
    cpu_seconds: float = 0.0


_STATELESS_VERSION = "2026-07-28"
_STATELESS_META = {
    "io.modelcontextprotocol/protocolVersion": _STATELESS_VERSION,
    "io.modelcontextprotocol/clientCapabilities": {},
}


class Session:
    """One client with a persistent connection and its session."""

    def __init__(self, host: str, port: int, token: str = "") -> None:
        self._host, self._port = host, port
        self._authorization = f"Authorization: Bearer {token}\r\n" if token else ""
        self._session_id = ""
        self._next_id = 0

    async def open(self) -> str:
        """Connect and complete the handshake; return the error message, or "" if there is none."""
        await self._connect()
        client = {"name": "load", "version": "1"}
        params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}
        headers, _ = await self._post({"method": "initialize", "params": params})
        if headers["status"] != "200":
            return f"initialize: status {headers['status']}"
        self._session_id = headers["mcp-session-id"]
        await self._post({"method": "notifications/initialized"}, notification=True)
        return ""

    async def list_tools(self) -> str:
        """Request the list of tools; return the error message, or "" if there is none."""
        status, message = await self.ask("tools/list")
        return "" if message.get("result", {}).get("tools") else f"tools/list: status {status}, no result"

    async def search(self, query: str, tool: str = "search_code") -> str:
        """Search once; return the error message, or "" if there is none."""
        status, message = await self.ask("tools/call", {"name": tool, "arguments": {"query": query, "limit": 5}})
        found = message.get("result", {}).get("structuredContent", {}).get("results")
        return "" if found else f"{tool}: status {status}, no result"

    def close(self) -> None:
        """Close the connection."""
        self._writer.close()

    async def ask(self, method: str, params: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Send a request; return the status and the JSON-RPC response."""
        headers, body = await self._post({"method": method, "params": params or {}})
        found = re.findall(rb"^data: (.+?)\r?$", body, re.MULTILINE)
        message: dict[str, Any] = json.loads(found[-1] if found else body or b"{}")
        return headers["status"], message

    async def _connect(self) -> None:
        self._reader, self._writer = await asyncio.open_connection(self._host, self._port)

    async def _post(self, message: dict[str, Any], *, notification: bool = False) -> tuple[dict[str, str], bytes]:
        request = self._build_request(message, notification=notification)
        try:
            return await self._exchange(request)
        except (ConnectionError, asyncio.IncompleteReadError):  # The server may have closed an idle connection.
            self._writer.close()
            await self._connect()
            return await self._exchange(request)

    def _build_request(self, message: dict[str, Any], *, notification: bool) -> bytes:
        if not notification:
            self._next_id += 1
            message["id"] = self._next_id
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        own = self._authorization + self._protocol_headers(message)
        return (
            f"POST /mcp HTTP/1.1\r\nHost: {self._host}:{self._port}\r\nContent-Type: application/json\r\n"
            f"Accept: application/json, text/event-stream\r\n{own}Content-Length: {len(body)}\r\n\r\n"
        ).encode() + body

    def _protocol_headers(self, _message: dict[str, Any]) -> str:
        return f"Mcp-Session-Id: {self._session_id}\r\n" if self._session_id else ""

    async def _exchange(self, request: bytes) -> tuple[dict[str, str], bytes]:
        self._writer.write(request)
        return await self._read_answer()

    async def _read_answer(self) -> tuple[dict[str, str], bytes]:
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:] if line)}
        headers["status"] = head[0].split()[1]
        if headers.get("transfer-encoding") == "chunked":
            return headers, b"".join([chunk async for chunk in self._read_chunks()])
        return headers, await self._reader.readexactly(int(headers.get("content-length", 0)))

    async def _read_chunks(self) -> AsyncIterator[bytes]:
        while size := int(await self._reader.readuntil(b"\r\n"), 16):
            yield (await self._reader.readexactly(size + 2))[:-2]
        await self._reader.readuntil(b"\r\n")


class StatelessClient(Session):
    """A client of MCP 2026-07-28, which has no sessions, so any server can answer any request."""

    async def open(self) -> str:
        """Connect; there is no handshake."""
        await self._connect()
        return ""

    async def ask(self, method: str, params: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Send a request; return the status and the JSON-RPC response."""
        return await super().ask(method, {**(params or {}), "_meta": _STATELESS_META})

    def _protocol_headers(self, message: dict[str, Any]) -> str:
        name = f"Mcp-Name: {message['params']['name']}\r\n" if "name" in message["params"] else ""
        return f"MCP-Protocol-Version: {_STATELESS_VERSION}\r\nMcp-Method: {message['method']}\r\n{name}"


def main() -> None:
    """Run the sessions and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--project", type=Path, default=Path(__file__).parents[1] / "src")
    given = parser.parse_args()
    with TemporaryDirectory() as home, start_server(given.project, home, "--toolsets", "code") as (process, host, port):
        load = asyncio.run(run_sessions(process.pid, host, port, given.sessions, given.seconds))
    print_row(load, given.sessions, given.seconds)
    sys.exit(1 if load.problems else 0)


@contextmanager
def start_server(project: Path, home: str, *options: str) -> Iterator[tuple[subprocess.Popen[str], str, int]]:
    """Start a server; on exit, stop it and check that it has ended cleanly."""
    command = [sys.executable, "-P", "-m", "deltos", "mcp", str(project), "--http", "127.0.0.1:0", *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "DELTOS_HOME": home})
    assert process.stdout
    found = re.search(r"http://([\d.]+):(\d+)/", process.stdout.readline())
    assert found
    try:
        yield process, found[1], int(found[2])
    finally:
        process.terminate()
        ended = process.wait(60)
    assert ended == 0


async def run_sessions(pid: int, host: str, port: int, count: int, seconds: float) -> Load:
    """Run `count` sessions that search for the given number of seconds."""
    first = Session(host, port)
    await first.open()
    await first.search(QUERIES[0])  # The first search indexes the project.
    load = Load()
    sessions = [Session(host, port) for _ in range(count)]
    await asyncio.gather(*(session.open() for session in sessions))
    ends_at = time.monotonic() + seconds
    cpu_before = await ask_ps(pid, "cputimes")
    watching = asyncio.create_task(watch_memory(pid, load))
    await asyncio.gather(*(keep_searching(s, n, ends_at, load) for n, s in enumerate(sessions)))
    watching.cancel()
    load.cpu_seconds = await ask_ps(pid, "cputimes") - cpu_before
    for session in (first, *sessions):
        session.close()
    return load


async def keep_searching(session: Session, number: int, ends_at: float, load: Load) -> None:
    """Search repeatedly until the end time."""
    while time.monotonic() < ends_at:
        started = time.monotonic()
        problem = await session.search(QUERIES[number % len(QUERIES)])
        load.seconds.append(time.monotonic() - started)
        if problem:
            load.problems[problem] += 1
        number += 1


async def watch_memory(pid: int, load: Load) -> None:
    """Record the server's resident memory every few seconds."""
    while True:
        await asyncio.sleep(SAMPLE_SECONDS)
        load.resident_mb.append(await ask_ps(pid, "rss") / 1024)


async def ask_ps(pid: int, column: str) -> int:
    """Return one column of the output of `ps` for the server."""
    asked = await asyncio.create_subprocess_exec("ps", "-o", f"{column}=", "-p", str(pid), stdout=subprocess.PIPE)
    shown, _ = await asked.communicate()
    return int(shown)


def print_row(load: Load, sessions: int, seconds: float) -> None:
    """Print the measurements."""
    cuts = statistics.quantiles(load.seconds, n=100)
    memory = ", ".join(f"{megabytes:.0f}" for megabytes in load.resident_mb)
    print("| sessions | seconds | searches | per second | server CPU ms each | errors | p50 ms | p95 ms | p99 ms |")
    print("|---|---|---|---|---|---|---|---|---|")
    print(
        f"| {sessions} | {seconds:.0f} | {len(load.seconds)} | {len(load.seconds) / seconds:.0f} "
        f"| {load.cpu_seconds * 1000 / len(load.seconds):.1f} "
        f"| {sum(load.problems.values())} | {cuts[49] * 1000:.0f} | {cuts[94] * 1000:.0f} | {cuts[98] * 1000:.0f} |"
    )
    print(f"\nServer memory every {SAMPLE_SECONDS:.0f} s, MB: {memory}")
    for problem, count in load.problems.most_common():
        print(f"- {count} × {problem}")


if __name__ == "__main__":
    main()
