"""Bring a project's index up to date: what changed, extract it, write it. The write path on one screen."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pinakes.errors import Cancelled, NothingToIndex
from pinakes.store.project import FileRecord, ProjectStore, SkippedFile, StoredFile
from pinakes.workspace.extract import Candidate, Extracted, extract_all
from pinakes.workspace.indexer import Changes
from pinakes.workspace.walk import Stamp, Walk, walk

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

    from pinakes.model import Project
    from pinakes.progress import Progress
    from pinakes.workspace.indexer import Indexer

# A file changed this shortly before it was read may have changed again without its stamp showing it.
RACY_NS = 50_000_000
COARSE_RACY_NS = 2_000_000_000  # where the file system keeps whole seconds only
# While an index is built for the first time, readers see it grow in steps of about this long.
COMMIT_EVERY_SECONDS = 1.5


@dataclass(slots=True)
class SyncReport:
    """What one synchronisation did."""

    files_written: int = 0
    files_removed: int = 0
    files_skipped: int = 0
    skipped_by_reason: dict[str, int] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    written: set[str] = field(default_factory=set)
    removed: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Plan:
    """What has to be done to make the index equal to the disk. Valid while the project's lock is held."""

    found: Walk
    candidates: list[Candidate]
    known: dict[str, StoredFile]
    removed: list[StoredFile]
    known_skipped: dict[str, SkippedFile]
    first_time: bool

    @property
    def bytes(self) -> int:
        """How much source has to be read."""
        return sum(candidate.stamp.size for candidate in self.candidates)


def make_plan(project: Project, store: ProjectStore, indexers: Sequence[Indexer], *, force: bool = False) -> Plan:
    """Compare the disk with the index."""
    found = walk(project.root)
    if not found.files:
        raise NothingToIndex(
            f"No files to index in {project.root.name or project.root}", hint="Give a folder that contains source code."
        )
    reread_all = force or _versions(indexers) != store.meta("indexers")
    known, skipped = store.files(), store.skipped()
    candidates = [
        Candidate(path, stamp, b"" if reread_all or path not in known else known[path].hash)
        for path, stamp in found.files.items()
        if reread_all or _may_have_changed(stamp, known.get(path), skipped.get(path))
    ]
    removed = [file for path, file in known.items() if path not in found.files]
    return Plan(found, candidates, known, removed, skipped, first_time=not store.meta("complete"))


def carry_out(
    plan: Plan, project: Project, store: ProjectStore, indexers: Sequence[Indexer], *, progress: Progress
) -> SyncReport:
    """Make the index equal to what is on disk: all of it or nothing, except a first index, which grows in steps."""
    run = _Run(project, store, indexers, plan, progress)
    with store.database.write() as connection:
        run.extract_and_write(connection)
        run.finish(connection)
    run.count_skipped()
    return run.report


def _may_have_changed(stamp: Stamp, known: StoredFile | None, skipped: SkippedFile | None) -> bool:
    if known is not None:
        return is_stale(known, stamp)
    return skipped is None or (skipped.size, skipped.mtime_ns) != (stamp.size, stamp.mtime_ns)


def is_stale(known: StoredFile, stamp: Stamp) -> bool:
    """Whether a file must be read again: its stamp differs, or is too young to be trusted."""
    if (known.size, known.mtime_ns) != (stamp.size, stamp.mtime_ns):
        return True
    racy_ns = RACY_NS if known.mtime_ns % 1_000_000_000 else COARSE_RACY_NS
    return abs(known.seen_at_ns - known.mtime_ns) < racy_ns


def _versions(indexers: Sequence[Indexer]) -> str:
    return ",".join(f"{indexer.name}={indexer.version}" for indexer in indexers)


class _Run:
    """One synchronisation in progress."""

    def __init__(
        self, project: Project, store: ProjectStore, indexers: Sequence[Indexer], plan: Plan, progress: Progress
    ) -> None:
        self._project = project
        self._store = store
        self._indexers = indexers
        self._plan = plan
        self._progress = progress
        self._done = 0
        self.report = SyncReport()

    def extract_and_write(self, connection: sqlite3.Connection) -> None:
        """Extract all candidates and write them as they come; a first index commits in steps, later ones all at once."""
        committed_at = time.monotonic()
        for batch in extract_all(self._project.root, self._plan.candidates, self._indexers):
            if self._progress.cancelled():
                raise Cancelled("Indexing was cancelled", hint="What was indexed before is unchanged.")
            for item in batch:
                self._write(connection, item)
            self._done += len(batch)
            self._progress.report(self._done, len(self._plan.candidates), "files")
            if self._plan.first_time and time.monotonic() - committed_at > COMMIT_EVERY_SECONDS:
                self._store.database.commit_step(connection)
                committed_at = time.monotonic()

    def finish(self, connection: sqlite3.Connection) -> None:
        """Remove what vanished, let each indexer settle what spans files, and mark the index complete."""
        for file in self._plan.removed:
            self._remove(connection, file)
        self._store.forget_skipped(connection, self._plan.known_skipped.keys() - self._plan.found.files.keys())
        self._store.set_folders(connection, self._plan.found.folders)
        if changed := bool(self.report.written or self.report.removed or self._plan.first_time):
            # An interrupted first index left files behind that no indexer has settled yet.
            written = set(self._store.files()) if self._plan.first_time else self.report.written
            changes = Changes(written, self.report.removed)
            for indexer in self._indexers:
                indexer.finish(connection, changes)
        self._record(connection, changed=changed)

    def count_skipped(self) -> None:
        """Report how many files are not in the index, by reason."""
        reasons = dict(self._plan.found.refused)
        for reason, count in self._store.totals().skipped.items():
            reasons[reason] = reasons.get(reason, 0) + count
        self.report.skipped_by_reason = reasons
        self.report.files_skipped = sum(reasons.values())

    def _record(self, connection: sqlite3.Connection, *, changed: bool) -> None:
        store = self._store
        store.set_meta(connection, "root", str(self._project.root))
        store.set_meta(connection, "project_id", self._project.project_id)
        store.set_meta(connection, "indexers", _versions(self._indexers))
        store.set_meta(connection, "complete", "1")
        store.set_meta(connection, "synced_at", str(time.time()))
        if changed:
            store.bump_generation(connection)

    def _write(self, connection: sqlite3.Connection, item: Extracted) -> None:
        known = self._plan.known.get(item.path)
        if item.error:
            self.report.errors.append(f"{item.path}: {item.error}")
        if item.skip_reason:
            if known:
                self._remove(connection, known)
            if item.skip_reason != "vanished":
                self._store.set_skipped(
                    connection, [SkippedFile(item.path, item.skip_reason, item.stamp.size, item.stamp.mtime_ns)]
                )
        elif item.facts is None and known:
            self._store.touch_file(
                connection, known.id, size=item.stamp.size, mtime_ns=item.stamp.mtime_ns, seen_at_ns=item.seen_at_ns
            )
        elif item.facts is not None:
            self._replace(connection, item, known)

    def _replace(self, connection: sqlite3.Connection, item: Extracted, known: StoredFile | None) -> None:
        assert item.facts is not None
        if known:
            self._remove(connection, known)
            self.report.removed.discard(item.path)
        if item.path in self._plan.known_skipped:
            self._store.forget_skipped(connection, [item.path])
        record = FileRecord(
            item.path, item.language, item.lines, item.stamp.size, item.stamp.mtime_ns, item.seen_at_ns, item.hash
        )
        file_id = self._store.add_file(connection, record)
        for indexer, facts in zip(self._indexers, item.facts, strict=True):
            indexer.write(connection, file_id, item.path, facts)
        self.report.files_written += 1
        self.report.written.add(item.path)

    def _remove(self, connection: sqlite3.Connection, file: StoredFile) -> None:
        for indexer in self._indexers:
            indexer.remove(connection, file.id)
        self._store.remove_file(connection, file.id)
        self.report.removed.add(file.path)
        self.report.files_removed = len(self.report.removed)
