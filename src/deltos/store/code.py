"""Protocols and row types of code search: chunks, definitions, index words and embedding vectors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

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
    """Words under which a file is indexed: file name, folders, defined names, and words of the comment at the start.

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
    """Terms that a chunk contains, as bit masks: bit n is set if the chunk contains the term with the index n.

    `doc` includes the terms of the symbol, and `anywhere` all terms. `body_words` is the number of words of the body.
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

    `number` increases with every write.
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


class Code(Protocol):
    """Store of one project's chunks and definitions, and search over them."""

    def snapshot(self) -> AbstractContextManager[object]:
        """Return a context manager within which all reads see the same state."""

    def version(self) -> Version:
        """Return a value that identifies the state of the index that this thread reads."""

    def chunk_count(self) -> int:
        """Return the number of chunks."""

    def document_frequencies(self, terms: Sequence[str]) -> dict[str, int]:
        """Return the number of chunks that contain each term. Absent terms are omitted.

        Counts of common terms are updated only by `tidy`.
        """

    def match_chunks(
        self, single_terms: Sequence[str], paired_terms: Sequence[str], scope: FileScope, *, limit: int
    ) -> list[ChunkMatch]:
        """Return the best-matching chunks that contain any of `single_terms` or any two of `paired_terms`.
        `single_terms` must not be empty."""

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

    def files(self, ids: Sequence[int]) -> list[FileRow]:
        """Return the files with the given ids."""

    def files_at(self, paths: Sequence[str], scope: FileScope) -> list[FileRow]:
        """Return the files with the given paths that are within the scope."""

    def file_words(self, ids: Sequence[int]) -> dict[int, FileWords]:
        """Return the index words of the given files, by file id."""

    def chunk_terms(self, ids: Sequence[int], terms: Sequence[str]) -> dict[int, ChunkTerms]:
        """Return which of the terms the given chunks contain, by chunk id."""

    def chunks(self, ids: Sequence[int]) -> dict[int, CodeChunkRow]:
        """Return the chunks with the given ids."""

    def chunks_at(self, file_id: int, lines: Sequence[int]) -> list[CodeChunkRow]:
        """Return the chunks of a file that contain any of the lines."""

    def chunks_of_file(self, file_id: int) -> list[CodeChunkRow]:
        """Return the chunks of a file in order."""

    def vectors_since(self, model: str, number: int) -> list[FileVectors]:
        """Return the embedding vectors of a model that were written after the write with this number."""

    def vector_count(self, model: str) -> int:
        """Return the number of files that have vectors of an embedding model."""

    def vector_numbers(self, model: str) -> list[int]:
        """Return the numbers of all writes of vectors of an embedding model."""

    def definitions_named(
        self, names: Sequence[str], scope: FileScope, *, limit: int
    ) -> list[tuple[int, DefinitionRecord]]:
        """Return (file id, definition) for each definition with one of the names, ignoring case."""

    def definitions_in(self, ranges: Sequence[tuple[int, int, int]]) -> list[list[DefinitionRecord]]:
        """Return the definitions in each line range (file id, first line, last line), outer definitions first."""

    def paths(self, scope: FileScope) -> list[tuple[int, str]]:
        """Return the id and path of every file in scope."""

    def file_count(self, scope: FileScope) -> int:
        """Return the number of files in scope."""

    def defined_names(self, *, limit: int) -> list[str]:
        """Return up to `limit` names that the project defines."""


class CodeWriter(Protocol):
    """Writer of chunks and definitions within one transaction."""

    def add(
        self,
        file_id: int,
        words: FileWords,
        chunks: Sequence[ChunkRecord],
        definitions: Sequence[DefinitionRecord],
        vectors: ChunkVectors | None = None,
    ) -> None:
        """Write the index words, chunks, definitions and vectors of one file."""

    def remove(self, file_id: int) -> None:
        """Delete the index words, chunks, definitions and vectors of one file."""

    def indexed_files(self) -> int:
        """Return the number of searchable files."""

    def tidy(self) -> None:
        """Optimise the word indexes after many writes, and update the document frequencies of common words."""
