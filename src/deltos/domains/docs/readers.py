"""Threads that read places of a source side by side, so that a slow answer holds up nobody."""

from __future__ import annotations

import logging
import threading
from concurrent.futures import Future, wait
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, TypeVar

from deltos.confinement import held_alike
from deltos.domains.docs.model import Reading, Skipped, Unchanged
from deltos.errors import DeltosError, SourceError

if TYPE_CHECKING:
    from collections.abc import Callable

    from deltos.domains.docs.model import Origin
    from deltos.store.docs import Place
    from deltos.store.docs_index import KnownPage

_T = TypeVar("_T")
_log = logging.getLogger(__name__)

Outcome = Reading | Unchanged | Skipped | DeltosError


def run_aside(task: Callable[[], _T], stopping: Callable[[], bool], nap_seconds: float) -> _T | None:
    """What `task` returns or raises in a thread of its own; None as soon as nobody wants it any more."""
    future: Future[_T] = Future()

    def work() -> None:
        try:
            future.set_result(task())
        except BaseException as exc:  # noqa: BLE001 - whoever waits is told
            future.set_exception(exc)

    threading.Thread(target=held_alike(work), name="deltos-reader", daemon=True).start()
    while not wait((future,), nap_seconds).done:
        if stopping():
            return None
    return future.result()


@dataclass(slots=True)
class Readers:
    """As many threads as the origin wants. Daemons: a server that never answers cannot keep us alive."""

    origin: Origin
    busy: int = 0
    _tasks: SimpleQueue[tuple[Place, KnownPage | None] | None] = field(default_factory=SimpleQueue)
    _outcomes: SimpleQueue[tuple[Place, Outcome]] = field(default_factory=SimpleQueue)
    _started: int = 0

    def free(self) -> bool:
        """Whether another place can be read now."""
        return self.busy < self.origin.parallel

    def read(self, place: Place, known: KnownPage | None) -> None:
        """Begin to read a place."""
        if self._started <= self.busy:
            threading.Thread(target=held_alike(self._serve), name="deltos-reader", daemon=True).start()
            self._started += 1
        self.busy += 1
        self._tasks.put((place, known))

    def next_outcome(self, timeout_seconds: float) -> tuple[Place, Outcome] | None:
        """The next place that was read; None when none is within the time."""
        try:
            outcome = self._outcomes.get(timeout=timeout_seconds)
        except Empty:
            return None
        self.busy -= 1
        return outcome

    def close(self) -> None:
        """Let the threads end when they are done."""
        for _ in range(self._started):
            self._tasks.put(None)

    def _serve(self) -> None:
        while task := self._tasks.get():
            place, known = task
            self._outcomes.put((place, self._outcome(place, known)))

    def _outcome(self, place: Place, known: KnownPage | None) -> Outcome:
        try:
            return self.origin.read(place, known)
        except DeltosError as exc:
            return exc
        except Exception as exc:  # noqa: BLE001 - a thread is a surface: one strange page must not end the crawl
            _log.warning("Reading %s broke", place.url, exc_info=True)
            return SourceError(f"The page could not be understood ({type(exc).__name__}: {exc})")
