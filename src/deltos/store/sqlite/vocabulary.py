"""The words of one project in memory, where it is small: which there are, and in how many chunks each stands.

A question about many projects has words that most of them lack; who knows that need not ask their word indexes.
"""

from __future__ import annotations

import sys
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Mapping

    from deltos.store.sqlite.database import Database

# Reading a word takes 3 microseconds: larger projects are asked for the words of each question.
MOST_CHUNKS = 2_000
# FTS5 keeps totals and the list of its segments in these rows; no write to an index leaves both as they were.
_STAMP = """SELECT (SELECT chunks FROM chunk_total), (SELECT total(chunks) FROM common_word),
            (SELECT group_concat(hex(block)) FROM chunk_words_data WHERE id IN (1, 10)),
            (SELECT group_concat(hex(block)) FROM file_words_data WHERE id IN (1, 10))"""
_OF_FILES = "CREATE VIRTUAL TABLE IF NOT EXISTS temp.file_vocabulary USING fts5vocab (main, file_words, col)"


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """In how many chunks each word stands, common ones as last counted; the words of files' names; and all that files
    are found by."""

    chunks: Mapping[str, int]
    stems: frozenset[str]
    files: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Stamp:
    """What tells two states of the word indexes apart, in any thread."""

    chunk_count: int
    common: float
    chunk_words: str
    file_words: str


class KnownVocabulary:
    """The vocabulary of an open project, read when it is asked for the second time in one state."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._guard = threading.Lock()
        self._asked: _Stamp | None = None
        self._known: tuple[_Stamp, Vocabulary] | None = None

    def of_question(self) -> Vocabulary | None:
        """The vocabulary as it is now, for a question; None for the first one, which would wait for it."""
        stamp = self._database.remembered("word stamp", _stamp)
        if stamp.chunk_count > MOST_CHUNKS:
            return None
        if known := self._still(stamp):
            return known
        with self._guard:
            if self._asked != stamp:
                self._asked = stamp
                return None
            with self._database.snapshot() as connection:
                vocabulary = _read(connection)
            self._known = stamp, vocabulary
            return vocabulary

    def if_known(self) -> Vocabulary | None:
        """The same, where it was read before."""
        return self._still(self._database.remembered("word stamp", _stamp))

    def _still(self, stamp: _Stamp) -> Vocabulary | None:
        known = self._known
        return known[1] if known is not None and known[0] == stamp else None


def _stamp(connection: sqlite3.Connection) -> _Stamp:
    return _Stamp(*connection.execute(_STAMP).fetchone())


def _read(connection: sqlite3.Connection) -> Vocabulary:
    connection.execute(_OF_FILES)
    found = connection.execute("SELECT term, doc FROM chunk_vocabulary UNION ALL SELECT word, chunks FROM common_word")
    chunks = {sys.intern(term): count for term, count in found}  # the counts of common words come last, and hold
    stems: set[str] = set()
    files: set[str] = set()
    for term, column in connection.execute("SELECT term, col FROM temp.file_vocabulary"):
        files.add(sys.intern(term))
        if column == "stem":
            stems.add(term)
    return Vocabulary(chunks, frozenset(stems), frozenset(files))
