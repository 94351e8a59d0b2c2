"""Progress bar with speed and remaining time on stderr. Prints nothing if stderr is not a terminal."""

from __future__ import annotations

import signal
import sys
import time

from deltos.cli.style import is_interactive, progress_line
from deltos.cli.terminal import redraw_line

_REDRAW_INTERVAL_SECONDS = 0.1


class ProgressBar:
    """Implementation of the interface `Progress` that draws on stderr.

    Ctrl-C sets a flag that stops the work at the next report. Python would ignore a KeyboardInterrupt that is
    raised in a destructor.
    """

    def __init__(self) -> None:
        self._interrupted = False
        signal.signal(signal.SIGINT, self._interrupt)
        self._started = time.monotonic()
        self._drawn_at = 0.0
        self._visible = is_interactive(sys.stderr)

    def report(self, done: int, total: int, what: str) -> None:
        """Draw the progress of the work."""
        now = time.monotonic()
        if not self._visible or (now - self._drawn_at < _REDRAW_INTERVAL_SECONDS and done < total):
            return
        self._drawn_at = now
        rate = done / max(now - self._started, 1e-6)
        left = (total - done) / rate if rate else 0.0
        redraw_line(progress_line(done, total, f"{done}/{total} {what}  {rate:.0f}/s  {left:.0f} s left"))

    def cancelled(self) -> bool:
        """Whether Ctrl-C was pressed."""
        return self._interrupted

    def _interrupt(self, *_: object) -> None:
        self._interrupted = True
        raise KeyboardInterrupt

    def clear(self) -> None:
        """Erase the bar."""
        if self._visible:
            redraw_line("")
