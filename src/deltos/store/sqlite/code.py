"""Code search in SQLite: tables of chunks and definitions, word indexes by chunk and by file, and all queries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.store.code import (
    ChunkMatch,
    ChunkRecord,
    ChunkTerms,
    ChunkVectors,
    CodeChunkRow,
    DefinitionRecord,
    FileRow,
    FileScope,
    FileVectors,
    FileWords,
)
from deltos.store.migration import Migration
from deltos.store.sqlite.fts_query import any_of, any_single_or_pair
from deltos.store.sqlite.word_codes import WORD_TABLE, WordCoder, codes_of

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from deltos.store.sqlite.database import SqliteDatabase, SqliteErrorTranslator
    from deltos.store.version import Version

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
# This migration stores the index words of each chunk as sets of word codes: words of the symbol, further words of the
# documentation, and further words of the body, with the number of words of each column before duplicates were dropped.
# The project is then indexed again.
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


def _chunk_total(connection: sqlite3.Connection) -> int:
    total: int = connection.execute("SELECT chunks FROM chunk_total").fetchone()[0]
    return total


_COUNT_FILES = "SELECT COUNT(*) FROM file WHERE NOT generated"


def _file_count(connection: sqlite3.Connection) -> int:
    count: int = connection.execute(_COUNT_FILES).fetchone()[0]
    return count


class SqliteCode:
    """Implementation of `store.code.Code` in a project file."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    def snapshot(self) -> AbstractContextManager[object]:
        return self._database.snapshot()

    def version(self) -> Version:
        return self._database.version()

    def chunk_count(self) -> int:
        return self._database.cached("chunk_total", _chunk_total)

    def document_frequencies(self, terms: Sequence[str]) -> dict[str, int]:
        marks = ", ".join("?" * len(terms))
        sql = f"SELECT word, chunks FROM common_word WHERE word IN ({marks})"
        common = dict(self._database.read().execute(sql, tuple(terms)).fetchall())
        others = [term for term in terms if term not in common]
        sql = f"SELECT term, doc FROM chunk_vocabulary WHERE term IN ({', '.join('?' * len(others))})"
        return common | dict(self._database.read().execute(sql, others).fetchall())

    def match_chunks(
        self, single_terms: Sequence[str], paired_terms: Sequence[str], scope: FileScope, *, limit: int
    ) -> list[ChunkMatch]:
        condition, values = _scope_filter(scope)
        selection, given = _match_condition(
            "chunk_words", any_of([*single_terms, *paired_terms]), any_single_or_pair(single_terms, paired_terms)
        )
        rows = self._database.read().execute(
            f"""SELECT chunk.id, chunk.file_id, -hit.score FROM
                (SELECT rowid, bm25(chunk_words, 2.0, 1.5, 1.0) AS score FROM chunk_words WHERE chunk_words MATCH ?
                 {selection} {"" if condition else "ORDER BY score LIMIT ?"}) AS hit
                JOIN chunk ON chunk.id = hit.rowid
                {f"JOIN file ON file.id = chunk.file_id WHERE {condition}" if condition else ""}
                ORDER BY hit.score LIMIT ?""",
            (*given, *([] if condition else [limit]), *values, limit),
        )
        return [ChunkMatch(*row) for row in rows]

    def match_files(
        self,
        terms: Sequence[str],
        single_terms: Sequence[str],
        paired_terms: Sequence[str],
        scope: FileScope,
        *,
        limit: int,
    ) -> list[tuple[int, float]]:
        is_named = [f"stem : ({any_of(terms)})"] if terms else []
        is_selected = [any_single_or_pair(single_terms, paired_terms)] if single_terms or len(paired_terms) > 1 else []
        if not is_named and not is_selected:
            return []
        condition, values = _scope_filter(scope)
        expression = " OR ".join(
            [*is_named, any_of([*single_terms, *paired_terms])] if single_terms or paired_terms else is_named
        )
        selection, given = _match_condition("file_words", expression, " OR ".join([*is_named, *is_selected]))
        rows = self._database.read().execute(
            f"""SELECT file_words.rowid, -bm25(file_words, 4.0, 1.5, 3.0, 1.5) AS score FROM file_words
                {"JOIN file ON file.id = file_words.rowid" if condition else ""}
                WHERE file_words MATCH ? {selection}
                {"AND " + condition if condition else ""} ORDER BY score DESC LIMIT ?""",
            (*given, *values, limit),
        )
        return list(rows)

    def files(self, ids: Sequence[int]) -> list[FileRow]:
        if not ids:
            return []
        rows = self._database.read().execute(
            f"SELECT id, path, language, lines FROM file WHERE id IN ({', '.join('?' * len(ids))})", tuple(ids)
        )
        return [FileRow(*row) for row in rows]

    def files_at(self, paths: Sequence[str], scope: FileScope) -> list[FileRow]:
        condition, values = _scope_filter(scope)
        rows = self._database.read().execute(
            f"""SELECT id, path, language, lines FROM file
                WHERE NOT generated AND path IN ({", ".join("?" * len(paths))})
                {"AND " + condition if condition else ""}""",
            (*paths, *values),
        )
        return [FileRow(*row) for row in rows]

    def file_words(self, ids: Sequence[int]) -> dict[int, FileWords]:
        rows = self._database.read().execute(
            f"SELECT rowid, stem, folders, names, head FROM file_words WHERE rowid IN ({', '.join('?' * len(ids))})",
            tuple(ids),
        )
        return {row[0]: FileWords(*row[1:]) for row in rows}

    def chunk_terms(self, ids: Sequence[int], terms: Sequence[str]) -> dict[int, ChunkTerms]:
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

    def chunks(self, ids: Sequence[int]) -> dict[int, CodeChunkRow]:
        return {row.id: row for row in self._chunk_rows(f"chunk.id IN ({', '.join('?' * len(ids))})", ids)}

    def chunks_at(self, file_id: int, lines: Sequence[int]) -> list[CodeChunkRow]:
        holds = " OR ".join("? BETWEEN start_line AND end_line" for _ in lines)
        return self._chunk_rows(f"file_id = ? AND ({holds})", (file_id, *lines))

    def chunks_of_file(self, file_id: int) -> list[CodeChunkRow]:
        return self._chunk_rows("file_id = ?", (file_id,))

    def _chunk_rows(self, condition: str, values: Sequence[int]) -> list[CodeChunkRow]:
        rows = self._database.read().execute(
            f"""SELECT chunk.id, file_id, path, start_line, end_line, symbol, kind, signature
                FROM chunk JOIN file ON file.id = file_id WHERE {condition}
                ORDER BY file_id, start_line""",
            tuple(values),
        )
        return [CodeChunkRow(*row) for row in rows]

    def vectors_since(self, model: str, number: int) -> list[FileVectors]:
        rows = self._database.read().execute(
            """SELECT number, file_id, first_chunk, data FROM chunk_vectors
               WHERE number > ? AND model = ? ORDER BY number""",
            (number, model),
        )
        return [FileVectors(*row) for row in rows]

    def vector_count(self, model: str) -> int:
        sql = "SELECT COUNT(*) FROM chunk_vectors WHERE model = ?"
        count: int = self._database.read().execute(sql, (model,)).fetchone()[0]
        return count

    def vector_numbers(self, model: str) -> list[int]:
        rows = self._database.read().execute("SELECT number FROM chunk_vectors WHERE model = ?", (model,))
        return [row[0] for row in rows]

    def definitions_named(
        self, names: Sequence[str], scope: FileScope, *, limit: int
    ) -> list[tuple[int, DefinitionRecord]]:
        condition, values = _scope_filter(scope)
        rows = self._database.read().execute(
            f"""SELECT file_id, name, kind, definition.line, definition.end_line, container FROM definition
                {"JOIN file ON file.id = file_id" if condition else ""}
                WHERE name IN ({", ".join("?" * len(names))}) {"AND " + condition if condition else ""} LIMIT ?""",
            (*names, *values, limit),
        )
        return [(row[0], DefinitionRecord(*row[1:])) for row in rows]

    def definitions_in(self, ranges: Sequence[tuple[int, int, int]]) -> list[list[DefinitionRecord]]:
        found: list[list[DefinitionRecord]] = [[] for _ in ranges]
        rows = self._database.read().execute(
            f"""WITH wanted (number, file, first, last) AS (VALUES {", ".join(["(?, ?, ?, ?)"] * len(ranges))})
                SELECT number, name, kind, line, end_line, container
                FROM wanted CROSS JOIN definition ON file_id = file AND line BETWEEN first AND last
                ORDER BY number, line, end_line DESC""",
            [value for number, line_range in enumerate(ranges) for value in (number, *line_range)],
        )
        for number, *definition in rows:
            found[number].append(DefinitionRecord(*definition))
        return found

    def paths(self, scope: FileScope) -> list[tuple[int, str]]:
        condition, values = _scope_filter(scope)
        where = f"AND {condition}" if condition else ""
        sql = f"SELECT id, path FROM file WHERE NOT generated {where} ORDER BY path"
        return list(self._database.read().execute(sql, values))

    def file_count(self, scope: FileScope) -> int:
        condition, values = _scope_filter(scope)
        if not condition:
            return self._database.cached("file_count", _file_count)
        sql = f"{_COUNT_FILES} AND {condition}"
        count: int = self._database.read().execute(sql, values).fetchone()[0]
        return count

    def defined_names(self, *, limit: int) -> list[str]:
        rows = self._database.read().execute("SELECT DISTINCT name FROM definition LIMIT ?", (limit,))
        return [row[0] for row in rows]


class SqliteCodeWriter:
    """Implementation of `store.code.CodeWriter` in a transaction of a project file."""

    def __init__(self, connection: sqlite3.Connection, errors: SqliteErrorTranslator) -> None:
        self._connection = connection
        self._errors = errors
        self._coder = WordCoder(connection)

    def add(
        self,
        file_id: int,
        words: FileWords,
        chunks: Sequence[ChunkRecord],
        definitions: Sequence[DefinitionRecord],
        vectors: ChunkVectors | None = None,
    ) -> None:
        with self._errors:
            texts = [(c.symbol_words, c.doc_words, c.body_words) for c in chunks]
            self._coder.add(word for columns in texts for text in columns for word in text.split())
            first = self._connection.execute("SELECT COALESCE(MAX(id), 0) + 1 FROM chunk").fetchone()[0]
            self._connection.executemany(
                "INSERT INTO chunk VALUES (?, ?, ?, ?, ?, ?, ?)",
                [
                    (n, file_id, c.start_line, c.end_line, c.symbol, c.kind, c.signature)
                    for n, c in enumerate(chunks, first)
                ],
            )
            self._connection.executemany(
                "INSERT INTO chunk_terms VALUES (?, ?, ?, ?, ?, ?, ?)",
                [(n, *self._terms_of(*columns)) for n, columns in enumerate(texts, first)],
            )
            self._connection.executemany(
                "INSERT INTO chunk_words (rowid, symbol, doc, body) VALUES (?, ?, ?, ?)",
                [(n, *words) for n, words in enumerate(texts, first)],
            )
            self._connection.executemany(
                "INSERT INTO definition VALUES (?, ?, ?, ?, ?, ?)",
                [(file_id, d.name, d.kind, d.line, d.end_line, d.container) for d in definitions],
            )
            self._connection.execute(
                "INSERT INTO file_words (rowid, stem, folders, names, head) VALUES (?, ?, ?, ?, ?)",
                (file_id, words.stem, words.folders, words.names, words.head),
            )
            self._connection.execute("UPDATE chunk_total SET chunks = chunks + ?", (len(chunks),))
            if vectors and chunks:
                self._connection.execute(
                    "INSERT INTO chunk_vectors (file_id, model, first_chunk, data) VALUES (?, ?, ?, ?)",
                    (file_id, vectors.model, first, vectors.data),
                )

    def remove(self, file_id: int) -> None:
        chunks = "SELECT id FROM chunk WHERE file_id = ?"
        sql = f"SELECT * FROM chunk_terms WHERE chunk_id IN ({chunks})"
        for chunk_id, symbol, doc, body, *counts in self._connection.execute(sql, (file_id,)).fetchall():
            columns = _columns_with_counts(self._coder.words_in(symbol + doc + body), counts)
            self._connection.execute(
                "INSERT INTO chunk_words (chunk_words, rowid, symbol, doc, body) VALUES ('delete', ?, ?, ?, ?)",
                (chunk_id, *columns),
            )
        self._connection.execute(f"DELETE FROM chunk_terms WHERE chunk_id IN ({chunks})", (file_id,))
        gone = self._connection.execute("DELETE FROM chunk WHERE file_id = ?", (file_id,)).rowcount
        self._connection.execute("UPDATE chunk_total SET chunks = chunks - ?", (gone,))
        self._connection.execute("DELETE FROM chunk_vectors WHERE file_id = ?", (file_id,))
        self._connection.execute("DELETE FROM definition WHERE file_id = ?", (file_id,))
        self._connection.execute("DELETE FROM file_words WHERE rowid = ?", (file_id,))

    def _terms_of(self, symbol: str, doc: str, body: str) -> tuple[bytes | int, ...]:
        """Return the joined codes of each column's words that are not in an earlier column, and the word counts."""
        columns = [text.split() for text in (symbol, doc, body)]
        first_column = {word: number for number in (2, 1, 0) for word in columns[number]}
        further = [[word for word, own in first_column.items() if own == number] for number in range(3)]
        return (*map(self._coder.join, further), *map(len, columns))

    def indexed_files(self) -> int:
        count: int = self._connection.execute("SELECT COUNT(*) FROM file WHERE NOT generated").fetchone()[0]
        return count

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


def _match_condition(table: str, scored: str, selecting: str) -> tuple[str, list[str]]:
    """Return an SQL condition that limits a scored query to rows that match `selecting`, and all match expressions."""
    if scored == selecting:
        return "", [scored]
    # `+` prevents a lookup for each row. Postings are read once, and rows are filtered before scores are computed.
    return f"AND +{table}.rowid IN (SELECT rowid FROM {table} WHERE {table} MATCH ?)", [scored, selecting]


def _scope_filter(scope: FileScope) -> tuple[str, list[str]]:
    """Return an SQL condition on `file.path` that selects the files in scope, and the bound values."""
    parts, values = [], []
    if scope.folder:
        parts.append("substr(file.path, 1, ?) = ?")
        values += [str(len(scope.folder) + 1), scope.folder + "/"]
    if scope.suffixes:
        parts.append("(" + " OR ".join("file.path LIKE ? ESCAPE '\\'" for _ in scope.suffixes) + ")")
        values += [
            "%" + suffix.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") for suffix in scope.suffixes
        ]
    return " AND ".join(parts), values
