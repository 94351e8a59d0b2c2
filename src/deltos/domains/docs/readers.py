"""Fetch the pages of a source in parallel threads, so that a slow response does not delay the other requests."""

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
from deltos.domains.docs.model import ParsedPages, Skipped, Unchanged, Unparsed
from deltos.errors import DeltosError, SourceError
from deltos.isolated.wire import Reply

if TYPE_CHECKING:
    from collections.abc import Callable

    from deltos.domains.docs.model import Origin
    from deltos.isolated_parser import Parser
    from deltos.store.documents import CrawlAddress, KnownPage

    _ReadTask = tuple[CrawlAddress, KnownPage | None]

_T = TypeVar("_T")
_log = logging.getLogger(__name__)

Outcome = ParsedPages | Unchanged | Skipped | DeltosError


def run_in_thread(task: Callable[[], _T], stopping: Callable[[], bool], poll_interval_seconds: float) -> _T | None:
    """Run `task` in another thread and return its result, or None as soon as `stopping` returns true."""
    future: Future[_T] = Future()

    def run_task() -> None:
        try:
            future.set_result(task())
        except BaseException as exc:  # noqa: BLE001 - re-raised in the waiting thread
            future.set_exception(exc)

    threading.Thread(target=with_confinement(run_task), name="deltos-reader", daemon=True).start()
    while not wait((future,), poll_interval_seconds).done:
        if stopping():
            return None
    return future.result()


@dataclass(slots=True)
class Readers:
    """Pool of daemon threads that fetch pages and parse them in a child process.

    The crawled source determines the number of threads.
    """

    origin: Origin
    parser: Parser
    pending_count: int = 0  # number of queued addresses that have not been processed yet
    _tasks: SimpleQueue[_ReadTask | None] = field(default_factory=SimpleQueue)
    _outcomes: SimpleQueue[tuple[CrawlAddress, Outcome]] = field(default_factory=SimpleQueue)
    _started_threads: int = 0

    def has_capacity(self) -> bool:
        """Whether another address can be queued."""
        return self.pending_count < self.origin.thread_count * self.origin.batch_size

    def read(self, address: CrawlAddress, known: KnownPage | None) -> None:
        """Queue an address, and start a thread if needed."""
        if self._started_threads < self.origin.thread_count and self._started_threads <= self.pending_count:
            threading.Thread(target=with_confinement(self._run_reader), name="deltos-reader", daemon=True).start()
            self._started_threads += 1
        self.pending_count += 1
        self._tasks.put((address, known))

    def next_outcome(self, timeout_seconds: float) -> tuple[CrawlAddress, Outcome] | None:
        """Return the next processed address and the outcome, or None after the timeout."""
        try:
            outcome = self._outcomes.get(timeout=timeout_seconds)
        except Empty:
            return None
        self.pending_count -= 1
        return outcome

    def close(self) -> None:
        """Ask the threads to end after the current task."""
        for _ in range(self._started_threads):
            self._tasks.put(None)

    def _run_reader(self) -> None:
        """Fetch and parse queued addresses until the pool is closed."""
        while tasks := self._next_tasks():
            unparsed: list[tuple[CrawlAddress, Unparsed]] = []
            for address, known in tasks:
                fetched = _catch_errors(address, partial(self.origin.read, address, known))
                if isinstance(fetched, Unparsed):
                    unparsed.append((address, fetched))
                else:
                    self._outcomes.put((address, fetched))
            if unparsed:
                self._parse_pages(unparsed)

    def _next_tasks(self) -> list[_ReadTask]:
        """Wait for queued tasks and return them, up to the batch size; return an empty list if the pool is closed."""
        tasks: list[_ReadTask] = []
        with suppress(Empty):
            while len(tasks) < self.origin.batch_size:
                task = self._tasks.get(block=not tasks)
                if task is None:
                    if tasks:
                        self._tasks.put(None)  # this None ends the thread after these tasks
                    break
                tasks.append(task)
        return tasks

    def _parse_pages(self, unparsed: list[tuple[CrawlAddress, Unparsed]]) -> None:
        """Parse fetched pages in a child process, and queue the outcomes."""
        try:
            replies = self.parser.run_all([fetched.task for _, fetched in unparsed])
        except DeltosError as exc:  # raised, for example, if the disk is full
            replies = [Reply(error=exc)] * len(unparsed)
        for (address, fetched), reply in zip(unparsed, replies, strict=True):
            self._outcomes.put((address, _catch_errors(address, partial(_finish_page, fetched, reply))))


def _finish_page(fetched: Unparsed, reply: Reply) -> ParsedPages | Skipped:
    """Return the outcome for a parsed page, or raise the error of the parsing task."""
    if reply.error is not None:
        raise reply.error
    return fetched.finish(reply.value)


def _catch_errors(address: CrawlAddress, work: Callable[[], _T]) -> _T | DeltosError:
    """Return the result of `work`, or the error that it raised for the address."""
    try:
        return work()
    except DeltosError as exc:
        return exc
    except Exception as exc:  # noqa: BLE001 - one bad page must not end the crawl
        _log.warning("Reading %s failed", address.url, exc_info=True)
        return SourceError(f"The page could not be parsed ({type(exc).__name__}: {exc})")
