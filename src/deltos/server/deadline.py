"""Ends the process within a time limit after a signal, even if other threads still run."""

from __future__ import annotations

import _thread
import os
import signal
import sys
import time
from contextlib import suppress
from typing import NoReturn

EXIT_TIMEOUT_SECONDS = 4.0
"""Maximum time between a signal and the exit. Supervisors kill a process after five or ten seconds."""

_WATCHDOG_DELAY_SECONDS = 0.5
_MAX_DESCRIPTORS = 65_536
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def exit_within(seconds: float) -> None:
    """Exit after `seconds` unless the process has ended by then. Acquires no lock, so signal handlers can call it."""
    _thread.start_new_thread(_exit_after, (seconds,))


def exit_now(code: int) -> NoReturn:
    """Exit with `code` without waiting for other threads."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):
            stream.flush()
    os._exit(code)


def start_watchdog(seconds: float) -> None:
    """Fork a watchdog process that kills this process if it is still running about `seconds` after a signal.

    While a library holds the GIL, no Python signal handler can run. The interpreter's C handler does not need the GIL:
    it writes the signal number to a pipe that the watchdog reads. Call this before threads are started and before much
    memory is used, because the watchdog inherits that memory.
    """
    if sys.platform == "win32":
        return
    watched_process = os.getpid()
    read_end, write_end = os.pipe()
    if os.fork() == 0:
        _watch(watched_process, read_end, seconds + _WATCHDOG_DELAY_SECONDS)
    os.close(read_end)
    os.set_blocking(write_end, False)
    signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
    os.register_at_fork(after_in_child=lambda: _close_in_child(write_end))


def _watch(watched_process: int, read_end: int, seconds: float) -> NoReturn:
    """Wait for a signal to the watched process, and kill that process after `seconds`. Exit when the pipe is closed."""
    try:
        for number in (*_SIGNALS, signal.SIGHUP):
            # Terminals send signals to the whole process group; the watchdog must outlive the watched process.
            signal.signal(number, signal.SIG_IGN)
        os.closerange(0, read_end)
        os.closerange(read_end + 1, min(os.sysconf("SC_OPEN_MAX"), _MAX_DESCRIPTORS))
        while data := os.read(read_end, 1):
            if data[0] in _SIGNALS:
                time.sleep(seconds)
                if os.getppid() == watched_process:  # otherwise the process has ended, and its id may have been reused
                    os.kill(watched_process, signal.SIGKILL)
                break
    finally:
        os._exit(0)


def _close_in_child(write_end: int) -> None:
    """Close the inherited write end of the watchdog's pipe in a forked child."""
    # The watchdog exits only when every process has closed the write end.
    signal.set_wakeup_fd(-1)
    with suppress(OSError):
        os.close(write_end)


def _exit_after(seconds: float) -> None:
    time.sleep(seconds)
    os._exit(0)  # no message is printed, because a write to stderr could block
