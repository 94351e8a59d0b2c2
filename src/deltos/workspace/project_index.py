"""Index of one project, which is updated before each answer and rebuilt if it is damaged."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from deltos.confinement import with_confinement
from deltos.errors import Cancelled, NothingToIndex, StoreError
from deltos.progress import Progress, Silent
from deltos.store.jobs import INDEX, SET_ASIDE, WAITING, JobRequest
from deltos.text.counts import counted
from deltos.wording import first_index_running, stale_files, stale_index
from deltos.workspace.background import POLL_SECONDS, BackgroundRun
from deltos.workspace.batches import warm_up
from deltos.workspace.failure_messages import failure_notes
from deltos.workspace.listing import list_files
from deltos.workspace.source_tree import has_checkout
from deltos.workspace.sync import Plan, SyncReport, apply_plan, make_plan, versions
from deltos.workspace.watch import Watch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from deltos.isolated.process_pool import ProcessPool
    from deltos.model import Project
    from deltos.store.jobs import JobRow, Jobs
    from deltos.store.project import FailedFile, IndexFacts, ProjectStore
    from deltos.workspace.indexer import Follower, Indexer
    from deltos.workspace.walk import WalkedFiles

# Maximum time that a call waits for the first index before it answers from the part that is already indexed.
FIRST_INDEX_SECONDS = 20.0
# Maximum size of changes that are indexed within the call that detects them.
SMALL_CHANGE_FILES = 40
SMALL_CHANGE_BYTES = 1_500_000
# Maximum time that a call waits for larger changes, counted from their detection, before it answers without them.
CHANGES_SECONDS = 5.0
# Maximum time that a call waits for another process, or another call, that is indexing the same project.
OTHER_PROCESS_TIMEOUT_SECONDS = 2.0
OTHER_CALL_TIMEOUT_SECONDS = 2.0
# Delay between an answer and the background update of data such as the commit history. Short-lived commands end before
# the update starts.
FOLLOWER_DELAY_SECONDS = 0.3
_REINDEXING_NOTE = "Note: the project is being re-indexed by another call or process; very recent edits may be missing."
_REFERENCES_INCOMPLETE_NOTE = (
    "Note: references are being resolved for the first time; definitions are complete, references may be missing."
)
_SNAPSHOT_INCOMPLETE_NOTE = (
    "Note: references are being resolved for the first time; edits made since then are not in this answer."
)
_NO_WORKER_MESSAGE = "no worker is running (start `deltos worker`)"
QUEUE_POLL_SECONDS = 0.25
# Maximum time that a call that needs only files waits for data that depends on several files. This time is enough for a
# small project.
CROSS_FILE_DATA_TIMEOUT_SECONDS = 2.0

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Freshness:
    """State of the index before an answer: completeness, notes for the user, and files that could not be read."""

    complete: bool
    notes: tuple[str, ...] = ()
    failures: tuple[FailedFile, ...] = ()

    def notes_about(self, indexer: str = "") -> tuple[str, ...]:
        """Return all notes, including notes about files that `indexer` could not read.

        If `indexer` is empty, include the failures of all indexers.
        """
        return (*self.notes, *failure_notes(self.failures, indexer))


class ProjectIndex:
    """Index of one project that is updated when files on disk change."""

    def __init__(
        self,
        project: Project,
        store: ProjectStore,
        indexers: Sequence[Indexer],
        *,
        first_index_seconds: float = FIRST_INDEX_SECONDS,
        changes_seconds: float = CHANGES_SECONDS,
        workers: ProcessPool | None = None,
        follower: Follower | None = None,
        previous_indexers: Sequence[Indexer] = (),
        jobs: Jobs | None = None,
    ) -> None:
        """Open the index. If `jobs` is given, indexing is queued for workers and never runs in this process.

        A process that ends after its answer passes infinite `changes_seconds`, because background work would end with
        the process.
        """
        self.project = project
        self._jobs = jobs
        self.workers = workers
        self.store = store
        self._current_indexers = tuple(indexers)
        self._previous_indexers = tuple(previous_indexers)
        self._first_index_seconds = first_index_seconds
        self._changes_seconds = changes_seconds
        self._watch = Watch(project.root, self.store)
        self._background: BackgroundRun | None = None
        self._follower = follower
        self._follower_run: BackgroundRun | None = None
        self._stop_waiting = threading.Event()
        self._files_written = threading.Event()
        self._compare_lock = threading.Lock()
        self._index_lock = threading.Lock()
        self._start_lock = threading.Lock()
        self._reported_set_aside = ""

    @property
    def is_complete(self) -> bool:
        """Whether the project was indexed completely at least once, or false if the store cannot be read."""
        try:
            return self.store.facts().is_complete
        except StoreError:
            return False

    def index(self, *, progress: Progress | None = None, force: bool = False) -> SyncReport:
        """Update the index now. If another process is updating the index, wait for that process first."""
        report = self.store.run_with_repair(lambda: self._index_now(progress or Silent(), force=force))
        if self._background is not None:
            # The background run has nothing left to do. Wait for its end, so that notes do not mention the run.
            self._background.wait(OTHER_PROCESS_TIMEOUT_SECONDS, progress or Silent())
        report.notes = self._index_notes(self.store.facts())
        return report

    def queue(self, *, force: bool = False) -> JobRow | None:
        """Queue an update for a worker and return the job, or None if this process updates the index itself."""
        if self._jobs is None:
            return None
        return self._jobs.add(self._job_request(force=force), is_waited_for=True)

    def _job_request(self, *, force: bool = False) -> JobRequest:
        return JobRequest(INDEX, str(self.project.root), {"force": True} if force else {})

    def is_behind(self) -> bool:
        """Whether there are changes on disk or in the repository that are not indexed and were not reported before."""
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
        files_only: bool = False,
        follows: bool = True,
    ) -> _T:
        """Update the index and return the result of `work`. If the index is damaged, rebuild it and repeat `work`.

        If `files_only` is true, do not wait until a first index has resolved data that depends on several files. If
        `follows` is true, update data such as the commit history in the background after the answer.
        """

        is_complete = False

        def freshen_and_work() -> _T:
            nonlocal is_complete
            freshness = self.freshen(progress=progress, wait_seconds=wait_seconds, files_only=files_only)
            is_complete = freshness.complete
            return work(freshness)

        try:
            return self.store.run_with_repair(freshen_and_work)
        finally:
            with suppress(StoreError):  # an error after the answer must not replace the answer
                if follows:  # this runs after the answer, so that the answer is not delayed
                    self._start_follower(after_seconds=FOLLOWER_DELAY_SECONDS, is_complete=is_complete)

    def freshen(
        self,
        *,
        progress: Progress | None = None,
        wait_seconds: float | None = None,
        at_once: bool = False,
        files_only: bool = False,
    ) -> Freshness:
        """Update the index before an answer, and return the state of the index with notes about stale parts.

        `wait_seconds` limits the wait for a first index. The wait for large changes is also limited by
        `changes_seconds`. If `at_once` is true, compare the disk with the index even if they were compared shortly
        before. `files_only` works as in `answer`, but has no effect if the process ends after its answer.
        """
        facts = self.store.facts()
        seconds = self._first_index_seconds if wait_seconds is None else wait_seconds
        if facts.is_complete and not has_checkout(self.project.root, self.store):
            return self._freshness_of(facts, *self._failed_job_notes())  # only workers have a checkout of this project
        if self._jobs is not None:
            return self._queue_and_wait(self._jobs, facts, progress or Silent(), seconds, at_once=at_once)
        if not facts.is_complete:
            goes_on = self._changes_seconds != float("inf")
            return self._wait_for_first_index(progress or Silent(), seconds, files_only=files_only and goes_on)
        changes_seconds = min(self._changes_seconds, float("inf") if wait_seconds is None else wait_seconds)
        return self._compare_with_disk(facts, progress or Silent(), changes_seconds, at_once=at_once)

    def _freshness_of(self, facts: IndexFacts, *notes: str) -> Freshness:
        """Return the state of an index with these facts. `notes` are added after the notes of the index."""
        return Freshness(facts.is_complete, (*self._index_notes(facts), *notes), facts.failures)

    def _queue_and_wait(
        self, jobs: Jobs, facts: IndexFacts, progress: Progress, wait_seconds: float, *, at_once: bool
    ) -> Freshness:
        """Queue an update if one is needed, wait for a limited time, and return the state of the index."""
        if not facts.is_complete:
            asked = jobs.find(self._job_request())
            if asked is None or asked.state == WAITING:
                asked = jobs.add(self._job_request(), is_waited_for=True)
            job = self._wait_for_worker(jobs, asked, progress, wait_seconds)
            facts = self.store.facts()
            if facts.is_complete:
                return self._freshness_of(facts)
            known = f"this answer covers {counted(self.store.file_count(), 'file')}. Ask again for the rest."
            return self._freshness_of(
                facts, f"Note: the project is not indexed yet: {self._job_state(jobs, job)}; {known}"
            )
        if not (at_once or self._watch.is_due()) or not self._watch.sees_change(facts.synced_at):
            return self._freshness_of(facts)
        asked = jobs.add(self._job_request(), is_waited_for=True)
        job = self._wait_for_worker(jobs, asked, progress, OTHER_PROCESS_TIMEOUT_SECONDS)
        facts = self.store.facts()
        if not self._watch.sees_change(facts.synced_at):
            return self._freshness_of(facts)
        return self._freshness_of(facts, f"Note: very recent edits may be missing: {self._job_state(jobs, job)}.")

    def _wait_for_worker(self, jobs: Jobs, asked: JobRow, progress: Progress, seconds: float) -> JobRow | None:
        """Wait for a job while a worker may run it. Return the current row of the job, or None if the job is done."""
        job: JobRow | None = asked
        deadline = time.monotonic() + seconds
        while job is not None and job.state != SET_ASIDE and not progress.cancelled():
            if time.monotonic() >= deadline or not jobs.has_worker():
                break
            time.sleep(QUEUE_POLL_SECONDS)
            job = jobs.find(self._job_request())
        return job

    def _failed_job_notes(self) -> tuple[str, ...]:
        """Return a note if the last job failed, for example because the workers could not find the project's folder."""
        job = self._jobs.find(self._job_request()) if self._jobs else None
        if self._jobs is None or job is None or not job.failures:
            return ()
        return (f"Note: this answer uses the last index: {self._job_state(self._jobs, job)}.",)

    def _job_state(self, jobs: Jobs, job: JobRow | None) -> str:
        """Describe the state of a job for the user."""
        if job is None:
            return "a worker has just finished the job"
        if job.state == SET_ASIDE:
            return f"{job.describe()} was set aside after {counted(job.failures, 'failure')}, the last: {job.reason}"
        failed = f" after {counted(job.failures, 'failure')}, the last: {job.reason}" if job.failures else ""
        alive = "" if jobs.has_worker() else f"; {_NO_WORKER_MESSAGE}"
        return f"{job.describe()} is {job.state}{failed}{alive}"

    def _compare_with_disk(
        self, facts: IndexFacts, progress: Progress, wait_seconds: float, *, at_once: bool
    ) -> Freshness:
        """Compare the disk with the index, index the changes, and return the state of the index."""
        if (at_once or self._watch.is_due()) and not self._is_reindexing():
            # If several calls run at the same time, the first one indexes the changes, and the others wait for a
            # limited time.
            if not self._compare_lock.acquire(blocking=False):
                if not self._compare_lock.acquire(timeout=OTHER_CALL_TIMEOUT_SECONDS):
                    return self._freshness_of(self.store.facts(), _REINDEXING_NOTE)
                facts = self.store.facts()  # another call may have updated the index during the wait
            try:
                if self._needs_sync(facts):
                    return self._index_changes(progress, wait_seconds)
            finally:
                self._compare_lock.release()
        if self._background is not None:
            self._wait_for_changes(progress, wait_seconds)
            facts = self.store.facts()
        return self._freshness_of(facts, *self._background_notes())

    def catch_up(
        self, *, progress: Progress | None = None, wait_seconds: float = float("inf"), again: bool = False
    ) -> tuple[str, ...]:
        """Update data such as the commit history, wait at most `wait_seconds`, and return notes about errors."""
        deadline = time.monotonic() + wait_seconds
        was_running = self._follower_run is not None and self._follower_run.is_running
        self._stop_waiting.set()
        self._start_follower(at_once=True, again=again)
        if self._follower_run is None:
            return ()
        self._follower_run.wait(wait_seconds, progress or Silent())
        if was_running and not self._follower_run.is_running and self.follower_is_behind():
            # Another commit may have been checked out after the run read the repository.
            self._stop_waiting.set()
            self._start_follower(at_once=True)
            self._follower_run.wait(max(0.0, deadline - time.monotonic()), progress or Silent())
        failure = self._follower_run.failure
        return (f"Note: {self._follower_run.name} could not be updated ({failure.message}).",) if failure else ()

    def follower_is_behind(self) -> bool:
        """Whether stored data such as the commit history describes an earlier state of the repository."""
        follower = self._follower
        if follower is None or not has_checkout(self.project.root, self.store):
            return False
        return follower.is_behind(self.project, self.store, at_once=True)

    def listing(self) -> WalkedFiles:
        """Return all files of the project. Stamps are read from disk again unless this was done shortly before."""
        was_compared = not self._watch.is_due() and not self._is_reindexing()
        return list_files(self.project.root, self.store, stamps_are_current=was_compared)

    def close(self) -> None:
        """Stop background work and close the store."""
        self._stop_waiting.set()
        for run in (self._background, self._follower_run):
            if run is not None:
                run.stop()
        self.store.close()

    def _index_notes(self, facts: IndexFacts) -> tuple[str, ...]:
        """Return notes about incomplete file listings and, only once, about a damaged index that was replaced."""
        aside = self.store.damaged_file
        if not aside or aside == self._reported_set_aside:
            return facts.notes
        self._reported_set_aside = aside
        return (f"Note: the index was damaged; it was moved to {aside} and rebuilt.", *facts.notes)

    def _choose_indexers(self, facts: IndexFacts) -> tuple[Indexer, ...]:
        """Return the previous indexers if they created the index, otherwise the current indexers."""
        return (
            self._previous_indexers
            if self._previous_indexers and facts.indexers == versions(self._previous_indexers)
            else self._current_indexers
        )

    def _index_now(self, progress: Progress, *, force: bool) -> SyncReport:
        with self._acquire_index_lock(progress) as held:
            if not held:
                raise Cancelled("Indexing was cancelled while another call or process was indexing")
            return self._apply_plan(self._make_plan(force=force), progress)

    def _make_plan(self, *, force: bool = False) -> Plan:
        facts = self.store.facts()
        is_first, indexers = not facts.is_complete, self._choose_indexers(facts)
        # In an index that was copied from another worktree, `complete` is already set.
        if self.workers is not None and is_first and not self.store.meta("complete"):
            warm_up(self.project.root, indexers, self.workers)  # the child process starts while the folder is listed
        if is_first and not self.store.meta("root"):
            self._record_root(str(self.project.root))
        try:
            return make_plan(self.project, self.store, indexers, force=force)
        except NothingToIndex:
            if is_first:
                self._record_root("")
            raise

    def _record_root(self, root: str) -> None:
        """Record the folder of a project before it is indexed for the first time.

        If indexing is interrupted, this record is used to find and remove the incomplete index.
        """
        with self.store.writing() as writer:
            writer.set_metadata({"root": root, "project_id": self.project.project_id})

    def _apply_plan(self, plan: Plan, progress: Progress) -> SyncReport:
        return apply_plan(
            plan,
            self.project,
            self.store,
            self._choose_indexers(self.store.facts()),
            progress=progress,
            workers=self.workers,
            on_files_written=self._files_written.set,
        )

    def _needs_sync(self, facts: IndexFacts) -> bool:
        return self._watch.sees_change(facts.synced_at) or facts.indexers != versions(self._choose_indexers(facts))

    def _index_changes(self, progress: Progress, wait_seconds: float) -> Freshness:
        """Index a few changes immediately, or many changes in the background with a limited wait."""
        with self._acquire_index_lock(progress, wait_seconds=OTHER_PROCESS_TIMEOUT_SECONDS) as held:
            if not held:
                return self._freshness_of(self.store.facts(), _REINDEXING_NOTE)
            plan = self._make_plan()
            # Small changes are indexed within the call, so that an answer directly after an edit includes the edited
            # content.
            if len(plan.candidates) <= SMALL_CHANGE_FILES and plan.size_bytes <= SMALL_CHANGE_BYTES:
                self._apply_plan(plan, progress)
                self._background = None
                return self._freshness_of(self.store.facts())
        self._run_in_background()
        self._wait_for_changes(progress, wait_seconds)
        return self._freshness_of(self.store.facts(), *self._background_notes())

    def _wait_for_changes(self, progress: Progress, seconds: float) -> None:
        """Wait until `seconds` after the start of the background run. Later calls do not wait again."""
        if self._background is not None:
            self._background.wait(max(POLL_SECONDS, seconds - self._background.age_seconds), progress)

    @contextmanager
    def _acquire_index_lock(self, progress: Progress, *, wait_seconds: float = float("inf")) -> Iterator[bool]:
        """Wait for other threads and processes that index the project, and yield whether the lock was acquired."""
        deadline = time.monotonic() + wait_seconds

        def is_timed_out() -> bool:
            return time.monotonic() >= deadline or progress.cancelled()

        while not self._index_lock.acquire(timeout=POLL_SECONDS):
            if is_timed_out():
                yield False
                return
        try:
            with self._lock_across_processes(is_timed_out) as held:
                yield held
        finally:
            self._index_lock.release()

    @contextmanager
    def _lock_across_processes(self, is_timed_out: Callable[[], bool]) -> Iterator[bool]:
        """Yield whether the lock that is shared by all processes was acquired before the timeout."""
        while True:
            with self.store.try_lock() as held:
                if held or is_timed_out():
                    yield held
                    return
            time.sleep(POLL_SECONDS)

    def _wait_for_first_index(self, progress: Progress, wait_seconds: float, *, files_only: bool) -> Freshness:
        background = self._run_in_background()
        background.wait(wait_seconds, progress, until=self._files_written.is_set if files_only else None)
        if files_only and self._files_written.is_set():
            background.wait(min(CROSS_FILE_DATA_TIMEOUT_SECONDS, wait_seconds), progress)
        if background.failure is not None:
            raise background.failure
        facts = self.store.facts()
        if facts.is_complete:
            return self._freshness_of(facts)
        if self._files_written.is_set():
            return self._freshness_of(facts, _SNAPSHOT_INCOMPLETE_NOTE if files_only else _REFERENCES_INCOMPLETE_NOTE)
        return self._freshness_of(facts, first_index_running(counted(self.store.file_count(), "file")))

    def _run_in_background(self) -> BackgroundRun:
        with self._start_lock:
            if self._background is None or not self._background.is_running:
                self._files_written.clear()
                self._background = BackgroundRun(self._index_in_thread)
            return self._background

    def _index_in_thread(self, progress: Progress) -> None:
        try:
            self.store.run_with_repair(lambda: self._index_now(progress, force=False))
        finally:
            self.store.release()

    def _start_follower(
        self, *, after_seconds: float = 0.0, at_once: bool = False, again: bool = False, is_complete: bool = False
    ) -> None:
        """Start to update data such as the commit history in the background, if needed and if all files are indexed.

        If `is_complete` is true, the files are known to be indexed.
        """
        follower = self._follower
        if follower is None or not has_checkout(self.project.root, self.store):
            return
        if not is_complete and not self.store.facts().is_complete:
            return
        with self._start_lock:
            if self._follower_run is not None and self._follower_run.is_running:
                return
            if not again and not follower.is_behind(self.project, self.store, at_once=at_once):
                return
            if self._jobs is not None:
                self._jobs.add(self._job_request())
                follower.leave(self.project, self.store)
                return

            if after_seconds:
                self._stop_waiting.clear()

            def work(progress: Progress) -> None:
                self._stop_waiting.wait(after_seconds)
                try:
                    if not progress.cancelled():
                        follower.catch_up(self.project, self.store, progress, again=again)
                finally:
                    self.store.release()

            self._follower_run = BackgroundRun(with_confinement(work), name=follower.name, unit="commits")

    def _is_reindexing(self) -> bool:
        return self._background is not None and self._background.is_running

    def _background_notes(self) -> tuple[str, ...]:
        """Return notes about changes that are not in the index yet."""
        background = self._background
        if background is None:
            return ()
        if background.is_running:
            return (stale_files(f"{background.total:,} changed files" if background.total else "many changed files"),)
        if background.failure is not None:
            return (stale_index(str(background.failure)),)
        return ()
