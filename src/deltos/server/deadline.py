"""Ends a process in time after it was told to stop, whatever still runs in it."""

from __future__ import annotations

import _thread
import os
import signal
import sys
import time
from contextlib import suppress
from typing import NoReturn

END_SECONDS = 4.0
"""From a signal to the end: supervisors kill after five or ten seconds."""

_LAST_RESORT_SECONDS = 0.5
_MOST_DESCRIPTORS = 65_536
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def end_within(seconds: float) -> None:
    """End this process after `seconds`, unless it has ended by then. For handlers of signals: takes no lock."""
    _thread.start_new_thread(_leave_after, (seconds,))


def leave(code: int) -> NoReturn:
    """End the process now: threads that nobody waits for would hold it back."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):
            stream.flush()
    os._exit(code)


def watch_over(seconds: float) -> None:
    """Let another process kill this one a little more than `seconds` after a signal.

    While some library holds the interpreter, no code of ours can run, not even for a signal; but its number is written
    to a pipe at once by the interpreter's C handler, which does not need the GIL. Call it before there are threads
    and while little is in memory: the other process is a fork and keeps a copy of it.
    """
    if sys.platform == "win32":
        return
    watched = os.getpid()
    reading, writing = os.pipe()
    if os.fork() == 0:
        _watch(watched, reading, seconds + _LAST_RESORT_SECONDS)
    os.close(reading)
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    os.register_at_fork(after_in_child=lambda: _let_go(writing))


def _watch(watched: int, reading: int, seconds: float) -> NoReturn:
    """Wait for a signal to the process that is watched; its end closes the pipe."""
    try:
        for number in (*_SIGNALS, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)  # sent to the whole process group: this one ends with the other
        os.closerange(0, reading)
        os.closerange(reading + 1, min(os.sysconf("SC_OPEN_MAX"), _MOST_DESCRIPTORS))
        while told := os.read(reading, 1):
            if told[0] in _SIGNALS:
                time.sleep(seconds)
                if os.getppid() == watched:  # else its process id may have been reused
                    os.kill(watched, signal.SIGKILL)
                break
    finally:
        os._exit(0)


def _let_go(writing: int) -> None:
    """Close the pipe in a forked child: held open there, it would hide the end of the watched process."""
    signal.set_wakeup_fd(-1)
    with suppress(OSError):
        os.close(writing)


def _leave_after(seconds: float) -> None:
    time.sleep(seconds)
    os._exit(0)  # without a message: nobody may be reading stderr
