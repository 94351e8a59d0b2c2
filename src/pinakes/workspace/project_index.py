"""One project's index in this process: opened once, brought up to date before each answer, rebuilt in the background."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pinakes.errors import Cancelled, PinakesError
from pinakes.progress import Progress, Silent
from pinakes.store.project import ProjectStore
from pinakes.workspace.lock import try_lock
from pinakes.workspace.registry import index_path
from pinakes.workspace.sync import Plan, SyncReport, carry_out, is_stale, make_plan
from pinakes.workspace.walk import folder_mtime_ns, stamp

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pinakes.model import Project
    from pinakes.store.sqlite import Database
    from pinakes.workspace.indexer import Indexer

# How long a call waits for a first index before it answers from what is ready.
FIRST_INDEX_SECONDS = 20.0
# Changes up to this size are indexed within the call that notices them.
SMALL_CHANGE_FILES = 40
SMALL_CHANGE_BYTES = 1_500_000
# The disk is looked at no more often than this.
CHECK_EVERY_SECONDS = 1.0
_POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Freshness:
    """How far the index can be trusted right now; the notes say so to a person."""

    complete: bool
    notes: tuple[str, ...] = ()


class ProjectIndex:
    """The index of one project, kept equal to the disk."""

    def __init__(self, project: Project, database: Database, indexers: Sequence[Indexer]) -> None:
        self.project = project
        self.database = database
        self.store = ProjectStore(database)
        self._indexers = tuple(indexers)
        self._lock_path = database.path.with_suffix(".lock")
        self._checked_at = float("-inf")
        self._background: _Background | None = None
        self._state_lock = threading.Lock()

    @staticmethod
    def path_for(home: Path, project: Project) -> Path:
        """Where the index of `project` lives."""
        return index_path(home, project.root)

    def index(self, *, progress: Progress | None = None, force: bool = False) -> SyncReport:
        """Bring the index up to date now, waiting for another process that does the same."""
        progress = progress or Silent()
        while True:
            with try_lock(self._lock_path) as held:
                if held:
                    plan = make_plan(self.project, self.store, self._indexers, force=force)
                    return self._carry_out(plan, progress)
            if progress.cancelled():
                raise Cancelled("Indexing was cancelled while another process was indexing")
            time.sleep(_POLL_SECONDS)

    def freshen(self, *, progress: Progress | None = None, wait_seconds: float = FIRST_INDEX_SECONDS) -> Freshness:
        """Make sure that an answer reflects the disk as it is now, or say truthfully where it may not."""
        progress = progress or Silent()
        if not self.store.meta("complete"):
            return self._await_first_index(progress, wait_seconds)
        if time.monotonic() - self._checked_at < CHECK_EVERY_SECONDS or not self._looks_changed():
            return self._settled()
        return self._absorb_changes(progress)

    def close(self) -> None:
        """Stop background work and close the file."""
        if self._background is not None:
            self._background.stop()
        self.database.close()

    def _settled(self) -> Freshness:
        background = self._background
        if background is not None and background.running:
            return Freshness(complete=True, notes=(background.describe(),))
        return Freshness(complete=True)

    def _absorb_changes(self, progress: Progress) -> Freshness:
        """Index few changes at once, many in the background."""
        with try_lock(self._lock_path) as held:
            if held:
                plan = make_plan(self.project, self.store, self._indexers)
                if len(plan.candidates) <= SMALL_CHANGE_FILES and plan.bytes <= SMALL_CHANGE_BYTES:
                    self._carry_out(plan, progress)
                    return Freshness(complete=True)
        if not held:
            return Freshness(complete=True, notes=("Note: another process is re-indexing; very recent edits may be missing.",))
        background = self._start_background()
        background.wait(_POLL_SECONDS, progress)
        return self._settled()

    def _await_first_index(self, progress: Progress, wait_seconds: float) -> Freshness:
        background = self._start_background()
        background.wait(wait_seconds, progress)
        background.raise_failure()
        if not background.running and self.store.meta("complete"):
            return Freshness(complete=True)
        return Freshness(complete=False, notes=(background.describe(),))

    def _start_background(self) -> _Background:
        with self._state_lock:
            if self._background is None or not self._background.running:
                self._background = _Background(self)
                self._background.start()
            return self._background

    def _carry_out(self, plan: Plan, progress: Progress) -> SyncReport:
        report = carry_out(plan, self.project, self.store, self._indexers, progress=progress)
        self._checked_at = time.monotonic()
        return report

    def _looks_changed(self) -> bool:
        """Whether any known file or folder has another stamp than when it was indexed. Reads no content."""
        root = f"{self.project.root}/"
        self._checked_at = time.monotonic()
        for path, mtime_ns in self.store.folders().items():
            if folder_mtime_ns(root + path) != mtime_ns:
                return True
        for path, known in self.store.files().items():
            current = stamp(root + path)
            if current is None or is_stale(known, current):
                return True
        return False


class _Background:
    """An index run in a thread of its own, which any number of calls may wait for."""

    def __init__(self, index: ProjectIndex) -> None:
        self._index = index
        self._thread = threading.Thread(target=self._run, name="pinakes-index", daemon=True)
        self._stop = threading.Event()
        self._failure: PinakesError | None = None
        self._done = self._total = 0

    @property
    def running(self) -> bool:
        """Whether it is still at work."""
        return self._thread.is_alive()

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def wait(self, seconds: float, progress: Progress) -> None:
        """Wait until it is done, at most `seconds`, or until the caller no longer waits; pass its progress on."""
        deadline = time.monotonic() + seconds
        while self.running and time.monotonic() < deadline and not progress.cancelled():
            self._thread.join(_POLL_SECONDS)
            if self._total:
                progress.report(self._done, self._total, "files")

    def stop(self) -> None:
        """Ask it to end and wait a moment for it."""
        self._stop.set()
        self._thread.join(5)

    def raise_failure(self) -> None:
        """Raise what ended it, if anything did."""
        if self._failure is not None:
            raise self._failure

    def describe(self) -> str:
        """What a reader of an answer should know about it."""
        if self._total:
            return f"Note: indexing is still running ({self._done}/{self._total} files ready); ask again for the rest."
        return "Note: indexing has just begun; ask again for complete results."

    def report(self, done: int, total: int, what: str) -> None:  # noqa: ARG002
        """Implements Progress for the run itself."""
        self._done, self._total = done, total

    def cancelled(self) -> bool:
        """Implements Progress for the run itself."""
        return self._stop.is_set()

    def _run(self) -> None:
        try:
            self._index.index(progress=self)
        except Cancelled:
            return
        except PinakesError as exc:
            self._failure = exc
