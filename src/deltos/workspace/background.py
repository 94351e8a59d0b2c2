"""Background index run in a separate thread. Any number of calls can wait for the run."""

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
# Thread switch interval of the interpreter during background indexing. A search releases the GIL for each of the
# dozens of rows that it reads, and with Python's default interval it waits up to 5 ms each time.
SWITCH_INTERVAL_SECONDS = 0.0005


class BackgroundRun:
    """Thread that runs `work` immediately and records the progress."""

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
        """Seconds since the start of the run."""
        return time.monotonic() - self._started_at

    def wait(self, seconds: float, progress: Progress, *, until: Callable[[], bool] | None = None) -> None:
        """Wait for the end of the run and forward the progress.

        Return earlier if `until` returns true, `seconds` have passed or the caller cancels.
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
        """Record the progress of the run."""
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
            self.failure.__cause__ = exc  # keeps the original traceback
