"""Run crawls in the background. A lock prevents two processes from crawling the same source."""

from __future__ import annotations

import logging
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from deltos.confinement import current, with_confinement
from deltos.domains.docs.crawl import Clock, Crawl
from deltos.errors import BadRequest, DeltosError, SourceError
from deltos.store.jobs import CRAWL, SET_ASIDE, JobRequest

if TYPE_CHECKING:
    from collections.abc import Callable

    from deltos.domains.docs.source import SourceOpener
    from deltos.semantic_index import SemanticIndex
    from deltos.store.documents import CrawlRow, Pages
    from deltos.store.jobs import Jobs
    from deltos.store.sources import Sources

_MAX_LOCK_ATTEMPTS = 20  # maximum number of attempts to lock a source
_RETRY_INTERVAL_SECONDS = 0.05
_STOP_TIMEOUT_SECONDS = 3.0
_QUEUE_POLL_INTERVAL_SECONDS = 0.1
_log = logging.getLogger(__name__)


@dataclass(slots=True)
class BackgroundCrawls:
    """Starts, resumes and stops crawls in this process, and detects crawls in other processes.

    If `jobs` is set, crawls are queued for workers instead of running in this process.
    """

    store: Sources
    index: Pages
    opener: SourceOpener
    clock: Clock = field(default_factory=Clock)
    semantic_index: Callable[[], SemanticIndex | None] = lambda: None
    jobs: Jobs | None = None
    _threads: dict[str, threading.Thread] = field(default_factory=dict)
    _threads_lock: threading.Lock = field(default_factory=threading.Lock)
    _stop: threading.Event = field(default_factory=threading.Event)

    def start(self, source_id: str) -> str:
        """Start or queue a crawl of a source unless it is already running; return a note for the user, or ""."""
        if self.jobs is not None:
            return self._queue_crawl(self.jobs, source_id)
        with self._threads_lock:
            running = self._threads.get(source_id)
            if running is not None and running.is_alive():
                return ""
            thread = threading.Thread(
                target=with_confinement(self._run_and_log_errors),
                args=(source_id,),
                name=f"crawl-{source_id}",
                daemon=True,
            )
            self._threads[source_id] = thread
            thread.start()
        return ""

    @staticmethod
    def _queue_crawl(jobs: Jobs, source_id: str) -> str:
        """Queue a crawl for a worker; return a note for the user."""
        confinement = current()
        options = {} if confinement is None else {"confinement": confinement.as_data()}
        job = jobs.add(JobRequest(CRAWL, source_id, options), is_waited_for=True)
        if job.state == SET_ASIDE:
            return (
                f"Note: {job.describe()} was set aside ({job.reason}). Run `deltos jobs retry {job.id}` to try again."
            )
        return f"Queued for a worker: {job.describe()}." + (
            "" if jobs.has_worker() else " No worker is running. Start one with `deltos worker`."
        )

    def resume(self) -> list[str]:
        """Continue all unfinished crawls, and return the ids of their sources."""
        if self.jobs is not None:
            for source_id in (unfinished := self.store.open_crawls()):
                self.jobs.add(JobRequest(CRAWL, source_id))
            return unfinished
        self.sweep_clones()
        for source_id in (unfinished := self.store.open_crawls()):
            self.start(source_id)
        thread = threading.Thread(target=self.embed_new, name="docs-embedding", daemon=True)
        with self._threads_lock:
            self._threads[thread.name] = thread
        thread.start()
        return unfinished

    def sweep_clones(self) -> None:
        """Delete the local clones of repositories whose sources were removed."""
        self.opener.clones.sweep({source.id for source in self.store.sources()}, self.is_running)

    def run(self, source_id: str, report: Callable[[], None] = lambda: None) -> bool:
        """Crawl a source in the current thread until the crawl ends; return False if another process is crawling it."""
        with self.store.try_lock(source_id) as is_held:
            if not is_held:
                return False
            while (crawl := self.store.crawl(source_id)) and crawl.state == "open" and not self._stop.is_set():
                if not self._run_crawl(crawl, report):
                    break
            self.embed_new()
            return True

    def _run_crawl(self, crawl: CrawlRow, report: Callable[[], None]) -> bool:
        """Run one crawl until it ends or is stopped.

        Returns False if the source was removed or the process is shutting down.
        """
        source = self.store.source(crawl.source_id)
        if source is None:
            return False
        parser = self.opener.parser()
        try:
            origin = self.opener.open(source, parser)
        # Raised, for example, if the login for the source is no longer configured.
        except (SourceError, BadRequest) as exc:
            self.store.end_crawl(source.id, "failed", str(exc), self.clock.now())
            return True
        try:
            return Crawl(
                source, crawl, origin, parser=parser, store=self.store, index=self.index,
                stopping=self._stop.is_set, clock=self.clock, report=report,
                found_apis=lambda: self.opener.apis.apis_of_source(source.id),
            ).run()  # fmt: skip
        finally:
            origin.close()
            # The source may have been removed during the crawl, possibly by another process.
            if self.store.source(source.id) is None:
                self.opener.clones.remove(source.id)

    def is_running(self, source_id: str) -> bool:
        """Whether any process is crawling the source, or a crawl in this process is about to start."""
        with self._threads_lock:
            own = self._threads.get(source_id)
        if own is not None and own.is_alive():
            return True
        with self.store.try_lock(source_id) as is_held:
            return not is_held

    def wait(self, source_id: str, seconds: float | None = None) -> None:
        """Wait at most `seconds` until this process or a worker has finished crawling the source."""
        if self.jobs is not None:
            self._wait_for_worker(self.jobs, source_id, seconds)
        with self._threads_lock:
            thread = self._threads.get(source_id)
        if thread is not None:
            thread.join(seconds)

    def stop(self) -> None:
        """Ask all crawls of this process to stop, and wait briefly until they have stopped."""
        self._stop.set()
        with self._threads_lock:
            threads = list(self._threads.values())
        deadline = time.monotonic() + _STOP_TIMEOUT_SECONDS
        for thread in threads:
            thread.join(max(0.0, deadline - time.monotonic()))

    def _wait_for_worker(self, jobs: Jobs, source_id: str, seconds: float | None) -> None:
        """Wait at most `seconds` until a worker has finished the crawl; return at once if no worker is available."""
        deadline = time.monotonic() + (float("inf") if seconds is None else seconds)
        while (crawl := self.store.crawl(source_id)) and crawl.state == "open" and time.monotonic() < deadline:
            job = jobs.find(JobRequest(CRAWL, source_id))
            if job is None or job.state == SET_ASIDE or not jobs.has_worker():
                return
            self.clock.sleep(_QUEUE_POLL_INTERVAL_SECONDS)

    def embed_new(self) -> None:
        """Embed all passages that have no vector from the current model."""
        try:
            if semantic_index := self.semantic_index():
                semantic_index.embed_new(self._stop.is_set)
        except DeltosError as exc:  # if the model is unreachable or the database is busy, the next crawl tries again
            _log.warning("Some documentation could not be embedded: %s", exc)

    def _run_and_log_errors(self, source_id: str) -> None:
        """Run a crawl in a background thread; log and store errors instead of raising them."""
        try:
            for _ in range(_MAX_LOCK_ATTEMPTS):
                # Another process may hold the lock for a moment to read the status, so a failed attempt is repeated.
                if self.run(source_id) or self._stop.wait(_RETRY_INTERVAL_SECONDS):
                    break
        # If, for example, the disk is full, the crawl remains unfinished and is resumed later.
        except DeltosError as exc:
            _log.warning("The crawl of %s stopped: %s", source_id, exc)
        except Exception as exc:  # noqa: BLE001 - otherwise the error of this thread would go unnoticed
            _log.exception("The crawl of %s failed", source_id)
            self.store.end_crawl(source_id, "failed", f"internal error ({exc!r})", self.clock.now())
