"""The tables of code search: chunks, definitions and two word indexes (by chunk, by file). All their SQL is here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pinakes.store.sqlite import Database, Migration

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

CODE_001 = Migration(
    "code-001-chunks",
    """
    CREATE TABLE chunk (
        id INTEGER PRIMARY KEY,
        file_id INTEGER NOT NULL,
        start_line INTEGER NOT NULL,
        end_line INTEGER NOT NULL,
        symbol TEXT NOT NULL,
        kind TEXT NOT NULL,
        signature TEXT NOT NULL
    );
    CREATE INDEX chunk_by_file ON chunk (file_id);
    CREATE TABLE definition (
        file_id INTEGER NOT NULL,
        name TEXT NOT NULL COLLATE NOCASE,
        kind TEXT NOT NULL,
        line INTEGER NOT NULL,
        end_line INTEGER NOT NULL,
        container TEXT NOT NULL
    );
    CREATE INDEX definition_by_name ON definition (name);
    CREATE INDEX definition_by_file ON definition (file_id);
    CREATE VIRTUAL TABLE chunk_words USING fts5 (symbol, doc, body, tokenize = 'ascii');
    CREATE VIRTUAL TABLE file_words USING fts5 (stem, folders, names, tokenize = 'ascii');
    CREATE VIRTUAL TABLE chunk_vocabulary USING fts5vocab (chunk_words, row);
    """,
)


@dataclass(frozen=True, slots=True)
class ChunkRecord:
    """A chunk and its words, as written."""

    start_line: int
    end_line: int
    symbol: str
    kind: str
    signature: str
    symbol_words: str
    doc_words: str
    body_words: str


@dataclass(frozen=True, slots=True)
class DefinitionRecord:
    """A name that a file defines."""

    name: str
    kind: str
    line: int
    end_line: int
    container: str


@dataclass(frozen=True, slots=True)
class FileWords:
    """The words of a file's path and of the names it defines."""

    stem: str
    folders: str
    names: str


class CodeStore:
    """Chunks and definitions of one project."""

    def __init__(self, database: Database) -> None:
        self.database = database

    @staticmethod
    def add(
        connection: sqlite3.Connection,
        file_id: int,
        words: FileWords,
        chunks: Sequence[ChunkRecord],
        definitions: Sequence[DefinitionRecord],
    ) -> None:
        """Write all that is known about one file."""
        first = connection.execute("SELECT COALESCE(MAX(id), 0) + 1 FROM chunk").fetchone()[0]
        connection.executemany(
            "INSERT INTO chunk VALUES (?, ?, ?, ?, ?, ?, ?)",
            [(n, file_id, c.start_line, c.end_line, c.symbol, c.kind, c.signature) for n, c in enumerate(chunks, first)],
        )
        connection.executemany(
            "INSERT INTO chunk_words (rowid, symbol, doc, body) VALUES (?, ?, ?, ?)",
            [(n, c.symbol_words, c.doc_words, c.body_words) for n, c in enumerate(chunks, first)],
        )
        connection.executemany(
            "INSERT INTO definition VALUES (?, ?, ?, ?, ?, ?)",
            [(file_id, d.name, d.kind, d.line, d.end_line, d.container) for d in definitions],
        )
        connection.execute(
            "INSERT INTO file_words (rowid, stem, folders, names) VALUES (?, ?, ?, ?)",
            (file_id, words.stem, words.folders, words.names),
        )

    @staticmethod
    def remove(connection: sqlite3.Connection, file_id: int) -> None:
        """Delete all that is known about one file."""
        connection.execute("DELETE FROM chunk_words WHERE rowid IN (SELECT id FROM chunk WHERE file_id = ?)", (file_id,))
        connection.execute("DELETE FROM chunk WHERE file_id = ?", (file_id,))
        connection.execute("DELETE FROM definition WHERE file_id = ?", (file_id,))
        connection.execute("DELETE FROM file_words WHERE rowid = ?", (file_id,))

    def chunk_count(self) -> int:
        """How many chunks there are."""
        count: int = self.database.read().execute("SELECT COUNT(*) FROM chunk").fetchone()[0]
        return count
