"""Queries and row types of code search: chunks, definitions, index words and embedding vectors."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

from deltos.store.word_index import CHUNK_WORDS, EVERY_ROW, FILE_WORDS, RowCondition

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from deltos.store.project_rows import ProjectRows
    from deltos.store.version import Version


@dataclass(frozen=True, slots=True)
class ChunkRecord:
    """A chunk of code to store, with its index words."""

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
    """A definition in a file. `container` is the enclosing definition."""

    name: str
    kind: str
    line: int
    end_line: int
    container: str


@dataclass(frozen=True, slots=True)
class FileWords:
    """Words under which a file is indexed: file name, folders, defined names, and words of the comment at the start of
    the file.

    In `names`, the words of different names are separated by `|`.
    """

    stem: str
    folders: str
    names: str
    head: str = ""


class ChunkMatch(NamedTuple):
    """A chunk that contains some of the query terms. A higher score is better."""

    chunk_id: int
    file_id: int
    score: float


class CodeChunkRow(NamedTuple):
    """A stored chunk: its line range and the symbol that it defines."""

    id: int
    file_id: int
    path: str
    start_line: int
    end_line: int
    symbol: str
    kind: str
    signature: str


class ChunkTerms(NamedTuple):
    """Query terms that a chunk contains, as bit masks: bit n is set if the chunk contains the term with the index n.

    `doc` also includes the terms of `symbol`, and `anywhere` includes all terms. `body_words` is the number of words of
    the body.
    """

    symbol: int
    doc: int
    anywhere: int
    body_words: int


@dataclass(frozen=True, slots=True)
class ChunkVectors:
    """Concatenated int8 embedding vectors of one file's chunks, in file order, and the name of the embedding model."""

    model: str
    data: bytes


@dataclass(frozen=True, slots=True)
class FileVectors:
    """Embedding vectors of a file's chunks, whose ids are consecutive and start at `first_chunk`.

    `number` is the number of the write that stored the vectors, and increases with every write.
    """

    number: int
    file_id: int
    first_chunk: int
    data: bytes


class FileRow(NamedTuple):
    """An indexed file, without index words."""

    id: int
    path: str
    language: str
    lines: int


@dataclass(frozen=True, slots=True)
class FileScope:
    """Filter for files by relative folder and by suffix. Empty fields select all files."""

    folder: str = ""
    suffixes: tuple[str, ...] = ()

    def includes(self, path: str) -> bool:
        """Whether the filter includes a path."""
        return f"{path}/".startswith(f"{self.folder}/" if self.folder else "") and (
            not self.suffixes or path.lower().endswith(self.suffixes)
        )


class ChunkTermIndex(Protocol):
    """Index that finds the words of a chunk and counts the chunks that contain a word."""

    def frequencies(self, terms: Sequence[str]) -> dict[str, int]:
        """Return the number of chunks that contain each term. Absent terms are omitted.

        Counts of common terms may be outdated until the next call of `tidy`.
        """

    def terms_in(self, ids: Sequence[int], terms: Sequence[str]) -> dict[int, ChunkTerms]:
        """Return the given terms that each chunk contains, by chunk id."""

    def writer(self) -> ChunkTermWriter:
        """Return a writer for this thread's transaction."""


class ChunkTermWriter(Protocol):
    """Writer of the words of chunks within one transaction."""

    def add(self, chunks: Sequence[tuple[int, ChunkRecord]]) -> None:
        """Store the words of chunks by chunk id."""

    def remove(self, chunk_ids: Sequence[int]) -> list[tuple[int, Sequence[str]]]:
        """Delete the words of chunks. Return (chunk id, texts) pairs to remove from the word index."""

    def tidy(self) -> None:
        """Optimise the word indexes after many writes, and update the counts of common terms."""


_SELECT_CHUNK = """SELECT chunk.id, file_id, path, start_line, end_line, symbol, kind, signature
                   FROM chunk JOIN file ON file.id = file_id"""
_SELECT_FILE = "SELECT id, path, language, lines FROM file"


class Code:
    """Queries on one project's chunks and definitions."""

    def __init__(self, rows: ProjectRows) -> None:
        self._rows = rows
        self._chunk_words = rows.words(CHUNK_WORDS)
        self._file_words = rows.words(FILE_WORDS)
        self._terms = rows.chunk_terms()

    def snapshot(self) -> AbstractContextManager[object]:
        """Return a context manager within which all reads see the same state."""
        return self._rows.snapshot()

    def version(self) -> Version:
        """Return a value that identifies the state of the index that this thread reads."""
        return self._rows.version()

    def chunk_count(self) -> int:
        """Return the number of chunks."""
        return self._rows.cached("chunk count", lambda: self._number("SELECT COUNT(*) FROM chunk"))

    def document_frequencies(self, terms: Sequence[str]) -> dict[str, int]:
        """Return the number of chunks that contain each term. Absent terms are omitted.

        Counts of common terms may be outdated until the next call of `CodeWriter.tidy`.
        """
        return self._terms.frequencies(terms)

    def match_chunks(
        self, single_terms: Sequence[str], paired_terms: Sequence[str], scope: FileScope, *, limit: int
    ) -> list[ChunkMatch]:
        """Return the best-matching chunks that contain any of `single_terms` or any two of `paired_terms`.
        `single_terms` must not be empty."""
        in_scope, values = _scope_filter(scope)
        condition = EVERY_ROW
        if in_scope:
            file = "SELECT 1 FROM chunk JOIN file ON file.id = file_id WHERE chunk.id = {id}"
            condition = RowCondition(f"EXISTS ({file} {in_scope})", values)
        with self._rows.snapshot():
            found = self._chunk_words.match(single_terms, paired_terms, condition=condition, limit=limit)
            ids = [chunk_id for chunk_id, _ in found]
            files: dict[int, int] = dict(self._rows.query("SELECT id, file_id FROM chunk WHERE id IN ?", ids))
        return [ChunkMatch(chunk_id, files[chunk_id], score) for chunk_id, score in found]

    def match_files(
        self,
        terms: Sequence[str],
        single_terms: Sequence[str],
        paired_terms: Sequence[str],
        scope: FileScope,
        *,
        limit: int,
    ) -> list[tuple[int, float]]:
        """Return (file id, score) for the files whose paths, defined names or leading comments match best.

        A file matches if the file name contains any of `terms`, or if the indexed words of the file contain any of
        `single_terms` or any two of `paired_terms`.
        """
        in_scope, values = _scope_filter(scope)
        is_file = f"EXISTS (SELECT 1 FROM file WHERE file.id = {{id}} {in_scope})"
        condition = RowCondition(is_file, values) if in_scope else EVERY_ROW
        return self._file_words.match(
            single_terms, paired_terms, first_column_terms=terms, condition=condition, limit=limit
        )

    def files(self, ids: Sequence[int]) -> list[FileRow]:
        """Return the files with the given ids."""
        return [FileRow(*row) for row in self._rows.query(f"{_SELECT_FILE} WHERE id IN ? ORDER BY id", list(ids))]

    def files_at(self, paths: Sequence[str], scope: FileScope) -> list[FileRow]:
        """Return the files with the given paths that are within the scope."""
        condition, values = _scope_filter(scope)
        sql = f"{_SELECT_FILE} WHERE NOT generated AND file.path IN ? {condition} ORDER BY path"
        return [FileRow(*row) for row in self._rows.query(sql, list(paths), *values)]

    def file_words(self, ids: Sequence[int]) -> dict[int, FileWords]:
        """Return the index words of the given files, by file id."""
        sql = "SELECT rowid, stem, folders, names, head FROM file_words WHERE rowid IN ?"
        return {row[0]: FileWords(*row[1:]) for row in self._rows.query(sql, list(ids))}

    def chunk_terms(self, ids: Sequence[int], terms: Sequence[str]) -> dict[int, ChunkTerms]:
        """Return the given terms that each chunk contains, by chunk id."""
        return self._terms.terms_in(ids, terms)

    def chunks(self, ids: Sequence[int]) -> dict[int, CodeChunkRow]:
        """Return the chunks with the given ids."""
        return {row.id: row for row in self._chunks("chunk.id IN ?", list(ids))}

    def chunks_at(self, file_id: int, lines: Sequence[int]) -> list[CodeChunkRow]:
        """Return the chunks of a file that contain any of the lines."""
        is_inside = " OR ".join("? BETWEEN start_line AND end_line" for _ in lines)
        return self._chunks(f"file_id = ? AND ({is_inside})", file_id, *lines) if lines else []

    def chunks_of_file(self, file_id: int) -> list[CodeChunkRow]:
        """Return the chunks of a file in order."""
        return self._chunks("file_id = ?", file_id)

    def _chunks(self, condition: str, *values: object) -> list[CodeChunkRow]:
        sql = f"{_SELECT_CHUNK} WHERE {condition} ORDER BY file_id, start_line, chunk.id"
        return [CodeChunkRow(*row) for row in self._rows.query(sql, *values)]

    def vectors_since(self, model: str, number: int) -> list[FileVectors]:
        """Return the embedding vectors of a model that were written after the write with this number."""
        sql = """SELECT number, file_id, first_chunk, data FROM chunk_vectors
                 WHERE model = ? AND number > ? ORDER BY number"""
        return [FileVectors(*row) for row in self._rows.query(sql, model, number)]

    def vector_count(self, model: str) -> int:
        """Return the number of files that have vectors of an embedding model."""
        return self._number("SELECT COUNT(*) FROM chunk_vectors WHERE model = ?", model)

    def vector_numbers(self, model: str) -> list[int]:
        """Return the number of every write that stored vectors of an embedding model."""
        sql = "SELECT number FROM chunk_vectors WHERE model = ? ORDER BY number"
        return [row[0] for row in self._rows.query(sql, model)]

    def definitions_named(
        self, names: Sequence[str], scope: FileScope, *, limit: int
    ) -> list[tuple[int, DefinitionRecord]]:
        """Return (file id, definition) for each definition with one of the names, ignoring case."""
        condition, values = _scope_filter(scope)
        sql = f"""SELECT file_id, name, kind, definition.line, definition.end_line, container FROM definition
                  {"JOIN file ON file.id = file_id" if condition else ""}
                  WHERE definition.name COLLATE NOCASE IN ? {condition} LIMIT ?"""
        return [(row[0], DefinitionRecord(*row[1:])) for row in self._rows.query(sql, list(names), *values, limit)]

    def definitions_in(self, ranges: Sequence[tuple[int, int, int]]) -> list[list[DefinitionRecord]]:
        """Return the definitions in each line range (file id, first line, last line), outer definitions first."""
        sql = """SELECT file_id, line, name, kind, end_line, container FROM definition
                 WHERE file_id IN ? ORDER BY file_id, line, end_line DESC"""
        of_file: dict[int, list[tuple[int, str, str, int, str]]] = {}
        for file_id, *definition in self._rows.query(sql, list(dict.fromkeys(each[0] for each in ranges))):
            of_file.setdefault(file_id, []).append((*definition,))
        return [
            [
                DefinitionRecord(name, kind, line, end_line, container)
                for line, name, kind, end_line, container in of_file.get(file_id, ())
                if first <= line <= last
            ]
            for file_id, first, last in ranges
        ]

    def paths(self, scope: FileScope) -> list[tuple[int, str]]:
        """Return the id and path of every file in scope."""
        condition, values = _scope_filter(scope)
        sql = f"SELECT id, path FROM file WHERE NOT generated {condition} ORDER BY path"
        return [(row[0], row[1]) for row in self._rows.query(sql, *values)]

    def file_count(self, scope: FileScope) -> int:
        """Return the number of files in scope."""
        condition, values = _scope_filter(scope)
        sql = f"SELECT COUNT(*) FROM file WHERE NOT generated {condition}"
        return self._number(sql, *values) if condition else self._rows.cached("file count", lambda: self._number(sql))

    def defined_names(self, *, limit: int) -> list[str]:
        """Return up to `limit` names that the project defines."""
        return [row[0] for row in self._rows.query("SELECT DISTINCT name FROM definition LIMIT ?", limit)]

    def _number(self, sql: str, *values: object) -> int:
        return int(self._rows.query(sql, *values)[0][0])


def _scope_filter(scope: FileScope) -> tuple[str, tuple[object, ...]]:
    """Return an SQL condition on `file.path`, to be appended to other conditions, and the bound values."""
    condition, values = "", list[object]()
    if scope.folder:
        condition += "AND substr(file.path, 1, ?) = ?"
        values += [len(scope.folder) + 1, scope.folder + "/"]
    if scope.suffixes:
        is_suffix = " OR ".join("lower(file.path) LIKE ? ESCAPE '!'" for _ in scope.suffixes)
        condition += f" AND ({is_suffix})"
        values += ["%" + re.sub("([!%_])", r"!\1", suffix.lower()) for suffix in scope.suffixes]
    return condition, tuple(values)
