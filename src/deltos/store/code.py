"""What code search keeps of a project: chunks, definitions, their words and what they mean."""

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
    """The words of a file's path, of the names it defines, one `|`-separated group per name, and of its head: what is
    said about the whole file where it begins."""

    stem: str
    folders: str
    names: str
    head: str = ""


class ChunkMatch(NamedTuple):
    """A chunk that contains some of the words; a higher score is better."""

    chunk_id: int
    file_id: int
    score: float


class CodeChunkRow(NamedTuple):
    """Where a chunk is and what it defines."""

    id: int
    file_id: int
    path: str
    start_line: int
    end_line: int
    symbol: str
    kind: str
    signature: str


class CodeChunkWords(NamedTuple):
    """The words of a chunk, column by column."""

    symbol: str
    doc: str
    body: str


@dataclass(frozen=True, slots=True)
class ChunkVectors:
    """What the chunks of one file mean, in their order: int8 vectors end to end, and the model that made them."""

    model: str
    data: bytes


@dataclass(frozen=True, slots=True)
class FileVectors:
    """The vectors of a file's chunks, whose ids count up from `first_chunk`; `number` grows with every write."""

    number: int
    file_id: int
    first_chunk: int
    data: bytes


class FileRow(NamedTuple):
    """A file, without its words."""

    id: int
    path: str
    language: str
    lines: int


@dataclass(frozen=True, slots=True)
class FileScope:
    """Which files count: a folder (relative, empty for all) and file suffixes (empty for all)."""

    folder: str = ""
    suffixes: tuple[str, ...] = ()

    def holds(self, path: str) -> bool:
        """Whether a file counts."""
        return f"{path}/".startswith(f"{self.folder}/" if self.folder else "") and (
            not self.suffixes or path.lower().endswith(self.suffixes)
        )


class KeptReadings(Protocol):
    """What was read of a project's chunks as a whole, kept in one piece: whatever is lost of it is read again."""

    def exists(self) -> bool:
        """Whether something is kept."""

    def load(self) -> bytes | None:
        """What was kept last. Raises OSError or StoreError where it cannot be read."""

    def save(self, data: bytes) -> None:
        """Keep this instead. Raises OSError or StoreError where it cannot be kept."""


class Code(Protocol):
    """The chunks and definitions of one project, and how they are found."""

    def snapshot(self) -> AbstractContextManager[object]:
        """Several reads that see one state, whatever is written meanwhile."""

    def version(self) -> Version:
        """What tells the state that this thread reads from every other."""

    def look_ahead(self, others: Sequence[Code], terms: Sequence[str], names: Sequence[str], *, limit: int) -> None:
        """Itself and others are about to be asked one after the other for these terms, and for up to so many
        definitions of these names: where each would cost round trips, all are asked at once."""

    def chunk_count(self) -> int:
        """How many chunks there are."""

    def document_frequencies(self, terms: Sequence[str]) -> dict[str, int]:
        """In how many chunks each term stands, for common ones as last counted; absent terms are left out."""

    def match_chunks(
        self, alone: Sequence[str], paired: Sequence[str], scope: FileScope, *, limit: int
    ) -> list[ChunkMatch]:
        """The chunks that best match the terms, among those with one of `alone` (never empty) or two of `paired`."""

    def match_files(
        self, terms: Sequence[str], alone: Sequence[str], paired: Sequence[str], scope: FileScope, *, limit: int
    ) -> list[tuple[int, float]]:
        """The files whose path or defined names best match the terms, among those named with one, or as for chunks."""

    def files(self, ids: Sequence[int]) -> list[FileRow]:
        """Files by id."""

    def files_at(self, paths: Sequence[str], scope: FileScope) -> list[FileRow]:
        """Files by path, those in scope."""

    def file_words(self, ids: Sequence[int]) -> dict[int, FileWords]:
        """The words of files."""

    def chunk_words(self, ids: Sequence[int]) -> dict[int, CodeChunkWords]:
        """The words of chunks."""

    def chunks(self, ids: Sequence[int]) -> dict[int, CodeChunkRow]:
        """Chunks by id."""

    def chunks_at(self, file_id: int, lines: Sequence[int]) -> list[CodeChunkRow]:
        """The chunks of a file that hold one of the lines."""

    def chunks_of_file(self, file_id: int) -> list[CodeChunkRow]:
        """A file's chunks in order."""

    def first_chunk(self, file_id: int) -> list[CodeChunkRow]:
        """The chunk that a file begins with."""

    def vectors_since(self, model: str, number: int) -> list[FileVectors]:
        """The vectors of a model that were written after those with that number."""

    def vector_count(self, model: str) -> int:
        """How many files have vectors of a model."""

    def vector_numbers(self, model: str) -> list[int]:
        """The numbers of all vectors of a model."""

    def readings(self) -> KeptReadings:
        """What was read of chunks as a whole: goes with the project, and outlives this object."""

    def definitions_named(
        self, names: Sequence[str], scope: FileScope, *, limit: int
    ) -> list[tuple[int, DefinitionRecord]]:
        """Definitions with one of the names, in any case, with the file each stands in."""

    def definitions_in(self, places: Sequence[tuple[int, int, int]]) -> list[list[DefinitionRecord]]:
        """What is defined in each place (file, first and last line), in order; inner definitions after outer ones."""

    def paths(self, scope: FileScope) -> list[tuple[int, str]]:
        """All files in scope, by id and path."""

    def file_count(self, scope: FileScope) -> int:
        """How many files are in scope."""

    def defined_names(self, *, limit: int) -> list[str]:
        """Names that the project defines."""


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
        """Write all that is known about one file."""

    def remove(self, file_id: int) -> None:
        """Delete all that is known about one file."""

    def indexed_files(self) -> int:
        """How many files have words."""

    def tidy(self) -> None:
        """After much was written: join the pieces of the word indexes, and count the common words anew."""
