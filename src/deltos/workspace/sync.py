"""Update a project's index: find changed files, extract their facts and write them."""

from __future__ import annotations

import time
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from deltos import __version__
from deltos.errors import Cancelled, DeltosError, NothingToIndex
from deltos.store.project import FailedFile, FileRecord, SeenStamp, SkippedFile, StoredFile
from deltos.workspace.admission import refuse_by_name
from deltos.workspace.batches import extract_all
from deltos.workspace.extract import Extracted, FileToRead, describe_error
from deltos.workspace.failure_messages import describe_failure
from deltos.workspace.identity import find_root
from deltos.workspace.indexer import SyncChanges
from deltos.workspace.listing import list_files, listing_state
from deltos.workspace.repository import WORKTREES_LISTED_AT, shared_git_folder, worktrees_listed_at
from deltos.workspace.walk import Stamp, WalkedFiles, is_newer, is_racy, walk

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from deltos.isolated.process_pool import ProcessPool
    from deltos.model import Project
    from deltos.progress import Progress
    from deltos.store.project import ProjectFiles, ProjectStore
    from deltos.store.project_writer import ProjectWriter
    from deltos.workspace.indexer import Indexer

# Interval between database commits while an index is created for the first time.
COMMIT_EVERY_SECONDS = 1.5


@dataclass(slots=True)
class SyncReport:
    """Counts and messages that describe the result of one index update."""

    written: set[str] = field(default_factory=set)
    units_written: Counter[str] = field(default_factory=Counter)
    removed: set[str] = field(default_factory=set)
    skipped_by_reason: dict[str, int] = field(default_factory=dict)
    failures: list[FailedFile] = field(default_factory=list)
    notes: tuple[str, ...] = ()

    @property
    def files_written(self) -> int:
        """Number of files that were parsed and stored."""
        return len(self.written)

    @property
    def files_removed(self) -> int:
        """Number of files that were removed from the index."""
        return len(self.removed)

    @property
    def errors(self) -> list[str]:
        """Descriptions of the files that could not be read."""
        return [describe_failure(failure) for failure in self.failures]

    @property
    def files_skipped(self) -> int:
        """Number of files of the project that are not indexed."""
        return sum(self.skipped_by_reason.values())


@dataclass(frozen=True, slots=True)
class Plan:
    """The files that must be read so that the index matches the disk. Valid while the project's lock is held.

    `known` and `known_skipped` are the files in the index before the update.
    """

    found: WalkedFiles
    candidates: list[FileToRead]
    known: dict[str, StoredFile]
    known_skipped: dict[str, SkippedFile]
    first_time: bool
    reread_all: bool

    @property
    def size_bytes(self) -> int:
        """Total size of the files to read, without files that are skipped because of their name or size."""
        sizes = ((candidate.path, candidate.stamp.size) for candidate in self.candidates)
        return sum(size for path, size in sizes if not refuse_by_name(path, size))


def make_plan(project: Project, store: ProjectFiles, indexers: Sequence[Indexer], *, force: bool = False) -> Plan:
    """Compare the disk with the index, and return a plan with the files to read."""
    found = walk(project.root) if force else list_files(project.root, store)
    known, skipped = store.files(), store.skipped_files()
    if not found.files and not known:
        raise NothingToIndex(
            f"No files to index in {project.root.name or project.root}",
            hint="Give a folder that contains source code.",
        )
    reread_all = force or versions(indexers) != store.meta("indexers")
    seen = {path: file.stamp for path, file in known.items()} | {path: file.stamp for path, file in skipped.items()}
    hashes = {path: file.hash for path, file in skipped.items()} | {path: file.hash for path, file in known.items()}
    # After an update of Deltos, files that failed before are read again, because the new version may support them.
    again = {failure.path for failure in store.failures()} if store.meta("version") != __version__ else set()
    candidates = [
        FileToRead(path, stamp, b"" if reread_all or path in again else hashes.get(path, b""), store.keeps_contents)
        for path, stamp in found.files.items()
        if reread_all or path not in seen or path in again or is_stale(seen[path], stamp)
    ]
    return Plan(found, candidates, known, skipped, first_time=not store.meta("complete"), reread_all=reread_all)


def apply_plan(
    plan: Plan,
    project: Project,
    store: ProjectStore,
    indexers: Sequence[Indexer],
    *,
    progress: Progress,
    workers: ProcessPool | None,
    on_files_written: Callable[[], None] = lambda: None,
) -> SyncReport:
    """Update the index in one transaction. A first index is committed in steps.

    `on_files_written` is called when other processes can read every file of a first index, before data that depends on
    several files is computed.
    """
    with store.writing() as writer:
        run = _SyncRun(project, store, writer, indexers, plan, progress, workers, on_files_written)
        run.begin()
        run.extract_and_write()
        run.finish()
    run.summarise()
    return run.report


def is_stale(seen: SeenStamp, stamp: Stamp) -> bool:
    """Whether a file must be read again because its stamp has changed or is too recent to be reliable."""
    if (seen.size, seen.mtime_ns) != (stamp.size, stamp.mtime_ns) or is_newer(stamp.ctime_ns, seen.seen_at_ns):
        return True
    # A later write may leave the same size and times. Git calls such a file "racily clean".
    return is_racy(seen.mtime_ns, seen.seen_at_ns)


def versions(indexers: Sequence[Indexer]) -> str:
    """Return the versions of the indexers as text. An index that was created with other versions is rebuilt."""
    return ",".join(f"{indexer.name}={indexer.version}" for indexer in indexers)


class _SyncRun:
    """State of one index update."""

    def __init__(
        self,
        project: Project,
        store: ProjectFiles,
        writer: ProjectWriter,
        indexers: Sequence[Indexer],
        plan: Plan,
        progress: Progress,
        workers: ProcessPool | None,
        on_files_written: Callable[[], None],
    ) -> None:
        self._on_files_written = on_files_written
        self._project = project
        self._store = store
        self._writer = writer
        self._indexers = indexers
        self._plan = plan
        self._progress = progress
        self._workers = workers
        self._unextracted: dict[str, set[str]] = {indexer.name: set() for indexer in indexers}
        self.report = SyncReport()

    def begin(self) -> None:
        """Record the indexers, so that an interrupted first index can be continued, and remove outdated files."""
        if self._plan.first_time and self._plan.reread_all:
            for file in self._plan.known.values():
                self._remove_file(file)
            self._plan.known.clear()
        self._writer.set_metadata({"indexers": versions(self._indexers)})

    def extract_and_write(self) -> None:
        """Extract all candidates and write the results. A first index is committed in steps."""
        done, committed_at = 0, time.monotonic()
        candidates = self._plan.candidates
        with closing(extract_all(self._project.root, candidates, self._indexers, self._workers)) as batches:
            for batch in batches:
                if self._progress.cancelled():
                    raise Cancelled(
                        "Indexing was cancelled", hint="Files that are already indexed can still be searched."
                    )
                for item in batch:
                    self._write_result(item)
                done += len(batch)
                self._progress.report(done, len(candidates), "files")
                if self._plan.first_time and time.monotonic() - committed_at > COMMIT_EVERY_SECONDS:
                    self._writer.commit_step()
                    committed_at = time.monotonic()

    def finish(self) -> None:
        """Remove deleted files, let each indexer update cross-file data, and mark the index complete."""
        find_root(self._project.root)  # raises NoSuchFolder if the project was deleted; the index is then kept
        found = self._plan.found
        for path, file in self._plan.known.items():
            if path not in found.files:
                self._remove_file(file)
        self._writer.forget_skipped(self._plan.known_skipped.keys() - found.files.keys())
        self._writer.set_folders(found.folders)
        if self.report.written or self.report.removed or self._plan.first_time:
            # An interrupted first index may have written files for which `finish` was never called.
            written = set(self._store.files()) if self._plan.first_time else self.report.written
            pending = self.report.written | self.report.removed
            if self._plan.first_time:
                self._writer.commit_step()  # child processes that resolve references must be able to read all files
                self._on_files_written()
                pending = set()
            for indexer in self._indexers:
                unread = self._unextracted[indexer.name]
                self._finish_indexer(indexer, SyncChanges(written - unread, self.report.removed | unread, pending))
        self._record_facts()

    def _finish_indexer(self, indexer: Indexer, changes: SyncChanges) -> None:
        """Let one indexer update its data that depends on several files.

        On failure, roll back the changes of the indexer and record the error.
        """
        reason = ""
        try:
            with self._writer.savepoint():
                indexer.finish(self._writer, changes, self._workers)
        except DeltosError:
            raise
        except Exception as exc:  # noqa: BLE001 (the failure of one indexer is recorded)
            reason = describe_error(exc)
        self._writer.set_unfinished(indexer.name, reason)

    def summarise(self) -> None:
        """Add failures, and the number of skipped files for each reason, to the report."""
        self.report.failures = self._store.failures()
        reasons = dict(self._plan.found.refused)
        for reason, count in self._store.totals().skipped.items():
            reasons[reason] = reasons.get(reason, 0) + count
        self.report.skipped_by_reason = reasons

    def _record_facts(self) -> None:
        facts = {
            "root": str(self._project.root),
            "project_id": self._project.project_id,
            "repository": shared_git_folder(self._project.root),
            WORKTREES_LISTED_AT: worktrees_listed_at(self._project.root),
            "complete": "1",
            "version": __version__,
            "synced_at": repr(time.time()),
            "notes": "\n".join(self._plan.found.notes),
            "listing": listing_state(self._plan.found),
        }
        self._writer.set_metadata(facts)

    def _write_result(self, item: Extracted) -> None:
        known = self._plan.known.get(item.path)
        skipped = self._plan.known_skipped.get(item.path)
        if item.skip_reason:
            self._skip_file(item, known)
        elif item.facts is not None:
            self._replace_file(item, item.facts, known)
        elif known is not None:
            self._writer.touch_file(known.id, _seen_stamp(item))
        elif skipped is not None:
            self._writer.set_skipped(replace(skipped, stamp=_seen_stamp(item)))

    def _skip_file(self, item: Extracted, known: StoredFile | None) -> None:
        if known:
            self._remove_file(known)
        if item.skip_reason != "vanished":
            skipped = SkippedFile(
                item.path, item.skip_reason, _seen_stamp(item), item.hash if item.failure else b"", item.failure
            )
            self._writer.set_skipped(skipped)

    def _replace_file(self, item: Extracted, facts: tuple[Any, ...], known: StoredFile | None) -> None:
        if known:
            self._remove_file(known)
        self.report.removed.discard(item.path)
        if item.path in self._plan.known_skipped:
            self._writer.forget_skipped([item.path])
        record = FileRecord(
            item.path, item.language, item.lines, item.hash, _seen_stamp(item), item.content, item.is_generated
        )
        file_id = self._writer.add_file(record)
        self._writer.add_failures(file_id, item.failures)
        for indexer, fact in zip(self._indexers, facts, strict=True):
            if fact is None or not self._store_facts(indexer, file_id, item.path, fact):
                self._unextracted[indexer.name].add(item.path)
        self.report.written.add(item.path)

    def _store_facts(self, indexer: Indexer, file_id: int, path: str, fact: Any) -> bool:
        """Store the facts of one indexer. On failure, remove them, record the failure and return False."""
        try:
            self.report.units_written[indexer.name] += indexer.write(self._writer, file_id, path, fact)
        except DeltosError:
            raise
        except Exception as exc:  # noqa: BLE001 (the failure of one indexer is recorded)
            indexer.remove(self._writer, file_id)
            self._writer.add_failures(file_id, [(indexer.name, describe_error(exc))])
            return False
        return True

    def _remove_file(self, file: StoredFile) -> None:
        for indexer in self._indexers:
            indexer.remove(self._writer, file.id)
        self._writer.remove_file(file.id)
        self.report.removed.add(file.path)


def _seen_stamp(item: Extracted) -> SeenStamp:
    return SeenStamp(item.stamp.size, item.stamp.mtime_ns, item.seen_at_ns)
