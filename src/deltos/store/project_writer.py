"""Writes to one project within one transaction."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from deltos.store.code_writer import CodeWriter
from deltos.store.graph_writer import GraphWriter
from deltos.store.history_writer import HistoryWriter
from deltos.store.valid_text import check_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from contextlib import AbstractContextManager

    from deltos.store.project import FileRecord, SeenStamp, SkippedFile
    from deltos.store.project_rows import ProjectRows

_FILE_COLUMNS = ("id", "path", "language", "lines", "size", "mtime_ns", "seen_at_ns", "hash", "generated")
_SKIPPED_COLUMNS = ("path", "reason", "size", "mtime_ns", "seen_at_ns", "hash", "failure")
# Suffix added to the name of an indexer when a failure to resolve references is recorded.
_UNRESOLVED = "/edges"


class Transaction(Protocol):
    """A write transaction of one project in a storage engine."""

    def commit_step(self) -> None:
        """Commit all writes so far and continue in a new transaction."""

    def savepoint(self) -> AbstractContextManager[None]:
        """Return a context manager that, on an error, rolls back only the writes within it."""

    def add_contents(self, contents: Mapping[bytes, bytes]) -> None:
        """Store compressed contents of files by digest, if the engine keeps contents."""

    def release_contents(self, digests: Iterable[bytes]) -> None:
        """Delete the contents with these digests after the transaction, unless a file refers to them."""


class ProjectWriter:
    """One write transaction of a project. On an error, changes since the last `commit_step` are rolled back.

    Rows are buffered and written together before each query of this thread.
    """

    def __init__(self, rows: ProjectRows, transaction: Transaction) -> None:
        self._rows = rows
        self._transaction = transaction
        self.code = CodeWriter(rows)
        self.graph = GraphWriter(rows)
        self.history = HistoryWriter(rows)
        self._clear_buffer()

    def _clear_buffer(self) -> None:
        self._added: dict[int, FileRecord] = {}
        self._removed: list[int] = []
        self._touched: dict[int, SeenStamp] = {}
        self._skipped: dict[str, SkippedFile | None] = {}
        self._failed: dict[tuple[int, str], str] = {}

    def flush(self) -> None:
        """Write all buffered rows."""
        with self._rows.translating_errors():
            self._rows.flush()

    def write_buffer(self) -> None:
        """Write all buffered rows. `ProjectRows.flush` calls this function."""
        self._write_files()
        self.code.flush()
        self.graph.flush()
        self.history.flush()

    def commit_step(self) -> None:
        """Commit all writes so far and continue in a new transaction."""
        self.flush()
        self._transaction.commit_step()
        self._rows.forget_ids()

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        """Run the `with` block so that an error rolls back only the writes within it."""
        self.flush()
        with self._rows.translating_errors(), self._transaction.savepoint():
            try:
                yield
                self.flush()
            except BaseException:  # includes KeyboardInterrupt; discard the buffered rows and re-raise
                self._clear_buffer()
                for writer in (self.code, self.graph, self.history):
                    writer.discard()
                raise

    def set_metadata(self, values: dict[str, str]) -> None:
        """Store metadata of the index as key-value pairs."""
        self._rows.execute("DELETE FROM meta WHERE key IN ?", list(values))
        self._rows.insert("meta", ("key", "value"), list(values.items()))

    def add_file(self, record: FileRecord) -> int:
        """Insert the row of a file, and return the id of the row."""
        check_text(record.path, record.language)
        file_id = self._rows.allocate_ids("file")
        self._added[file_id] = record
        return file_id

    def remove_file(self, file_id: int) -> None:
        """Delete the row of a file and the recorded failures for this file."""
        if self._added.pop(file_id, None) is None:
            self._removed.append(file_id)
        self._touched.pop(file_id, None)
        self._failed = {place: reason for place, reason in self._failed.items() if place[0] != file_id}

    def touch_file(self, file_id: int, stamp: SeenStamp) -> None:
        """Record the new size and modification time of a file whose content is unchanged."""
        self._touched[file_id] = stamp

    def set_unfinished(self, indexer: str, reason: str) -> None:
        """Record why an indexer could not update data that spans several files. An empty reason clears the record."""
        key = f"unfinished/{indexer}{_UNRESOLVED}"
        self._rows.execute("DELETE FROM meta WHERE key = ?", key)
        if reason:
            self.set_metadata({key: reason})

    def set_skipped(self, file: SkippedFile) -> None:
        """Record a file that is not indexed."""
        check_text(file.path, file.reason, file.failure)
        self._skipped[file.path] = file

    def add_failures(self, file_id: int, reasons: Iterable[tuple[str, str]]) -> None:
        """Record why indexers could not process a file. `reasons` contains (indexer, reason) pairs."""
        for indexer, reason in reasons:
            check_text(reason)
            self._failed[file_id, indexer] = reason

    def forget_skipped(self, paths: Iterable[str]) -> None:
        """Remove files from the list of skipped files."""
        self._skipped.update(dict.fromkeys(paths))

    def set_folders(self, folders: dict[str, int]) -> None:
        """Replace the list of folders and their modification times."""
        known: dict[str, int] = dict(self._rows.query("SELECT path, mtime_ns FROM folder"))
        changed = {path: stamp for path, stamp in folders.items() if known.get(path) != stamp}
        outdated = [path for path in known if path not in folders or path in changed]
        self._rows.execute("DELETE FROM folder WHERE path IN ?", outdated)
        self._rows.insert("folder", ("path", "mtime_ns"), list(changed.items()))

    def set_unresolved(self, indexer: str, tried: Iterable[str], unresolved: Iterable[tuple[str, str]]) -> None:
        """Record which of the `tried` files an indexer could not resolve, as (path, reason) pairs."""
        self.flush()
        name, reasons = indexer + _UNRESOLVED, dict(unresolved)
        of_files = "file_id IN (SELECT id FROM file WHERE file.path IN ?)"
        self._rows.execute(f"DELETE FROM failure WHERE indexer = ? AND {of_files}", name, list(tried))
        for file_id, path in self._rows.query("SELECT id, path FROM file WHERE file.path IN ?", list(reasons)):
            self._failed[file_id, name] = reasons[path]

    def _write_files(self) -> None:
        if self._removed:
            digests = [row[0] for row in self._rows.query("SELECT hash FROM file WHERE id IN ?", self._removed)]
            self._transaction.release_contents(digests)
            self._rows.execute("DELETE FROM failure WHERE file_id IN ?", self._removed)
            self._rows.execute("DELETE FROM file WHERE id IN ?", self._removed)
        added = [
            (file_id, r.path, r.language, r.lines, *_stamp_values(r.stamp), r.hash, r.is_generated)
            for file_id, r in self._added.items()
        ]
        self._transaction.add_contents({r.hash: r.content for r in self._added.values() if r.content})
        self._rows.insert("file", _FILE_COLUMNS, added)
        touched = [(file_id, *_stamp_values(stamp)) for file_id, stamp in self._touched.items()]
        self._rows.update("file", "id", ("size", "mtime_ns", "seen_at_ns"), touched)
        if self._skipped:
            self._rows.execute("DELETE FROM skipped WHERE path IN ?", list(self._skipped))
            files = [file for file in self._skipped.values() if file is not None]
            rows = [(f.path, f.reason, *_stamp_values(f.stamp), f.hash, f.failure) for f in files]
            self._rows.insert("skipped", _SKIPPED_COLUMNS, rows)
        for file_id, indexer in self._failed:
            self._rows.execute("DELETE FROM failure WHERE file_id = ? AND indexer = ?", file_id, indexer)
        failed = [(*place, reason) for place, reason in self._failed.items()]
        self._rows.insert("failure", ("file_id", "indexer", "reason"), failed)
        self._clear_buffer()


def _stamp_values(stamp: SeenStamp) -> tuple[int, int, int]:
    return stamp.size, stamp.mtime_ns, stamp.seen_at_ns
