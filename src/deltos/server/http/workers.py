"""`deltos mcp --http --workers N`: several processes that serve one port, and the one that keeps them running.

They are forked before this process has threads or has imported much. Each takes connections from the same socket; what
a session has is in the database, so that any of them can answer.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltos.config import Config
from deltos.errors import BadArgument
from deltos.server.deadline import leave
from deltos.server.http.port import open_port

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

    from deltos.server.http.options import HttpOptions

    Serve = Callable[["Port"], int]

SHORTEST_LIFE_SECONDS = 5.0
"""A worker that ends sooner, by itself and not in order, could not serve: it is not started again."""

MISUSED = 2
"""The exit code of a server that was asked for something that cannot be: the next one could not serve either."""

_PAUSE_SECONDS = 0.5
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@dataclass(frozen=True, slots=True)
class Port:
    """The socket that workers share; one of them announces it."""

    listening: socket.socket
    lifeline: int
    is_announced: bool = False

    def end_with_keeper(self) -> None:
        """From now on end this process, as a signal does, when the one that keeps it is gone."""
        threading.Thread(target=_end_with, args=(self.lifeline,), daemon=True).start()


def check_workers(options: HttpOptions) -> None:
    """Refuse several workers where they could not share sessions, or cannot be made."""
    if options.workers == 1:
        return
    if sys.platform == "win32":
        raise BadArgument("--workers needs a system with fork", hint="Start several servers behind a proxy.")
    if not Config.from_environment().database:
        raise BadArgument(
            "--workers needs a database, where sessions are kept that any worker can answer",
            hint="Set DELTOS_DATABASE=postgresql://…, see docs/postgres.md.",
        )


def serve_with_workers(options: HttpOptions, serve: Serve) -> int:
    """Keep workers running until a signal ends them. The exit code of a server."""
    try:
        listening = open_port(options.host, options.port)
    except OSError as error:
        sys.stderr.write(f"deltos mcp: cannot listen on {options.host}:{options.port}: {error.strerror or error}\n")
        return 1
    return _Workers(listening, serve).run(options.workers)


class _Workers:
    """The workers of this process."""

    def __init__(self, listening: socket.socket, serve: Serve) -> None:
        self._listening = listening
        self._serve = serve
        self._started: dict[int, float] = {}
        self._is_ending = False
        self._lifeline, self._held = os.pipe()  # its end tells workers that this process is gone

    def run(self, count: int) -> int:
        for number in _SIGNALS:
            signal.signal(number, self._pass_on)
        for n in range(count):
            self._start(is_announced=n == 0)
        code = 0
        while self._started:
            worker, status = os.wait()
            lived = time.monotonic() - self._started.pop(worker, time.monotonic())
            ended = os.waitstatus_to_exitcode(status)
            if self._is_ending:
                continue
            if ended == MISUSED or (ended > 0 and lived < SHORTEST_LIFE_SECONDS):
                code = code or ended
                self._end()
                continue
            sys.stderr.write(f"deltos mcp: a worker ended ({_told(ended)}) and is started again\n")
            time.sleep(_PAUSE_SECONDS)
            if not self._is_ending:
                self._start()
        return code

    def _start(self, *, is_announced: bool = False) -> None:
        sys.stdout.flush()
        # A signal waits until the worker is known here, and until it no longer has our handlers: else it would be lost.
        signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
        worker = os.fork()
        if worker:
            self._started[worker] = time.monotonic()
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
            return
        try:
            for number in _SIGNALS:
                signal.signal(number, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
            os.setpgid(0, 0)  # Ctrl-C in a terminal is for the one that keeps us, which passes it on
            os.close(self._held)
            leave(self._serve(Port(self._listening, self._lifeline, is_announced)))
        finally:
            os._exit(1)

    def _pass_on(self, *_: object) -> None:
        self._end()

    def _end(self) -> None:
        self._is_ending = True
        for worker in tuple(self._started):
            with suppress(ProcessLookupError):
                os.kill(worker, signal.SIGTERM)


def _end_with(lifeline: int) -> None:
    """Wait for the end of the pipe that the keeper holds open."""
    os.read(lifeline, 1)
    os.kill(os.getpid(), signal.SIGTERM)


def _told(code: int) -> str:
    return f"signal {-code}" if code < 0 else f"exit code {code}"
