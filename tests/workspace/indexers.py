"""A tiny indexer that keeps whole files, and one beside it that loops, starves or dies over some of them."""

from __future__ import annotations

import os
import re
import signal
from typing import TYPE_CHECKING

from deltos.model import Project
from deltos.store.sqlite.database import SqliteMigration
from deltos.store.sqlite.project import PROJECT_001, PROJECT_002, PROJECT_003, SqliteProject
from deltos.workspace.project_index import ProjectIndex
from tests.files_of import connection_of, project_database

if TYPE_CHECKING:
    from pathlib import Path

    from deltos.isolated.process import Workers
    from deltos.store.project import ProjectWriter
    from deltos.workspace.indexer import Indexer, ParsedFile, SyncChanges

TEXTS = SqliteMigration(
    "text-001",
    """CREATE TABLE text (file_id INTEGER PRIMARY KEY, path TEXT, body TEXT);
    CREATE TABLE settled (path TEXT PRIMARY KEY);""",
)
FAILING = b"this file makes the indexer raise"
# What the picky indexer cannot stand.
BAD = b"this file makes the picky indexer raise"
DEADLY = b"this file kills the process that reads it"
ENDLESS = b"this file is read for ever"
GREEDY = b"this file takes all memory"


class TextIndexer:
    """Stores files as they are; remembers which ones it was given in this process."""

    name = "text"
    reads_generated = False

    def __init__(self, version: int = 1) -> None:
        self.version = version
        self.extracted: list[str] = []

    def extract(self, file: ParsedFile) -> str:
        """The text of a file."""
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

    def finish(self, store: ProjectWriter, changes: SyncChanges, workers: Workers | None) -> None:
        """Keep a list of what has been settled."""
        connection_of(store).executemany("DELETE FROM settled WHERE path = ?", [(path,) for path in changes.removed])
        connection_of(store).executemany(
            "INSERT OR REPLACE INTO settled VALUES (?)", [(path,) for path in changes.written]
        )


class PickyIndexer:
    """Counts lines, but not of files that it loops, starves or dies over. Writes down each attempt.

    Over a file that names a second trouble, it has that even where the file is plain text to it.
    """

    name = "picky"
    reads_generated = False
    version = 1

    def __init__(self, log: Path) -> None:
        self._log = log

    def extract(self, file: ParsedFile) -> int:
        """The number of lines."""
        with self._log.open("a") as log:
            log.write(f"{file.path}\n")
        if file.language is not None or b"always" in file.data:
            _suffer(file.data)
        return file.data.count(b"\n")

    def write(self, store: ProjectWriter, file_id: int, path: str, facts: int) -> int:
        """Store nothing."""
        return 1

    def remove(self, store: ProjectWriter, file_id: int) -> None:
        """Forget nothing."""

    def finish(self, store: ProjectWriter, changes: SyncChanges, workers: Workers | None) -> None:
        """Keep a list of what has been settled."""
        connection_of(store).executemany("DELETE FROM settled WHERE path = ?", [(path,) for path in changes.removed])


def _suffer(data: bytes) -> None:
    if BAD in data:
        raise ValueError("a bad file")
    if DEADLY in data:
        os.kill(os.getpid(), signal.SIGKILL)
    if ENDLESS in data:
        re.match(r"(a*)*b", "a" * 60)  # in C, never letting go of the interpreter
    if GREEDY in data:
        _ = [bytearray(1 << 28) for _ in range(10_000)]


def open_index(
    home: Path,
    root: Path,
    *indexers: Indexer,
    first_index_seconds: float = 60.0,
    changes_seconds: float = 0.1,
    busy_timeout_seconds: float = 15.0,
    workers: Workers | None = None,
) -> ProjectIndex:
    """The index of a folder, kept below `home`."""
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


def texts(index: ProjectIndex) -> dict[str, str]:
    """What the index holds, by path."""
    with project_database(index).snapshot() as connection:
        return dict(connection.execute("SELECT path, body FROM text ORDER BY path").fetchall())


def settled(index: ProjectIndex) -> set[str]:
    """What the indexer was told to settle and not to forget."""
    with project_database(index).snapshot() as connection:
        return {row[0] for row in connection.execute("SELECT path FROM settled")}
