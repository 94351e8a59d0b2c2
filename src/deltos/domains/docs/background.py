"""Crawls that go on while the server answers. What they know is in the store; a claim keeps each from running twice."""

from __future__ import annotations

import logging
import threading
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from deltos.confinement import current, with_confinement
from deltos.domains.docs.crawl import Clock, Crawl
from deltos.domains.docs.running import Logbook, read_run, write_run
from deltos.errors import BadRequest, DeltosError, SourceError
from deltos.store.jobs import CRAWL, EMBED, SET_ASIDE, Order

if TYPE_CHECKING:
    from collections.abc import Callable

    from deltos.domains.docs.running import Run
    from deltos.domains.docs.source import Opener
    from deltos.meaning import Meaning
    from deltos.store.documents import CrawlClaim, CrawlRow, Pages, Sources
    from deltos.store.jobs import Jobs

_ATTEMPTS = 20
_ATTEMPT_PAUSE_SECONDS = 0.05
_STOP_SECONDS = 3.0
_QUEUE_POLL_SECONDS = 0.1
_DIED_TWICE = "the process that crawled died twice while it read this; the next recrawl tries again"
_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Crawls:
    """Starts, resumes and stops the crawls of this process; can tell whether another process has one.

    With `jobs`, crawls are queued for workers, and none runs here.
    """

    store: Sources
    index: Pages
    opener: Opener
    clock: Clock = field(default_factory=Clock)
    meaning: Callable[[], Meaning | None] = lambda: None
    jobs: Jobs | None = None
    _threads: dict[str, threading.Thread] = field(default_factory=dict)
    _guard: threading.Lock = field(default_factory=threading.Lock)
    _stop: threading.Event = field(default_factory=threading.Event)

    def start(self, source_id: str) -> str:
        """Crawl in the background, unless this process already does; what a person should know about that."""
        if self.jobs is not None:
            return self._queue(self.jobs, source_id)
        with self._guard:
            running = self._threads.get(source_id)
            if running is not None and running.is_alive():
                return ""
            thread = threading.Thread(
                target=with_confinement(self._run_quietly), args=(source_id,), name=f"crawl-{source_id}", daemon=True
            )
            self._threads[source_id] = thread
            thread.start()
        return ""

    @staticmethod
    def _queue(jobs: Jobs, source_id: str) -> str:
        confinement = current()
        held = {} if confinement is None else {"confinement": confinement.as_data()}
        job = jobs.add(Order(CRAWL, source_id, held), is_waited_for=True)
        if job.state == SET_ASIDE:
            return f"Note: {job.told()} was set aside: {job.reason}; `deltos jobs retry {job.id}` tries again."
        return f"Queued for a worker: {job.told()}." + (
            "" if jobs.has_worker() else " None runs: start `deltos worker`."
        )

    def resume(self) -> list[str]:
        """Go on with every crawl that was stopped in order; returns their source ids. What died is left to people."""
        if self.jobs is not None:
            for source_id in (unfinished := self.store.open_crawls()):
                self.jobs.add(Order(CRAWL, source_id))
            self.jobs.add(Order(EMBED))
            return unfinished
        self.sweep_clones()
        unfinished = [source_id for source_id in self.store.open_crawls() if not self.died(source_id)]
        for source_id in unfinished:
            self.start(source_id)
        thread = threading.Thread(target=self.keep_up, name="docs-meaning", daemon=True)
        with self._guard:
            self._threads[thread.name] = thread
        thread.start()
        return unfinished

    def sweep_clones(self) -> None:
        """Delete clones of sources that are gone."""
        self.opener.clones.sweep({source.id for source in self.store.sources()}, self.is_running)

    def take_over(self, source_id: str) -> None:
        """Go on with a crawl whose process died: last, and alone, it reads what that died over."""
        if self.died(source_id) and (crawl := self.store.crawl(source_id)):
            self.allow_again(crawl, crawl)

    def run(self, source_id: str, report: Callable[[], None] = lambda: None) -> bool:
        """Crawl here and now until done; False when another process is at it, or died over it."""
        with self.store.claim(source_id) as claim:
            if claim is None:
                return False
            while (crawl := self.store.crawl(source_id)) and crawl.state == "open" and not self._stop.is_set():
                run = read_run(claim, crawl)
                if run.is_running:
                    return False
                if not self._run_one(crawl, claim, run, report):
                    break
            self.keep_up()
            return True

    def _run_one(self, crawl: CrawlRow, claim: CrawlClaim, run: Run, report: Callable[[], None]) -> bool:
        """One crawl until it ends or is stopped; False when its source is gone, or the program ends."""
        source = self.store.source(crawl.source_id)
        if source is None:
            return False
        parser = self.opener.parser()
        try:
            origin = self.opener.open(source, parser)
        except (SourceError, BadRequest) as exc:  # its login is not configured any more, say
            self.store.end_crawl(source.id, "failed", str(exc), self.clock.now())
            return True
        logbook = Logbook(claim, run)
        try:
            return Crawl(
                source, crawl, origin, parser=parser, store=self.store, index=self.index, logbook=logbook,
                stopping=self._stop.is_set, clock=self.clock, report=report,
                brought=lambda: self.opener.apis.brought_by(source.id),
            ).run()  # fmt: skip
        finally:
            logbook.close()
            origin.close()
            if self.store.source(source.id) is None:  # removed meanwhile, perhaps by another process
                self.opener.clones.remove(source.id)

    def died(self, source_id: str) -> Run | None:
        """What an open crawl was doing when its process died; None when it did not, or runs."""
        crawl = self.store.crawl(source_id)
        if crawl is None or crawl.state != "open":
            return None
        with self.store.claim(source_id) as claim:
            run = read_run(claim, crawl) if claim else None
        return run if run and run.is_running else None

    def allow_again(self, crawl: CrawlRow, successor: CrawlRow) -> bool:
        """Let a crawl that died go on, as itself or as a new one: last, and alone, it reads what it died over.

        An address that it died over twice is not read again. False when some process is at it.
        """
        with self.store.claim(crawl.source_id) as claim:
            if claim is None:
                return False
            run = read_run(claim, crawl)
            if run.culprit:
                self.store.fail_address(crawl.source_id, run.culprit, _DIED_TWICE)
            write_run(
                claim, replace(run.allowed_again(), generation=successor.generation, started_at=successor.started_at)
            )
        return True

    def is_running(self, source_id: str) -> bool:
        """Whether any process crawls the source at this moment; this one also while it is about to begin."""
        with self._guard:
            own = self._threads.get(source_id)
        if own is not None and own.is_alive():
            return True
        with self.store.claim(source_id) as claim:
            return claim is None

    def wait(self, source_id: str, seconds: float | None = None) -> None:
        """Wait for this process's or a worker's crawl of the source, if there is one, no longer than `seconds`."""
        if self.jobs is not None:
            self._wait_for_worker(self.jobs, source_id, seconds)
        with self._guard:
            thread = self._threads.get(source_id)
        if thread is not None:
            thread.join(seconds)

    def stop(self) -> None:
        """Ask all crawls of this process to stop at the next safe point, and wait for them a little."""
        self._stop.set()
        with self._guard:
            threads = list(self._threads.values())
        deadline = time.monotonic() + _STOP_SECONDS
        for thread in threads:
            thread.join(max(0.0, deadline - time.monotonic()))

    def _wait_for_worker(self, jobs: Jobs, source_id: str, seconds: float | None) -> None:
        deadline = time.monotonic() + (float("inf") if seconds is None else seconds)
        while (crawl := self.store.crawl(source_id)) and crawl.state == "open" and time.monotonic() < deadline:
            job = jobs.find(Order(CRAWL, source_id))
            if job is None or job.state == SET_ASIDE or not jobs.has_worker():
                return
            self.clock.sleep(_QUEUE_POLL_SECONDS)

    def wait_for_meaning(self, seconds: float) -> bool:
        """Wait for vectors that are made in the background, no longer than that; whether this process is done."""
        meaning = self.meaning()
        return meaning is None or meaning.wait(seconds)

    def keep_up(self) -> None:
        """Vectors for what has none, where nobody waits for them: the faster ones at once, others behind."""
        try:
            if meaning := self.meaning():
                meaning.keep_up(self._stop.is_set)
        except DeltosError as exc:  # the model cannot be reached, or the store is busy: the next crawl or start goes on
            _log.warning("Vectors of documentation are not complete: %s", exc)

    def _run_quietly(self, source_id: str) -> None:
        try:
            for _ in range(_ATTEMPTS):
                # Somebody who only looked may have claimed it.
                if self.run(source_id) or self._stop.wait(_ATTEMPT_PAUSE_SECONDS):
                    break
        except DeltosError as exc:  # the store is full or gone: the crawl stays open and is resumed later
            _log.warning("The crawl of %s stopped: %s", source_id, exc)
        except Exception as exc:  # noqa: BLE001 - a thread is a surface: nobody else would hear of it
            _log.exception("The crawl of %s broke", source_id)
            self.store.end_crawl(source_id, "failed", f"internal error ({exc!r})", self.clock.now())
