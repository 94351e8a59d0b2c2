"""Indexers for tests: one stores whole files; one fails, loops, exhausts memory or crashes on certain files."""

from __future__ import annotations

import os
import re
import signal
from typing import TYPE_CHECKING

from deltos.model import Project
from deltos.store.migration import Migration
from deltos.store.sqlite.project import PROJECT_001, PROJECT_002, PROJECT_003, SqliteProject
from deltos.workspace.project_index import ProjectIndex
from tests.files_of import connection_of, project_database

if TYPE_CHECKING:
    from pathlib import Path

    from deltos.isolated.process_pool import ProcessPool
    from deltos.store.project_writer import ProjectWriter
    from deltos.workspace.indexer import Indexer, ParsedFile, SyncChanges

TEXTS = Migration(
    "text-001",
    """CREATE TABLE text (file_id INTEGER PRIMARY KEY, path TEXT, body TEXT);
    CREATE TABLE settled (path TEXT PRIMARY KEY);""",
)
FAILING = b"this file makes the indexer raise"
# Contents on which `PickyIndexer` fails in different ways.
BAD = b"this file makes the picky indexer raise"
DEADLY = b"this file kills the process that reads it"
ENDLESS = b"this file is read for ever"
GREEDY = b"this file takes all memory"


class TextIndexer:
    """Indexer that stores file contents unchanged and records the files that it extracted in this process."""

    name = "text"
    reads_generated = False

    def __init__(self, version: int = 1) -> None:
        self.version = version
        self.extracted: list[str] = []

    def extract(self, file: ParsedFile) -> str:
        """Return the text of the file."""
        self.extracted.append(file.path)
        if FAILING in file.data:
            raise ValueError("a bad file")
        return file.data.decode()

    def write(self, store: ProjectWriter, file_id: int, path: str, facts: str) -> int:
        """Store the text."""
        connection_of(store).execute("INSERT INTO text VALUES (?, ?, ?)", (file_id, path, facts))
        return 1

    def remove(self, store: ProjectWriter, file_id: int) -> None:
        """Delete the text."""
        connection_of(store).execute("DELETE FROM text WHERE file_id = ?", (file_id,))

    def finish(self, store: ProjectWriter, changes: SyncChanges, workers: ProcessPool | None) -> None:
        """Record the files that were written and removed."""
        connection_of(store).executemany("DELETE FROM settled WHERE path = ?", [(path,) for path in changes.removed])
        connection_of(store).executemany(
            "INSERT OR REPLACE INTO settled VALUES (?)", [(path,) for path in changes.written]
        )


class PickyIndexer:
    """Indexer that counts lines, and fails, loops, exhausts memory or crashes on certain contents. It logs each attempt.

    Content that includes `always` has the same effect when the file is read as plain text.
    """

    name = "picky"
    reads_generated = False
    version = 1

    def __init__(self, log: Path) -> None:
        self._log = log

    def extract(self, file: ParsedFile) -> int:
        """Return the number of lines."""
        with self._log.open("a") as log:
            log.write(f"{file.path}\n")
        if file.language is not None or b"always" in file.data:
            _fail_on(file.data)
        return file.data.count(b"\n")

    def write(self, store: ProjectWriter, file_id: int, path: str, facts: int) -> int:
        """Do nothing."""
        return 1

    def remove(self, store: ProjectWriter, file_id: int) -> None:
        """Do nothing."""

    def finish(self, store: ProjectWriter, changes: SyncChanges, workers: ProcessPool | None) -> None:
        """Remove the records of deleted files."""
        connection_of(store).executemany("DELETE FROM settled WHERE path = ?", [(path,) for path in changes.removed])


def _fail_on(data: bytes) -> None:
    if BAD in data:
        raise ValueError("a bad file")
    if DEADLY in data:
        os.kill(os.getpid(), signal.SIGKILL)
    if ENDLESS in data:
        re.match(r"(a*)*b", "a" * 60)  # runs in C without releasing the interpreter lock
    if GREEDY in data:
        _ = [bytearray(1 << 28) for _ in range(10_000)]


def open_index(
    home: Path,
    root: Path,
    *indexers: Indexer,
    first_index_seconds: float = 60.0,
    changes_seconds: float = 0.1,
    busy_timeout_seconds: float = 15.0,
    workers: ProcessPool | None = None,
) -> ProjectIndex:
    """Return the index of a folder, stored below `home`."""
    migrations = [PROJECT_001, PROJECT_002, PROJECT_003, TEXTS]
    store = SqliteProject(home / "index.db", migrations, busy_timeout_seconds=busy_timeout_seconds)
    return ProjectIndex(
        Project(root, "test"),
        store,
        indexers or (TextIndexer(),),
        first_index_seconds=first_index_seconds,
        changes_seconds=changes_seconds,
        workers=workers,
    )


def indexed_texts(index: ProjectIndex) -> dict[str, str]:
    """Return the indexed texts by path."""
    with project_database(index).snapshot() as connection:
        return dict(connection.execute("SELECT path, body FROM text ORDER BY path").fetchall())


def recorded_writes(index: ProjectIndex) -> set[str]:
    """Return the paths that the last `finish` calls recorded as written."""
    with project_database(index).snapshot() as connection:
        return {row[0] for row in connection.execute("SELECT path FROM settled")}
