"""In-memory vocabulary of a small project: words with their document frequencies.

In a search over many projects, most projects lack some of the words. The vocabulary shows this without a database
query.
"""

from __future__ import annotations

import sys
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Mapping

    from deltos.store.sqlite.database import SqliteDatabase

# Maximum number of chunks of a project whose vocabulary is loaded. Loading takes 3 microseconds per word.
MAX_CHUNKS = 2_000
# Rows 1 and 10 of an FTS5 data table contain totals and the segment list. Every write changes at least one of them.
_SELECT_STAMP = """SELECT (SELECT chunks FROM chunk_total), (SELECT total(chunks) FROM common_word),
            (SELECT group_concat(hex(block)) FROM chunk_words_data WHERE id IN (1, 10)),
            (SELECT group_concat(hex(block)) FROM file_words_data WHERE id IN (1, 10))"""
_FILE_VOCABULARY = "CREATE VIRTUAL TABLE IF NOT EXISTS temp.file_vocabulary USING fts5vocab (main, file_words, col)"


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Document frequencies of words in chunks, words of file names, and all words of files.

    The frequencies of common words may be outdated.
    """

    chunks: Mapping[str, int]
    stems: frozenset[str]
    files: frozenset[str]


@dataclass(frozen=True, slots=True)
class _WriteStamp:
    """Values that change with every write to the word indexes. They are the same in all threads."""

    chunk_count: int
    common: float
    chunk_words: str
    file_words: str


class VocabularyCache:
    """Cache of an open project's vocabulary. It is loaded when the same state is queried a second time."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database
        self._guard = threading.Lock()
        self._last_stamp: _WriteStamp | None = None
        self._cached: tuple[_WriteStamp, Vocabulary] | None = None

    def load_on_second_query(self) -> Vocabulary | None:
        """Return the vocabulary of the current state. Return None for a large project, or for the first query of a
        state."""
        stamp = self._database.cached("word stamp", _read_stamp)
        if stamp.chunk_count > MAX_CHUNKS:
            return None
        if known := self._cached_at(stamp):
            return known
        with self._guard:
            if self._last_stamp != stamp:
                self._last_stamp = stamp
                return None
            with self._database.snapshot() as connection:
                vocabulary = _read_vocabulary(connection)
            self._cached = stamp, vocabulary
            return vocabulary

    def cached_vocabulary(self) -> Vocabulary | None:
        """Return the vocabulary of the current state, or None if it is not loaded."""
        return self._cached_at(self._database.cached("word stamp", _read_stamp))

    def _cached_at(self, stamp: _WriteStamp) -> Vocabulary | None:
        known = self._cached
        return known[1] if known is not None and known[0] == stamp else None


def _read_stamp(connection: sqlite3.Connection) -> _WriteStamp:
    return _WriteStamp(*connection.execute(_SELECT_STAMP).fetchone())


def _read_vocabulary(connection: sqlite3.Connection) -> Vocabulary:
    connection.execute(_FILE_VOCABULARY)
    found = connection.execute("SELECT term, doc FROM chunk_vocabulary UNION ALL SELECT word, chunks FROM common_word")
    chunks = {sys.intern(term): count for term, count in found}  # counts of common words replace earlier counts
    stems: set[str] = set()
    files: set[str] = set()
    for term, column in connection.execute("SELECT term, col FROM temp.file_vocabulary"):
        files.add(sys.intern(term))
        if column == "stem":
            stems.add(term)
    return Vocabulary(chunks, frozenset(stems), frozenset(files))
