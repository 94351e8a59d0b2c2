"""Short binary codes of index words; a chunk stores the set of its words as joined codes.

The first byte of a code is at least 0x80 and determines the length of the code; the other bytes are below 0x80. A code
can therefore not match parts of two adjacent codes, and `code in joined` tests whether a chunk contains a word.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Sequence

# Words are numbered in order of their first use, so common words have low numbers and short codes. Words that no longer
# occur keep their numbers. There is no index by number, because it would be as large as the table: only the removal of
# chunks looks up words by number, and it reads the whole table once.
WORD_TABLE = "CREATE TABLE word (word TEXT PRIMARY KEY, number INTEGER NOT NULL) WITHOUT ROWID;"
_CODE = re.compile(rb"[\x80-\xff][\x00-\x7f]++")
_TWO_BYTE_CODES, _THREE_BYTE_CODES = 1 << 13, 1 << 19  # numbers below these limits have codes of two and three bytes
_MAX_LOOKED_UP = 500  # number of words in one SQL statement


def code_of(number: int) -> bytes:
    """Return the code of the word with a number."""
    low, middle, high = number & 0x7F, number >> 7 & 0x7F, number >> 14
    if number < _TWO_BYTE_CODES:
        return bytes((0x80 | number >> 7, low))
    if number < _THREE_BYTE_CODES:
        return bytes((0xC0 | high, middle, low))
    return bytes((0xE0 | number >> 21, high & 0x7F, middle, low))


def codes_of(connection: sqlite3.Connection, words: Sequence[str]) -> dict[str, bytes]:
    """Return the codes of the words that have a number."""
    codes: dict[str, bytes] = {}
    for start in range(0, len(words), _MAX_LOOKED_UP):
        part = words[start : start + _MAX_LOOKED_UP]
        sql = f"SELECT word, number FROM word WHERE word IN ({', '.join('?' * len(part))})"
        codes |= {word: code_of(number) for word, number in connection.execute(sql, tuple(part))}
    return codes


class WordCoder:
    """Codes of words within one transaction. A word without a number receives the next free number."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._codes: dict[str, bytes] = {}
        self._words_by_code: dict[bytes, str] = {}
        self._count = -1  # number of words in the table, or -1 if it is not known yet

    def join(self, words: Sequence[str]) -> bytes:
        """Return the joined codes of the words, which must have been added."""
        return b"".join(map(self._codes.__getitem__, words))

    def add(self, words: Iterable[str]) -> None:
        """Read the codes of the words, and give numbers to new words."""
        unknown = [word for word in dict.fromkeys(words) if word not in self._codes]
        self._codes |= codes_of(self._connection, unknown)
        new = [word for word in unknown if word not in self._codes]
        if self._count < 0:
            self._count = self._connection.execute("SELECT COUNT(*) FROM word").fetchone()[0]
        numbered = list(zip(new, range(self._count, self._count + len(new)), strict=True))
        self._count += len(new)
        self._connection.executemany("INSERT INTO word VALUES (?, ?)", numbered)
        self._codes |= {word: code_of(number) for word, number in numbered}
        if self._words_by_code:
            self._words_by_code |= {self._codes[word]: word for word in new}

    def words_in(self, joined: bytes) -> list[str]:
        """Return the words whose codes were joined."""
        if not self._words_by_code:
            rows = self._connection.execute("SELECT word, number FROM word")
            self._words_by_code = {code_of(number): word for word, number in rows}
        return [self._words_by_code[code] for code in _CODE.findall(joined)]
