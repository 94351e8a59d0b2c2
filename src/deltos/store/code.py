"""What code search keeps of a project: chunks, definitions and their words."""

from __future__ import annotations

from dataclasses import dataclass


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
    """The words of a file's path and of the names it defines, one `|`-separated group per name."""

    stem: str
    folders: str
    names: str


@dataclass(frozen=True, slots=True)
class ChunkMatch:
    """A chunk that contains some of the words; a higher score is better."""

    chunk_id: int
    file_id: int
    score: float


@dataclass(frozen=True, slots=True)
class CodeChunkRow:
    """Where a chunk is and what it defines."""

    id: int
    file_id: int
    path: str
    start_line: int
    end_line: int
    symbol: str
    kind: str
    signature: str


@dataclass(frozen=True, slots=True)
class CodeChunkWords:
    """The words of a chunk, column by column."""

    symbol: str
    doc: str
    body: str


@dataclass(frozen=True, slots=True)
class FileRow:
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
