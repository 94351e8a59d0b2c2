"""A tiny indexer that keeps whole files, and one that dies over some of them."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

from deltos.model import Project
from deltos.store.project import PROJECT_001
from deltos.store.sqlite import Database, Migration
from deltos.workspace.project_index import ProjectIndex

if TYPE_CHECKING:
    import sqlite3
    from pathlib import Path

    from deltos.workspace.indexer import Changes, Indexer, ParsedFile

TEXTS = Migration(
    "text-001",
    """CREATE TABLE text (file_id INTEGER PRIMARY KEY, path TEXT, body TEXT);
    CREATE TABLE settled (path TEXT PRIMARY KEY);""",
)
FAILING = b"this file makes the indexer raise"
DEADLY = b"this file kills the process that reads it"


class TextIndexer:
    """Stores files as they are; remembers which ones it was given in this process."""

    name = "text"

    def __init__(self, version: int = 1) -> None:
        self.version = version
        self.extracted: list[str] = []

    def extract(self, file: ParsedFile) -> str:
        """The text of a file."""
        self.extracted.append(file.path)
        if FAILING in file.data:
            raise ValueError("a bad file")
        if DEADLY in file.data:
            os.kill(os.getpid(), signal.SIGKILL)
        return file.data.decode()

    def write(self, connection: sqlite3.Connection, file_id: int, path: str, facts: str) -> int:
        """Store the text."""
        connection.execute("INSERT INTO text VALUES (?, ?, ?)", (file_id, path, facts))
        return 1

    def remove(self, connection: sqlite3.Connection, file_id: int) -> None:
        """Delete the text."""
        connection.execute("DELETE FROM text WHERE file_id = ?", (file_id,))

    def finish(self, connection: sqlite3.Connection, changes: Changes) -> None:
        """Keep a list of what has been settled."""
        connection.executemany("DELETE FROM settled WHERE path = ?", [(path,) for path in changes.removed])
        connection.executemany("INSERT OR REPLACE INTO settled VALUES (?)", [(path,) for path in changes.written])


def open_index(
    home: Path, root: Path, *indexers: Indexer, first_index_seconds: float = 60.0, busy_timeout_seconds: float = 15.0
) -> ProjectIndex:
    """The index of a folder, kept below `home`."""
    database = Database(home / "index.db", [PROJECT_001, TEXTS], busy_timeout_seconds=busy_timeout_seconds)
    return ProjectIndex(
        Project(root, "test"), database, indexers or (TextIndexer(),), first_index_seconds=first_index_seconds
    )


def texts(index: ProjectIndex) -> dict[str, str]:
    """What the index holds, by path."""
    with index.database.snapshot() as connection:
        return dict(connection.execute("SELECT path, body FROM text ORDER BY path").fetchall())


def settled(index: ProjectIndex) -> set[str]:
    """What the indexer was told to settle and not to forget."""
    with index.database.snapshot() as connection:
        return {row[0] for row in connection.execute("SELECT path FROM settled")}
