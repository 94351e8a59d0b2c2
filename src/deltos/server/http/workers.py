"""`deltos mcp --http --workers N`: a supervisor process and N forked processes that serve one port.

The workers are forked before the supervisor has threads or has imported much. All of them accept connections from the
same socket, so a worker cannot have sessions.
"""

from __future__ import annotations

import logging
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
from deltos.server.deadline import exit_now
from deltos.server.http.port import open_port

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

    from deltos.server.http.options import HttpOptions

    Serve = Callable[["SharedPort"], int]

logger = logging.getLogger(__name__)

MIN_WORKER_LIFETIME_SECONDS = 5.0
"""A worker that fails within this time could not start serving and is not restarted."""

EXIT_USAGE = 2
"""Exit code for invalid options. A restarted worker would fail in the same way, so it is not restarted."""

_RESTART_DELAY_SECONDS = 0.5
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@dataclass(frozen=True, slots=True)
class SharedPort:
    """The listening socket that all workers share. If `is_announced` is true, this worker prints the URL."""

    listening: socket.socket
    lifeline: int
    is_announced: bool = False

    def exit_with_supervisor(self) -> None:
        """Start a thread that sends SIGTERM to this process when the supervisor has ended."""
        threading.Thread(target=_exit_with_supervisor, args=(self.lifeline,), daemon=True).start()


def check_workers(options: HttpOptions) -> None:
    """Raise BadArgument if the system or the configuration does not support several workers."""
    if options.workers == 1:
        return
    if sys.platform == "win32":
        raise BadArgument("--workers requires a system with fork", hint="Start several servers behind a proxy.")
    if not Config.from_environment().database:
        raise BadArgument(
            "--workers requires a database, which the workers share",
            hint="Set DELTOS_DATABASE=postgresql://…, see docs/postgres.md.",
        )


def serve_with_workers(options: HttpOptions, serve: Serve) -> int:
    """Keep workers running until a signal arrives, and return the exit code."""
    try:
        listening = open_port(options.host, options.port)
    except OSError as error:
        logger.critical("deltos mcp: cannot listen on %s:%s: %s", options.host, options.port, error.strerror or error)
        return 1
    return _Supervisor(listening, serve).run(options.workers)


class _Supervisor:
    """Supervisor that starts, restarts and stops worker processes."""

    def __init__(self, listening: socket.socket, serve: Serve) -> None:
        self._listening = listening
        self._serve = serve
        self._started: dict[int, float] = {}
        self._is_ending = False
        self._lifeline, self._lifeline_writer = os.pipe()  # workers detect the end of this process by the closed pipe

    def run(self, count: int) -> int:
        for number in _SIGNALS:
            signal.signal(number, self._stop_on_signal)
        for n in range(count):
            self._start_worker(is_announced=n == 0)
        code = 0
        while self._started:
            worker, status = os.wait()
            lived = time.monotonic() - self._started.pop(worker, time.monotonic())
            ended = os.waitstatus_to_exitcode(status)
            if self._is_ending:
                continue
            if ended == EXIT_USAGE or (ended > 0 and lived < MIN_WORKER_LIFETIME_SECONDS):
                code = code or ended
                self._stop_workers()
                continue
            logger.warning("deltos mcp: restarting a worker that ended (%s)", _describe_exit(ended))
            time.sleep(_RESTART_DELAY_SECONDS)
            if not self._is_ending:
                self._start_worker()
        return code

    def _start_worker(self, *, is_announced: bool = False) -> None:
        sys.stdout.flush()
        # Block signals until the supervisor has recorded the worker and the worker has reset the inherited handlers,
        # so that no signal is lost.
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
            os.setpgid(0, 0)  # Ctrl-C in a terminal signals only the supervisor, which stops the workers
            os.close(self._lifeline_writer)
            exit_now(self._serve(SharedPort(self._listening, self._lifeline, is_announced)))
        finally:
            os._exit(1)

    def _stop_on_signal(self, *_: object) -> None:
        self._stop_workers()

    def _stop_workers(self) -> None:
        self._is_ending = True
        for worker in tuple(self._started):
            with suppress(ProcessLookupError):
                os.kill(worker, signal.SIGTERM)


def _exit_with_supervisor(lifeline: int) -> None:
    """Send SIGTERM to this process when the supervisor's end of the pipe is closed."""
    os.read(lifeline, 1)
    os.kill(os.getpid(), signal.SIGTERM)


def _describe_exit(code: int) -> str:
    return f"signal {-code}" if code < 0 else f"exit code {code}"
