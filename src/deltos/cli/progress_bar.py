"""A progress bar on a terminal: files done, rate, time left. Silent where standard error is no terminal."""

from __future__ import annotations

import signal
import sys
import time

from deltos.cli.terminal import redraw_line

_WIDTH = 24
_REDRAW_SECONDS = 0.1


class ProgressBar:
    """Implements `progress.Progress` on standard error.

    Python loses a Ctrl-C that comes while a destructor runs: the bar remembers it, and work stops at its next step.
    """

    def __init__(self) -> None:
        self._interrupted = False
        signal.signal(signal.SIGINT, self._interrupt)
        self._started = time.monotonic()
        self._drawn_at = 0.0
        self._visible = sys.stderr.isatty()

    def report(self, done: int, total: int, what: str) -> None:
        """Draw how far the work is."""
        now = time.monotonic()
        if not self._visible or (now - self._drawn_at < _REDRAW_SECONDS and done < total):
            return
        self._drawn_at = now
        rate = done / max(now - self._started, 1e-6)
        left = (total - done) / rate if rate else 0.0
        filled = _WIDTH * done // max(total, 1)
        bar = "█" * filled + "░" * (_WIDTH - filled)
        redraw_line(f"{bar} {done}/{total} {what}  {rate:.0f}/s  {left:.0f} s left")

    def cancelled(self) -> bool:
        """Whether Ctrl-C was pressed."""
        return self._interrupted

    def _interrupt(self, *_: object) -> None:
        self._interrupted = True
        raise KeyboardInterrupt

    def clear(self) -> None:
        """Remove the bar, so that the result stands alone."""
        if self._visible:
            redraw_line("")
