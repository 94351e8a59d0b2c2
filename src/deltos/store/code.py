"""Protocols and rows of code search: chunks, definitions, their words and vectors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from deltos.store.version import Version


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
    """Index words of a file: of its path, of the names it defines (one `|`-separated group per name), and of its head
    comment."""

    stem: str
    folders: str
    names: str
    head: str = ""


class ChunkMatch(NamedTuple):
    """A chunk that contains some of the terms; a higher score is better."""

    chunk_id: int
    file_id: int
    score: float


class CodeChunkRow(NamedTuple):
    """Position of a chunk and the symbol that it defines."""

    id: int
    file_id: int
    path: str
    start_line: int
    end_line: int
    symbol: str
    kind: str
    signature: str


class CodeChunkWords(NamedTuple):
    """The words of a chunk, by column."""

    symbol: str
    doc: str
    body: str


@dataclass(frozen=True, slots=True)
class ChunkVectors:
    """Concatenated int8 vectors of the chunks of one file, in their order, and the model that made them."""

    model: str
    data: bytes


@dataclass(frozen=True, slots=True)
class FileVectors:
    """Vectors of a file's chunks, whose ids count up from `first_chunk`; `number` grows with every write."""

    number: int
    file_id: int
    first_chunk: int
    data: bytes


class FileRow(NamedTuple):
    """A file without its words."""

    id: int
    path: str
    language: str
    lines: int


@dataclass(frozen=True, slots=True)
class FileScope:
    """Filter for files: a folder (relative, empty for all) and file suffixes (empty for all)."""

    folder: str = ""
    suffixes: tuple[str, ...] = ()

    def holds(self, path: str) -> bool:
        """Whether a path passes the filter."""
        return f"{path}/".startswith(f"{self.folder}/" if self.folder else "") and (
            not self.suffixes or path.lower().endswith(self.suffixes)
        )


class Code(Protocol):
    """Chunks and definitions of one project, and search over them."""

    def snapshot(self) -> AbstractContextManager[object]:
        """Return a context in which all reads see the same state."""

    def version(self) -> Version:
        """Return a value that identifies the state that this thread reads."""

    def chunk_count(self) -> int:
        """Return the number of chunks."""

    def document_frequencies(self, terms: Sequence[str]) -> dict[str, int]:
        """Return the number of chunks that contain each term; absent terms are left out.

        Counts of common terms may be those of the last `tidy`.
        """

    def match_chunks(
        self, single_terms: Sequence[str], paired_terms: Sequence[str], scope: FileScope, *, limit: int
    ) -> list[ChunkMatch]:
        """Return the best-matching chunks that contain one of `single_terms` (never empty) or two of `paired_terms`."""

    def match_files(
        self,
        terms: Sequence[str],
        single_terms: Sequence[str],
        paired_terms: Sequence[str],
        scope: FileScope,
        *,
        limit: int,
    ) -> list[tuple[int, float]]:
        """Return the files whose path or defined names best match: in the file name any of `terms`, elsewhere as for
        chunks."""

    def files(self, ids: Sequence[int]) -> list[FileRow]:
        """Return files by id."""

    def files_at(self, paths: Sequence[str], scope: FileScope) -> list[FileRow]:
        """Return files in scope by path."""

    def file_words(self, ids: Sequence[int]) -> dict[int, FileWords]:
        """Return the words of files by id."""

    def chunk_words(self, ids: Sequence[int]) -> dict[int, CodeChunkWords]:
        """Return the words of chunks by id."""

    def chunks(self, ids: Sequence[int]) -> dict[int, CodeChunkRow]:
        """Return chunks by id."""

    def chunks_at(self, file_id: int, lines: Sequence[int]) -> list[CodeChunkRow]:
        """Return the chunks of a file that contain one of the lines."""

    def chunks_of_file(self, file_id: int) -> list[CodeChunkRow]:
        """Return the chunks of a file in order."""

    def first_chunk(self, file_id: int) -> list[CodeChunkRow]:
        """Return the first chunk of a file, if any."""

    def vectors_since(self, model: str, number: int) -> list[FileVectors]:
        """Return the vectors of a model with a higher number."""

    def vector_count(self, model: str) -> int:
        """Return the number of files that have vectors of a model."""

    def vector_numbers(self, model: str) -> list[int]:
        """Return the numbers of all vectors of a model."""

    def definitions_named(
        self, names: Sequence[str], scope: FileScope, *, limit: int
    ) -> list[tuple[int, DefinitionRecord]]:
        """Return (file id, definition) of definitions with one of the names, compared case-insensitively."""

    def definitions_in(self, places: Sequence[tuple[int, int, int]]) -> list[list[DefinitionRecord]]:
        """Return the definitions in each range (file id, first line, last line); inner definitions follow
        outer ones."""

    def paths(self, scope: FileScope) -> list[tuple[int, str]]:
        """Return id and path of all files in scope."""

    def file_count(self, scope: FileScope) -> int:
        """Return the number of files in scope."""

    def defined_names(self, *, limit: int) -> list[str]:
        """Return names that the project defines."""


class CodeWriter(Protocol):
    """Writes chunks and definitions inside one transaction."""

    def add(
        self,
        file_id: int,
        words: FileWords,
        chunks: Sequence[ChunkRecord],
        definitions: Sequence[DefinitionRecord],
        vectors: ChunkVectors | None = None,
    ) -> None:
        """Write the words, chunks, definitions and vectors of one file."""

    def remove(self, file_id: int) -> None:
        """Delete everything about one file."""

    def indexed_files(self) -> int:
        """Return the number of searchable files."""

    def tidy(self) -> None:
        """Optimise the word indexes after many writes, and recount common words."""
