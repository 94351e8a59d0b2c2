"""One project's index in this process: opened once, brought up to date before each answer, rebuilt when damaged."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from deltos.confinement import with_confinement
from deltos.errors import Cancelled, NothingToIndex, StoreError
from deltos.progress import Progress, Silent
from deltos.store.jobs import INDEX, SET_ASIDE, WAITING, Order
from deltos.text.counts import counted
from deltos.workspace.background import POLL_SECONDS, BackgroundRun
from deltos.workspace.batches import warm_up
from deltos.workspace.failures import failure_notes
from deltos.workspace.listing import list_files
from deltos.workspace.sources import has_checkout
from deltos.workspace.sync import Plan, SyncReport, carry_out, make_plan, versions
from deltos.workspace.watch import Watch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from deltos.isolated.process import Workers
    from deltos.model import Project
    from deltos.store.jobs import JobRow, Jobs
    from deltos.store.project import FailedFile, IndexFacts, ProjectStore
    from deltos.workspace.indexer import Follower, Indexer
    from deltos.workspace.walk import WalkedFiles

# How long a call waits for a first index before it answers from what is ready.
FIRST_INDEX_SECONDS = 20.0
# Changes up to this size are indexed within the call that notices them.
SMALL_CHANGE_FILES = 40
SMALL_CHANGE_BYTES = 1_500_000
# How long after larger changes were noticed a call waits for them before it answers without them.
CHANGES_SECONDS = 5.0
# How long a call waits for another process, or another call, that is indexing the same project.
OTHER_PROCESS_SECONDS = 2.0
OTHER_CALL_SECONDS = 2.0
# What follows the files begins so long after an answer: a command that only asks has ended by then.
FOLLOW_AFTER_SECONDS = 0.3
_BEING_REINDEXED = "Note: another call or process is re-indexing; very recent edits may be missing."
_BEING_RESOLVED = (
    "Note: references are still being resolved for the first time; definitions are known, uses may be missing."
)
_FILES_AS_THEY_WERE = (
    "Note: references are still being resolved for the first time; until then edits since the index began are not seen."
)
_NO_WORKER = "no worker runs: start `deltos worker`"
QUEUE_POLL_SECONDS = 0.25
# Whoever needs files alone still gets what spans them where that takes no longer: a small project is settled by then.
SETTLE_SECONDS = 2.0

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Freshness:
    """How far the index can be trusted right now; the notes say so to a person. `failures`: what it could not read."""

    complete: bool
    notes: tuple[str, ...] = ()
    failures: tuple[FailedFile, ...] = ()

    def notes_about(self, indexer: str = "") -> tuple[str, ...]:
        """The notes, with those on files that the indexer (any, where none is named) could not read."""
        return (*self.notes, *failure_notes(self.failures, indexer))


class ProjectIndex:
    """The index of one project, kept equal to the disk."""

    def __init__(
        self,
        project: Project,
        store: ProjectStore,
        indexers: Sequence[Indexer],
        *,
        first_index_seconds: float = FIRST_INDEX_SECONDS,
        changes_seconds: float = CHANGES_SECONDS,
        workers: Workers | None = None,
        follower: Follower | None = None,
        kept: Sequence[Indexer] = (),
        jobs: Jobs | None = None,
    ) -> None:
        """With `jobs`, what is to be indexed is queued for workers, and never done here.

        A process that ends with its answer gives infinite `changes_seconds`: nothing would go on after it.
        """
        self.project = project
        self._jobs = jobs
        self.workers = workers
        self.store = store
        self._own_indexers = tuple(indexers)
        self._kept = tuple(kept)
        self._first_index_seconds = first_index_seconds
        self._changes_seconds = changes_seconds
        self._watch = Watch(project.root, self.store)
        self._background: BackgroundRun | None = None
        self._follower = follower
        self._following: BackgroundRun | None = None
        self._hurry = threading.Event()
        self._files_written = threading.Event()
        self._turn = threading.Lock()
        self._indexing = threading.Lock()
        self._starting = threading.Lock()
        self._told_of = ""

    @property
    def is_complete(self) -> bool:
        """Whether it was indexed to the end at least once, as far as can be read."""
        try:
            return self.store.facts().is_complete
        except StoreError:
            return False

    def index(self, *, progress: Progress | None = None, force: bool = False) -> SyncReport:
        """Bring the index up to date now, waiting for another process that does the same."""
        report = self.store.repairing(lambda: self._index(progress or Silent(), force=force))
        if self._background is not None:
            # One that came first is about to end, one that came second has nothing to do: neither is news afterwards.
            self._background.wait(OTHER_PROCESS_SECONDS, progress or Silent())
        report.notes = self._news(self.store.facts())
        return report

    def queue(self, *, force: bool = False) -> JobRow | None:
        """Queue it for a worker to bring up to date; None where this process does that itself."""
        if self._jobs is None:
            return None
        return self._jobs.add(self._order(force=force), is_waited_for=True)

    def _order(self, *, force: bool = False) -> Order:
        return Order(INDEX, str(self.project.root), {"force": True} if force else {})

    def is_behind(self) -> bool:
        """Whether the disk or the repository has something that the index has not, and that was not said before."""
        if not self.is_complete or self._needs_sync(self.store.facts()):
            return True
        follower = self._follower
        if follower is None or not follower.is_behind(self.project, self.store, at_once=True):
            return False
        follower.leave(self.project, self.store)
        return True

    def answer(
        self,
        work: Callable[[Freshness], _T],
        *,
        progress: Progress | None = None,
        wait_seconds: float | None = None,
        files_alone: bool = False,
        follows: bool = True,
    ) -> _T:
        """What `work` makes of the index brought up to date; a file that proves damaged is rebuilt and asked again.

        `files_alone`: it needs what each file says, and does not wait for a first index to settle what spans files.
        `follows`: the follower is asked afterwards whether it is behind.
        """

        is_complete = False

        def answered() -> _T:
            nonlocal is_complete
            freshness = self.freshen(progress=progress, wait_seconds=wait_seconds, files_alone=files_alone)
            is_complete = freshness.complete
            return work(freshness)

        try:
            return self.store.repairing(answered)
        finally:
            with suppress(StoreError):  # what the answer met counts, not what comes after it
                if follows:  # only now: it must not slow the answer down
                    self._follow(after_seconds=FOLLOW_AFTER_SECONDS, is_complete=is_complete)

    def freshen(
        self,
        *,
        progress: Progress | None = None,
        wait_seconds: float | None = None,
        at_once: bool = False,
        files_alone: bool = False,
    ) -> Freshness:
        """Make sure that an answer reflects the disk as it is now, or say truthfully where it may not.

        `wait_seconds` is how long a first index may take before the answer comes from what is ready; larger changes get
        no longer than `changes_seconds` of it. `at_once` compares with the disk however short ago that was done:
        somebody has seen a change. `files_alone` as in `answer`, unless nothing goes on after the answer.
        """
        facts = self.store.facts()
        seconds = self._first_index_seconds if wait_seconds is None else wait_seconds
        if facts.is_complete and not has_checkout(self.project.root, self.store):
            return self._fresh(facts, *self._failed_notes())  # workers see its files, and look at them
        if self._jobs is not None:
            return self._ask_workers(self._jobs, facts, progress or Silent(), seconds, at_once=at_once)
        if not facts.is_complete:
            goes_on = self._changes_seconds != float("inf")
            return self._await_first_index(progress or Silent(), seconds, files_alone=files_alone and goes_on)
        changes_seconds = min(self._changes_seconds, float("inf") if wait_seconds is None else wait_seconds)
        return self._compare(facts, progress or Silent(), changes_seconds, at_once=at_once)

    def _fresh(self, facts: IndexFacts, *notes: str) -> Freshness:
        """What is said of an index with these facts; the notes come after those that it has itself."""
        return Freshness(facts.is_complete, (*self._news(facts), *notes), facts.failures)

    def _ask_workers(
        self, jobs: Jobs, facts: IndexFacts, progress: Progress, wait_seconds: float, *, at_once: bool
    ) -> Freshness:
        """Queue what is missing, wait a while for it, and say truthfully what is not there yet."""
        if not facts.is_complete:
            asked = jobs.find(self._order())
            if asked is None or asked.state == WAITING:
                asked = jobs.add(self._order(), is_waited_for=True)
            job = self._await_worker(jobs, asked, progress, wait_seconds)
            facts = self.store.facts()
            if facts.is_complete:
                return self._fresh(facts)
            known = f"this answer knows {counted(self.store.file_count(), 'file')}. Ask again for the rest."
            return self._fresh(facts, f"Note: the project is not indexed yet: {self._standing(jobs, job)}; {known}")
        if not (at_once or self._watch.is_due()) or not self._watch.sees_change(facts.synced_at):
            return self._fresh(facts)
        asked = jobs.add(self._order(), is_waited_for=True)
        job = self._await_worker(jobs, asked, progress, OTHER_PROCESS_SECONDS)
        facts = self.store.facts()
        if not self._watch.sees_change(facts.synced_at):
            return self._fresh(facts)
        return self._fresh(facts, f"Note: very recent edits may be missing: {self._standing(jobs, job)}.")

    def _await_worker(self, jobs: Jobs, asked: JobRow, progress: Progress, seconds: float) -> JobRow | None:
        """Wait for a job as long as a worker may come to do it; what is known of it then, None if it is done."""
        job: JobRow | None = asked
        deadline = time.monotonic() + seconds
        while job is not None and job.state != SET_ASIDE and not progress.cancelled():
            if time.monotonic() >= deadline or not jobs.has_worker():
                break
            time.sleep(QUEUE_POLL_SECONDS)
            job = jobs.find(self._order())
        return job

    def _failed_notes(self) -> tuple[str, ...]:
        """That workers could not read the project the last time, as when its folder is gone."""
        job = self._jobs.find(self._order()) if self._jobs else None
        if self._jobs is None or job is None or not job.failures:
            return ()
        return (f"Note: this answers from what was read before: {self._standing(self._jobs, job)}.",)

    def _standing(self, jobs: Jobs, job: JobRow | None) -> str:
        """Where a job stands, for a person."""
        if job is None:
            return "a worker has just been at it"
        if job.state == SET_ASIDE:
            return f"{job.told()} was set aside after {counted(job.failures, 'failure')}, the last: {job.reason}"
        failed = f" after {counted(job.failures, 'failure')}, the last: {job.reason}" if job.failures else ""
        alive = "" if jobs.has_worker() else f"; {_NO_WORKER}"
        return f"{job.told()} is {job.state}{failed}{alive}"

    def _compare(self, facts: IndexFacts, progress: Progress, wait_seconds: float, *, at_once: bool) -> Freshness:
        if (at_once or self._watch.is_due()) and not self._is_reindexing():
            # Of several calls, the first absorbs the change; the others do not wait for a file that takes long to read.
            if not self._turn.acquire(blocking=False):
                if not self._turn.acquire(timeout=OTHER_CALL_SECONDS):
                    return self._fresh(self.store.facts(), _BEING_REINDEXED)
                facts = self.store.facts()  # the other call may have written
            try:
                if self._needs_sync(facts):
                    return self._absorb_changes(progress, wait_seconds)
            finally:
                self._turn.release()
        if self._background is not None:
            self._await_changes(progress, wait_seconds)
            facts = self.store.facts()
        return self._fresh(facts, *self._background_notes())

    def catch_up(
        self, *, progress: Progress | None = None, wait_seconds: float = float("inf"), again: bool = False
    ) -> tuple[str, ...]:
        """Bring what follows the files up to date, waiting so long for it; notes on what went wrong."""
        deadline = time.monotonic() + wait_seconds
        had_begun = self._following is not None and self._following.running
        self._hurry.set()
        self._follow(at_once=True, again=again)
        if self._following is None:
            return ()
        self._following.wait(wait_seconds, progress or Silent())
        if had_begun and not self._following.running and self.follower_is_behind():
            # What it read may be older than what is there now: another commit was checked out since it began.
            self._hurry.set()
            self._follow(at_once=True)
            self._following.wait(max(0.0, deadline - time.monotonic()), progress or Silent())
        failure = self._following.failure
        return (f"Note: {self._following.name} could not be read ({failure.message}).",) if failure else ()

    def follower_is_behind(self) -> bool:
        """Whether what follows the files is known as of an earlier state of the repository than it has now."""
        follower = self._follower
        if follower is None or not has_checkout(self.project.root, self.store):
            return False
        return follower.is_behind(self.project, self.store, at_once=True)

    def listing(self) -> WalkedFiles:
        """All files of the project, as fresh as an answer is."""
        was_compared = not self._watch.is_due() and not self._is_reindexing()
        return list_files(self.project.root, self.store, stamps_hold=was_compared)

    def close(self) -> None:
        """Stop background work and close the file."""
        self._hurry.set()
        for run in (self._background, self._following):
            if run is not None:
                run.stop()
        self.store.close()

    def _news(self, facts: IndexFacts) -> tuple[str, ...]:
        """What happened to the index file itself and was not told yet, and what the list of files lacks."""
        lacking = (*facts.notes, *self.store.notes)
        aside = self.store.set_aside
        if not aside or aside == self._told_of:
            return lacking
        self._told_of = aside
        return (f"Note: the index was damaged; it was moved to {aside} and built anew.", *lacking)

    def _indexers(self, facts: IndexFacts) -> tuple[Indexer, ...]:
        """Who writes: those that made the index, where it is to be kept as it is."""
        return self._kept if self._kept and facts.indexers == versions(self._kept) else self._own_indexers

    def _index(self, progress: Progress, *, force: bool) -> SyncReport:
        with self._sole_indexer(progress) as held:
            if not held:
                raise Cancelled("Indexing was cancelled while something else was indexing")
            return self._carry_out(self._plan(force=force), progress)

    def _plan(self, *, force: bool = False) -> Plan:
        facts = self.store.facts()
        is_first, indexers = not facts.is_complete, self._indexers(facts)
        if self.workers is not None and is_first:
            warm_up(self.project.root, indexers, self.workers)  # it starts while the folder is walked
        if is_first and not self.store.meta("root"):
            self._record_root(str(self.project.root))
        try:
            return make_plan(self.project, self.store, indexers, force=force)
        except NothingToIndex:
            if is_first:
                self._record_root("")
            raise

    def _record_root(self, root: str) -> None:
        """Record whose first index this is, so that one which is interrupted can be seen and removed."""
        with self.store.writing() as writer:
            writer.set_meta({"root": root, "project_id": self.project.project_id})

    def _carry_out(self, plan: Plan, progress: Progress) -> SyncReport:
        return carry_out(
            plan,
            self.project,
            self.store,
            self._indexers(self.store.facts()),
            progress=progress,
            workers=self.workers,
            when_written=self._files_written.set,
        )

    def _needs_sync(self, facts: IndexFacts) -> bool:
        return self._watch.sees_change(facts.synced_at) or facts.indexers != versions(self._indexers(facts))

    def _absorb_changes(self, progress: Progress, wait_seconds: float) -> Freshness:
        """Index few changes at once; many in the background, for which the answer waits a while."""
        with self._sole_indexer(progress, wait_seconds=OTHER_PROCESS_SECONDS) as held:
            if not held:
                return self._fresh(self.store.facts(), _BEING_REINDEXED)
            plan = self._plan()
            # Within the call, so that an answer right after an edit already knows it.
            if len(plan.candidates) <= SMALL_CHANGE_FILES and plan.bytes <= SMALL_CHANGE_BYTES:
                self._carry_out(plan, progress)
                self._background = None
                return self._fresh(self.store.facts())
        self._run_in_background()
        self._await_changes(progress, wait_seconds)
        return self._fresh(self.store.facts(), *self._background_notes())

    def _await_changes(self, progress: Progress, seconds: float) -> None:
        """Wait for a run in the background, until so long after it began: later calls do not wait for it again."""
        if self._background is not None:
            self._background.wait(max(POLL_SECONDS, seconds - self._background.age_seconds), progress)

    @contextmanager
    def _sole_indexer(self, progress: Progress, *, wait_seconds: float = float("inf")) -> Iterator[bool]:
        """Whether this thread could become the only one of all processes that indexes the project."""
        deadline = time.monotonic() + wait_seconds

        def is_over() -> bool:
            return time.monotonic() >= deadline or progress.cancelled()

        while not self._indexing.acquire(timeout=POLL_SECONDS):
            if is_over():
                yield False
                return
        try:
            with self._lock_of_all_processes(is_over) as held:
                yield held
        finally:
            self._indexing.release()

    @contextmanager
    def _lock_of_all_processes(self, is_over: Callable[[], bool]) -> Iterator[bool]:
        while True:
            with self.store.claim() as held:
                if held or is_over():
                    yield held
                    return
            time.sleep(POLL_SECONDS)

    def _await_first_index(self, progress: Progress, wait_seconds: float, *, files_alone: bool) -> Freshness:
        background = self._run_in_background()
        background.wait(wait_seconds, progress, until=self._files_written.is_set if files_alone else None)
        if files_alone and self._files_written.is_set():
            background.wait(min(SETTLE_SECONDS, wait_seconds), progress)
        if background.failure is not None:
            raise background.failure
        facts = self.store.facts()
        if facts.is_complete:
            return self._fresh(facts)
        if self._files_written.is_set():
            return self._fresh(facts, _FILES_AS_THEY_WERE if files_alone else _BEING_RESOLVED)
        ready = self.store.file_count()
        known = f"this answer knows {counted(ready, 'file')}. Ask again for the rest."
        return self._fresh(facts, f"Note: the first index is still being built; {known}")

    def _run_in_background(self) -> BackgroundRun:
        with self._starting:
            if self._background is None or not self._background.running:
                self._files_written.clear()
                self._background = BackgroundRun(self._index_in_thread)
            return self._background

    def _index_in_thread(self, progress: Progress) -> None:
        try:
            self.store.repairing(lambda: self._index(progress, force=False))
        finally:
            self.store.release()

    def _follow(
        self, *, after_seconds: float = 0.0, at_once: bool = False, again: bool = False, is_complete: bool = False
    ) -> None:
        """Let the follower catch up in the background where it is behind; files come first: `is_complete` where they
        are known to be there."""
        follower = self._follower
        if follower is None or not has_checkout(self.project.root, self.store):
            return
        if not is_complete and not self.store.facts().is_complete:
            return
        with self._starting:
            if self._following is not None and self._following.running:
                return
            if not again and not follower.is_behind(self.project, self.store, at_once=at_once):
                return
            if self._jobs is not None:
                self._jobs.add(self._order())
                follower.leave(self.project, self.store)
                return

            if after_seconds:
                self._hurry.clear()

            def work(progress: Progress) -> None:
                self._hurry.wait(after_seconds)
                try:
                    if not progress.cancelled():
                        follower.catch_up(self.project, self.store, progress, again=again)
                finally:
                    self.store.release()

            self._following = BackgroundRun(with_confinement(work), name=follower.name, what="commits")

    def _is_reindexing(self) -> bool:
        return self._background is not None and self._background.running

    def _background_notes(self) -> tuple[str, ...]:
        """What a reader should know about changes that are not in the index yet."""
        background = self._background
        if background is None:
            return ()
        if background.running:
            count = f"{background.total} changed files are" if background.total else "many changed files are"
            return (f"Note: {count} being re-indexed; until then this answer may miss what is new in them.",)
        if background.failure is not None:
            return (f"Note: re-indexing failed ({background.failure}); recent changes may be missing.",)
        return ()
