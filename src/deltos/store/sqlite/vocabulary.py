"""In-memory vocabulary of a small project: its words with their document frequencies.

In a search over many projects, most projects lack some words. The vocabulary shows that without a database query.
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

# Loading takes 3 microseconds per word, so larger projects look up only the words of each query.
MAX_CHUNKS = 2_000
# FTS5 stores totals and the segment list in these rows. Every write to an index changes at least one of the rows.
_STAMP = """SELECT (SELECT chunks FROM chunk_total), (SELECT total(chunks) FROM common_word),
            (SELECT group_concat(hex(block)) FROM chunk_words_data WHERE id IN (1, 10)),
            (SELECT group_concat(hex(block)) FROM file_words_data WHERE id IN (1, 10))"""
_FILE_VOCABULARY = "CREATE VIRTUAL TABLE IF NOT EXISTS temp.file_vocabulary USING fts5vocab (main, file_words, col)"


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Document frequencies of words in chunks, words of file names, and all words of files.

    Frequencies of common words are the last counted values.
    """

    chunks: Mapping[str, int]
    stems: frozenset[str]
    files: frozenset[str]


@dataclass(frozen=True, slots=True)
class _WriteStamp:
    """Values that change with every write to the word indexes and are the same in all threads."""

    chunk_count: int
    common: float
    chunk_words: str
    file_words: str


class VocabularyCache:
    """Cache of an open project's vocabulary, which is loaded when the same state is queried a second time."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database
        self._guard = threading.Lock()
        self._last_stamp: _WriteStamp | None = None
        self._cached: tuple[_WriteStamp, Vocabulary] | None = None

    def for_query(self) -> Vocabulary | None:
        """Return the current vocabulary, or None for the first query of a state, which does not wait for loading."""
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

    def if_cached(self) -> Vocabulary | None:
        """Return the current vocabulary if it is already loaded, otherwise None."""
        return self._cached_at(self._database.cached("word stamp", _read_stamp))

    def _cached_at(self, stamp: _WriteStamp) -> Vocabulary | None:
        known = self._cached
        return known[1] if known is not None and known[0] == stamp else None


def _read_stamp(connection: sqlite3.Connection) -> _WriteStamp:
    return _WriteStamp(*connection.execute(_STAMP).fetchone())


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
