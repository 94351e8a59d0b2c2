"""Background thread that updates an index. Any number of calls can wait for the end of the update."""

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
_STOP_TIMEOUT_SECONDS = 5.0
# Interval at which Python switches threads during background indexing. A search releases the GIL for each row that it
# reads. With Python's default interval, it would then wait up to 5 ms for the GIL.
SWITCH_INTERVAL_SECONDS = 0.0005


class BackgroundRun:
    """Thread that immediately runs the function `work` and records its progress."""

    def __init__(self, work: Callable[[Progress], object], *, name: str = "index", unit: str = "files") -> None:
        self._work = work
        self.name = name
        self._unit = unit
        self._thread = threading.Thread(target=self._run, name=f"deltos-{name}", daemon=True)
        self._stop = threading.Event()
        self.failure: DeltosError | None = None
        self.done = self.total = 0
        self._started_at = time.monotonic()
        self._thread.start()

    @property
    def is_running(self) -> bool:
        """Whether the run is still in progress."""
        return self._thread.is_alive()

    @property
    def age_seconds(self) -> float:
        """Number of seconds since the start of the run."""
        return time.monotonic() - self._started_at

    def wait(self, seconds: float, progress: Progress, *, until: Callable[[], bool] | None = None) -> None:
        """Wait for the end of the run and report the run's progress to the caller.

        Return earlier if `until` returns true, `seconds` have passed, or the caller cancels.
        """
        deadline = time.monotonic() + seconds
        while self.is_running and time.monotonic() < deadline and not progress.cancelled():
            if until is not None and until():
                return
            self._thread.join(min(POLL_SECONDS, seconds))
            if self.total:
                progress.report(self.done, self.total, self._unit)

    def stop(self) -> None:
        """Request cancellation, and wait briefly until the run ends."""
        self._stop.set()
        self._thread.join(_STOP_TIMEOUT_SECONDS)

    def report(self, done: int, total: int, unit: str) -> None:  # noqa: ARG002
        """Record that `done` of `total` items were processed; `unit` is the noun for the items."""
        self.done, self.total = done, total

    def cancelled(self) -> bool:
        """Whether cancellation was requested."""
        return self._stop.is_set()

    def _run(self) -> None:
        sys.setswitchinterval(min(SWITCH_INTERVAL_SECONDS, sys.getswitchinterval()))
        try:
            self._work(self)
        except Cancelled:
            pass
        except DeltosError as exc:
            self.failure = exc
        except Exception as exc:  # noqa: BLE001 (top level of a thread: waiting calls raise it)
            self.failure = DeltosError(f"Indexing failed: {type(exc).__name__}: {exc}")
            self.failure.__cause__ = exc  # keep the original traceback
