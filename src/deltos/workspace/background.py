"""An index run in a thread of its own, which any number of calls may wait for."""

from __future__ import annotations

import sys
import threading
import time
from typing import TYPE_CHECKING

from deltos.errors import Cancelled, DeltosError

if TYPE_CHECKING:
    from collections.abc import Callable

    from deltos.progress import Progress

POLL_SECONDS = 0.05
_STOP_SECONDS = 5.0
# A thread that waits for the interpreter gets it after so long, not after Python's 5 ms: a search gives it away dozens
# of times, for every row that it reads, and each time waited for the whole while that background work held it.
SWITCH_SECONDS = 0.0005


class BackgroundRun:
    """Runs `work` at once and listens to its progress."""

    def __init__(self, work: Callable[[Progress], object], *, name: str = "index", what: str = "files") -> None:
        self._work = work
        self.name = name
        self._what = what
        self._thread = threading.Thread(target=self._run, name=f"deltos-{name}", daemon=True)
        self._stop = threading.Event()
        self.failure: DeltosError | None = None
        self.done = self.total = 0
        self._began = time.monotonic()
        self._thread.start()

    @property
    def running(self) -> bool:
        """Whether it is still at work."""
        return self._thread.is_alive()

    @property
    def age_seconds(self) -> float:
        """How long ago it began."""
        return time.monotonic() - self._began

    def wait(self, seconds: float, progress: Progress, *, until: Callable[[], bool] | None = None) -> None:
        """Wait until it is done or has come far enough, at most `seconds`, or until the caller no longer waits; pass
        its progress on."""
        deadline = time.monotonic() + seconds
        while self.running and time.monotonic() < deadline and not progress.cancelled():
            if until is not None and until():
                return
            self._thread.join(min(POLL_SECONDS, seconds))
            if self.total:
                progress.report(self.done, self.total, self._what)

    def stop(self) -> None:
        """Ask it to end and wait a moment for it."""
        self._stop.set()
        self._thread.join(_STOP_SECONDS)

    def report(self, done: int, total: int, what: str) -> None:  # noqa: ARG002
        """Implements Progress for the run itself."""
        self.done, self.total = done, total

    def cancelled(self) -> bool:
        """Implements Progress for the run itself."""
        return self._stop.is_set()

    def _run(self) -> None:
        sys.setswitchinterval(min(SWITCH_SECONDS, sys.getswitchinterval()))
        try:
            self._work(self)
        except Cancelled:
            pass
        except DeltosError as exc:
            self.failure = exc
        except Exception as exc:  # noqa: BLE001 (the end of a thread is a surface: whoever asks is told)
            self.failure = DeltosError(f"Indexing failed: {type(exc).__name__}: {exc}")
            self.failure.__cause__ = exc  # where it is raised, it shows where it came from
