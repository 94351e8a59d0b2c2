"""Count lost writes when servers are killed.

Eight clients write at the same time, each through its own server process, while servers are killed at random.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

NOTE_WORDS = (
    "cache",
    "index",
    "parser",
    "token",
    "deploy",
    "query",
    "schema",
    "branch",
    "release",
    "worker",
    "retry",
)


@dataclass(frozen=True, slots=True)
class MemoryServer:
    """A memory server: commands to start it, to remember a text, and to read all texts back."""

    name: str
    command: Sequence[str]
    environment: Mapping[str, str]
    call: Callable[[str], dict[str, Any]]
    stored_texts: Callable[[], set[str]]


@dataclass(slots=True)
class Outcome:
    """Sums of the counts of all clients."""

    acknowledged: set[str] = field(default_factory=set)
    errors: int = 0
    kills: int = 0
    seconds: float = 0.0


class Client:
    """One client with its own server process, which it restarts after a kill."""

    def __init__(self, memory_server: MemoryServer) -> None:
        self._contender = memory_server
        self._number = 0
        self.process = self._start()

    def ask(self, text: str) -> dict[str, Any] | None:
        """Return the server's answer, or restart the server and return None if it has died."""
        try:
            return self._exchange({"method": "tools/call", "params": self._contender.call(text)})
        except (OSError, ValueError, EOFError):
            self.stop()
            self.process = self._start()
            return None

    def stop(self) -> None:
        """Stop the server."""
        self.process.kill()
        self.process.wait()

    def _start(self) -> subprocess.Popen[str]:
        environment = {**os.environ, **self._contender.environment}
        while True:
            self.process = subprocess.Popen(
                self._contender.command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                env=environment,
            )
            try:
                hello = {
                    "protocolVersion": "2025-06-18",
                    "capabilities": {},
                    "clientInfo": {"name": "bench", "version": "0"},
                }
                self._exchange({"method": "initialize", "params": hello})
                self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})
            except (OSError, ValueError, EOFError):
                self.process.wait()  # The server was killed while it started, so try again.
            else:
                return self.process

    def _exchange(self, request: dict[str, Any]) -> dict[str, Any]:
        self._number += 1
        self._send({"jsonrpc": "2.0", "id": self._number, **request})
        while True:
            assert self.process.stdout is not None
            line = self.process.stdout.readline()
            if not line:
                raise EOFError
            answer: dict[str, Any] = json.loads(line)
            if answer.get("id") == self._number:
                return answer

    def _send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()


def run(memory_server: MemoryServer, *, clients: int, writes: int, kills: int, seed: int = 7) -> Outcome:
    """Let all clients write while servers are killed at random."""
    outcome, lock, chance = Outcome(), threading.Lock(), random.Random(seed)
    started = time.monotonic()
    running = [Client(memory_server) for _ in range(clients)]
    threads = [
        threading.Thread(target=_write_all, args=(client, n, writes, outcome, lock)) for n, client in enumerate(running)
    ]
    for thread in threads:
        thread.start()
    # The kills are spread over the writes rather than over time, so that a slow server is killed as often as a fast
    # one.
    points = sorted(chance.randrange(clients * writes) for _ in range(kills))
    while points and any(thread.is_alive() for thread in threads):
        if len(outcome.acknowledged) + outcome.errors >= points[0]:
            points.pop(0)
            os.kill(chance.choice(running).process.pid, signal.SIGKILL)
            outcome.kills += 1
        time.sleep(0.002)
    for thread in threads:
        thread.join()
    for client in running:
        client.stop()
    outcome.seconds = time.monotonic() - started
    return outcome


def _write_all(client: Client, number: int, writes: int, outcome: Outcome, lock: threading.Lock) -> None:
    chance = random.Random(number)
    for write in range(writes):
        text = f"client {number} note {write}: " + " ".join(chance.choice(NOTE_WORDS) for _ in range(12))
        for _ in range(5):
            answer = client.ask(text)
            if answer is not None:
                break
        with lock:
            if answer is None or "error" in answer or answer["result"].get("isError"):
                outcome.errors += 1
            else:
                outcome.acknowledged.add(text)
