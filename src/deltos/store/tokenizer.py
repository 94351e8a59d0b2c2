"""Split texts into terms exactly like SQLite's FTS5 tokenizer, so that all engines match the same words."""

from __future__ import annotations

import sqlite3
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_CREATE_TABLE = """
    CREATE VIRTUAL TABLE word USING fts5 (
        field, content = '', columnsize = 0, tokenize = 'porter unicode61 remove_diacritics 2'
    )
"""


class StemmedTerms:
    """Tokenizer of the memory and API word indexes. Terms are case-folded and stemmed, without accents. Thread-safe."""

    def __init__(self) -> None:
        # Texts are split by inserting them into an FTS5 table in memory.
        self._connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        self._connection.execute(_CREATE_TABLE)
        self._connection.execute("CREATE VIRTUAL TABLE instance USING fts5vocab (word, 'instance')")
        self._guard = threading.Lock()

    def split(self, texts: Sequence[str]) -> list[list[str]]:
        """Return the terms of each text, including repetitions."""
        terms_by_text: list[list[str]] = [[] for _ in texts]
        with self._guard:
            self._connection.execute("BEGIN")
            try:
                self._connection.executemany("INSERT INTO word (rowid, field) VALUES (?, ?)", enumerate(texts))
                for text, term in self._connection.execute("SELECT doc, term FROM instance"):
                    terms_by_text[text].append(term)
            finally:
                self._connection.rollback()
        return terms_by_text
