"""Threads that read addresses of a source side by side, so that a slow answer delays no other."""

from __future__ import annotations

import logging
import threading
from concurrent.futures import Future, wait
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, TypeVar

from deltos.confinement import with_confinement
from deltos.domains.docs.model import PageReading, Skipped, Unchanged, Unparsed
from deltos.errors import DeltosError, SourceError
from deltos.isolated.wire import Reply

if TYPE_CHECKING:
    from collections.abc import Callable

    from deltos.domains.docs.model import Origin
    from deltos.guarded import Parser
    from deltos.store.documents import CrawlAddress, KnownPage

    _Task = tuple[CrawlAddress, KnownPage | None]

_T = TypeVar("_T")
_log = logging.getLogger(__name__)

Outcome = PageReading | Unchanged | Skipped | DeltosError


def run_aside(task: Callable[[], _T], stopping: Callable[[], bool], nap_seconds: float) -> _T | None:
    """What `task` returns or raises in a thread of its own; None as soon as it is cancelled."""
    future: Future[_T] = Future()

    def work() -> None:
        try:
            future.set_result(task())
        except BaseException as exc:  # noqa: BLE001 - whoever waits is told
            future.set_exception(exc)

    threading.Thread(target=with_confinement(work), name="deltos-reader", daemon=True).start()
    while not wait((future,), nap_seconds).done:
        if stopping():
            return None
    return future.result()


@dataclass(slots=True)
class Readers:
    """As many threads as the origin wants. Daemons: a server that never answers cannot keep us alive.

    They fetch; what was fetched is parsed in a child process.
    """

    origin: Origin
    parser: Parser
    busy: int = 0
    _tasks: SimpleQueue[_Task | None] = field(default_factory=SimpleQueue)
    _outcomes: SimpleQueue[tuple[CrawlAddress, Outcome]] = field(default_factory=SimpleQueue)
    _started: int = 0

    def free(self) -> bool:
        """Whether another address can be read now."""
        return self.busy < self.origin.parallel * self.origin.together

    def read(self, address: CrawlAddress, known: KnownPage | None) -> None:
        """Begin to read an address."""
        if self._started < self.origin.parallel and self._started <= self.busy:
            threading.Thread(target=with_confinement(self._serve), name="deltos-reader", daemon=True).start()
            self._started += 1
        self.busy += 1
        self._tasks.put((address, known))

    def next_outcome(self, timeout_seconds: float) -> tuple[CrawlAddress, Outcome] | None:
        """The next address that was read; None when none is within the time."""
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
        while tasks := self._next_tasks():
            unparsed: list[tuple[CrawlAddress, Unparsed]] = []
            for address, known in tasks:
                fetched = _told(address, partial(self.origin.read, address, known))
                if isinstance(fetched, Unparsed):
                    unparsed.append((address, fetched))
                else:
                    self._outcomes.put((address, fetched))
            if unparsed:
                self._parse(unparsed)

    def _next_tasks(self) -> list[_Task]:
        """The next addresses, as many as wait and belong together; none at the end."""
        tasks: list[_Task] = []
        with suppress(Empty):
            while len(tasks) < self.origin.together:
                task = self._tasks.get(block=not tasks)
                if task is None:
                    if tasks:
                        self._tasks.put(None)  # the end comes after these
                    break
                tasks.append(task)
        return tasks

    def _parse(self, unparsed: list[tuple[CrawlAddress, Unparsed]]) -> None:
        try:
            replies = self.parser.run_all([fetched.task for _, fetched in unparsed])
        except DeltosError as exc:  # the store is full or gone
            replies = [Reply(error=exc)] * len(unparsed)
        for (address, fetched), reply in zip(unparsed, replies, strict=True):
            self._outcomes.put((address, _told(address, partial(_finished, fetched, reply))))


def _finished(fetched: Unparsed, reply: Reply) -> PageReading | Skipped:
    if reply.error is not None:
        raise reply.error
    return fetched.finish(reply.value)


def _told(address: CrawlAddress, work: Callable[[], _T]) -> _T | DeltosError:
    """What comes of the work on one address, an error included: a thread is a surface, and other addresses wait."""
    try:
        return work()
    except DeltosError as exc:
        return exc
    except Exception as exc:  # noqa: BLE001 - one strange page must not end the crawl
        _log.warning("Reading %s broke", address.url, exc_info=True)
        return SourceError(f"The page could not be understood ({type(exc).__name__}: {exc})")
