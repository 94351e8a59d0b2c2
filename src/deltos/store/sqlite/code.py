"""Tables of code search in SQLite, and the words of chunks as sets of word codes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.store.code import ChunkRecord, ChunkTerms
from deltos.store.migration import Migration
from deltos.store.sqlite.word_codes import WORD_TABLE, WordCoder, codes_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deltos.store.sqlite.database import SqliteDatabase

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
    CREATE TABLE common_word (word TEXT PRIMARY KEY, chunks INTEGER NOT NULL) WITHOUT ROWID;
    """,
)
CODE_002 = Migration(
    "code-002-vectors",
    """
    DROP TABLE file_words;
    CREATE VIRTUAL TABLE file_words USING fts5 (stem, folders, names, head, tokenize = 'ascii');
    CREATE TABLE chunk_vectors (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        file_id INTEGER NOT NULL UNIQUE,
        model TEXT NOT NULL,
        first_chunk INTEGER NOT NULL,
        data BLOB NOT NULL
    );
    CREATE INDEX chunk_vectors_by_model ON chunk_vectors (model, number);
    CREATE TABLE chunk_total (chunks INTEGER NOT NULL);
    INSERT INTO chunk_total SELECT COUNT(*) FROM chunk;
    """,
)
# This migration stores the index words of a file's chunks once, as one compressed text. The word index has no copy of
# the words. The project is then indexed again.
CODE_003 = Migration(
    "code-003-compact-words",
    """
    DROP TABLE chunk_vocabulary;
    DROP TABLE chunk_words;
    CREATE VIRTUAL TABLE chunk_words USING fts5 (symbol, doc, body, tokenize = 'ascii', content = '');
    CREATE VIRTUAL TABLE chunk_vocabulary USING fts5vocab (chunk_words, row);
    CREATE TABLE chunk_text (file_id INTEGER PRIMARY KEY, first_chunk INTEGER NOT NULL, words BLOB NOT NULL);
    DELETE FROM chunk;
    DELETE FROM chunk_vectors;
    UPDATE chunk_total SET chunks = 0;
    DELETE FROM meta WHERE key = 'complete';
    """,
)
# This migration stores the index words of each chunk as sets of word codes, in one column each for symbol,
# documentation and body. A word is stored only in the first column that contains it. The word counts of the columns
# include such duplicates. The project is then indexed again.
CODE_004 = Migration(
    "code-004-word-codes",
    f"""
    DROP TABLE chunk_text;
    {WORD_TABLE}
    CREATE TABLE chunk_terms (
        chunk_id INTEGER PRIMARY KEY,
        symbol BLOB NOT NULL,
        doc BLOB NOT NULL,
        body BLOB NOT NULL,
        symbol_words INTEGER NOT NULL,
        doc_words INTEGER NOT NULL,
        body_words INTEGER NOT NULL
    );
    INSERT INTO chunk_words (chunk_words) VALUES ('delete-all');
    DELETE FROM chunk;
    DELETE FROM chunk_vectors;
    UPDATE chunk_total SET chunks = 0;
    DELETE FROM meta WHERE key = 'complete';
    """,
)

# A word is common if it occurs in more than one of 100 chunks.
COMMON_WORD_SHARE = 100


class SqliteChunkTerms:
    """Implementation of `store.code.ChunkTermIndex`."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    def frequencies(self, terms: Sequence[str]) -> dict[str, int]:
        marks = ", ".join("?" * len(terms))
        sql = f"SELECT word, chunks FROM common_word WHERE word IN ({marks})"
        common = dict(self._database.read().execute(sql, tuple(terms)).fetchall())
        others = [term for term in terms if term not in common]
        sql = f"SELECT term, doc FROM chunk_vocabulary WHERE term IN ({', '.join('?' * len(others))})"
        return common | dict(self._database.read().execute(sql, others).fetchall())

    def terms_in(self, ids: Sequence[int], terms: Sequence[str]) -> dict[int, ChunkTerms]:
        connection = self._database.read()
        codes = codes_of(connection, terms)
        bits = [(codes[term], 1 << number) for number, term in enumerate(terms) if term in codes]
        rows = connection.execute(
            f"""SELECT chunk_id, symbol, doc, body, body_words FROM chunk_terms
                WHERE chunk_id IN ({", ".join("?" * len(ids))})""",
            tuple(ids),
        )
        found = {}
        for chunk_id, symbol, doc, body, body_words in rows:
            in_symbol = sum(bit for code, bit in bits if code in symbol)
            in_doc = sum(bit for code, bit in bits if code in doc)
            anywhere = in_symbol | in_doc | sum(bit for code, bit in bits if code in body)
            found[chunk_id] = ChunkTerms(in_symbol, in_symbol | in_doc, anywhere, body_words)
        return found

    def writer(self) -> SqliteChunkTermWriter:
        return SqliteChunkTermWriter(self._database)


class SqliteChunkTermWriter:
    """Implementation of `store.code.ChunkTermWriter`."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._connection = database.read()
        self._coder = WordCoder(self._connection)

    def add(self, chunks: Sequence[tuple[int, ChunkRecord]]) -> None:
        texts = [(chunk_id, c.symbol_words, c.doc_words, c.body_words) for chunk_id, c in chunks]
        self._coder.add(word for _, *columns in texts for text in columns for word in text.split())
        self._connection.executemany(
            "INSERT INTO chunk_terms VALUES (?, ?, ?, ?, ?, ?, ?)",
            [(chunk_id, *self._terms_of(*columns)) for chunk_id, *columns in texts],
        )

    def _terms_of(self, symbol: str, doc: str, body: str) -> tuple[bytes | int, ...]:
        """Return the joined codes of each column's words, and the word counts. Words of earlier columns are skipped."""
        columns = [text.split() for text in (symbol, doc, body)]
        first_column = {word: number for number in (2, 1, 0) for word in columns[number]}
        further = [[word for word, own in first_column.items() if own == number] for number in range(3)]
        return (*map(self._coder.join, further), *map(len, columns))

    def remove(self, chunk_ids: Sequence[int]) -> list[tuple[int, Sequence[str]]]:
        removed: list[tuple[int, Sequence[str]]] = []
        for chunk_id in chunk_ids:
            row = self._connection.execute("SELECT * FROM chunk_terms WHERE chunk_id = ?", (chunk_id,)).fetchone()
            if row:
                _, symbol, doc, body, *counts = row
                words = self._coder.words_in(symbol + doc + body)
                removed.append((chunk_id, _columns_with_counts(words, counts)))
        rows = [(chunk_id,) for chunk_id in chunk_ids]
        self._connection.executemany("DELETE FROM chunk_terms WHERE chunk_id = ?", rows)
        return removed

    def tidy(self) -> None:
        for table in ("chunk_words", "file_words"):
            self._connection.execute(f"INSERT INTO {table} ({table}) VALUES ('optimize')")
        self._connection.execute("DELETE FROM common_word")
        self._connection.execute(
            """INSERT INTO common_word SELECT term, doc FROM chunk_vocabulary
               WHERE doc * ? > (SELECT COUNT(*) FROM chunk)""",
            (COMMON_WORD_SHARE,),
        )


def _columns_with_counts(words: Sequence[str], counts: Sequence[int]) -> list[str]:
    """Return columns with the given numbers of words that together contain all the words.

    To delete a row, the contentless index needs all its words in any columns, and the number of words in each column.
    """
    padded = [*words, *([words[0]] * (sum(counts) - len(words)) if words else ())]
    starts = [0, counts[0], counts[0] + counts[1]]
    return [" ".join(padded[start : start + count]) for start, count in zip(starts, counts, strict=True)]
