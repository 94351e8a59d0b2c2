"""Store the chunks, definitions and index terms of each parsed file for code search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltos.domains.code.chunk import chunk_lines, lines_of
from deltos.domains.code.chunk_vectors import chunk_vectors
from deltos.domains.code.file_header import header_text
from deltos.domains.code.paths import path_words
from deltos.embed.identity import ENCODER_VERSION
from deltos.languages.sections import HEADED_LANGUAGES, sections
from deltos.store.code import ChunkRecord, ChunkVectors, DefinitionRecord, FileWords
from deltos.text.words import shared_words, unique
from deltos.workspace.extract import parse_file

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deltos.domains.code.model import CodeChunk
    from deltos.isolated.process_pool import ProcessPool
    from deltos.languages.model import Definition
    from deltos.store.project_writer import ProjectWriter
    from deltos.text.words import Words
    from deltos.workspace.admission import Admitted
    from deltos.workspace.indexer import ParsedFile, SyncChanges

# The full-text indexes are optimised after an update that wrote at least a fifth of the project's files.
OPTIMISE_THRESHOLD_DIVISOR = 5


@dataclass(frozen=True, slots=True)
class CodeFacts:
    """Data stored for the code search in one file: index terms, chunks, definitions and vectors."""

    words: FileWords
    chunks: tuple[ChunkRecord, ...]
    definitions: tuple[DefinitionRecord, ...]
    vectors: ChunkVectors | None


class CodeIndexer:
    """Indexer for code search; implements the protocol `workspace.indexer.Indexer`."""

    name = "code"
    reads_generated = False  # users do not search for generated code

    def __init__(self, *, makes_vectors: bool = True) -> None:
        self._makes_vectors = makes_vectors

    @property
    def version(self) -> str:
        """Version of the index format and of the encoder; all files are indexed again when it changes."""
        return f"7/{ENCODER_VERSION if self._makes_vectors else 'words'}"

    def extract(self, file: ParsedFile) -> CodeFacts:
        """Return the chunks of a file with their index terms and vectors, and the definitions in the file."""
        words = shared_words()
        lines = lines_of(file.data)
        definitions = definitions_of(file)
        chunks = chunk_lines(lines, definitions)
        stem, folders = path_words(file.path, words)
        head = words.of(header_text(lines, definitions))
        file_words = FileWords(stem, folders, _name_words(definitions, words), head)
        records = tuple(_chunk_record(chunk, lines, words) for chunk in chunks)
        return CodeFacts(
            file_words,
            records,
            tuple(DefinitionRecord(d.name, d.kind, d.line, d.end_line, d.container) for d in definitions),
            chunk_vectors(file_words, records) if self._makes_vectors else None,
        )

    def write(self, store: ProjectWriter, file_id: int, path: str, facts: CodeFacts) -> int:  # noqa: ARG002
        """Store the chunks, definitions and index terms of a file; return the number of chunks."""
        store.code.add(file_id, facts.words, facts.chunks, facts.definitions, facts.vectors)
        return len(facts.chunks)

    def remove(self, store: ProjectWriter, file_id: int) -> None:
        """Remove the file from the index."""
        store.code.remove(file_id)

    def finish(self, store: ProjectWriter, changes: SyncChanges, workers: ProcessPool | None) -> None:  # noqa: ARG002
        """Optimise the full-text indexes if the update wrote a large part of the project's files."""
        if len(changes.written) * OPTIMISE_THRESHOLD_DIVISOR >= store.code.indexed_files():
            store.code.tidy()


def chunks_of(path: str, admitted: Admitted) -> list[CodeChunk]:
    """Parse the current content of a file and return its chunks."""
    return chunk_lines(lines_of(admitted.data), definitions_of(parse_file(path, admitted)))


def definitions_of(file: ParsedFile) -> Sequence[Definition]:
    """Return the definitions of a parsed file, or the headings of a prose file without a grammar."""
    if file.language is None:
        return ()
    if file.tree is None:
        return sections(file.language.name, lines_of(file.data)) if file.language.name in HEADED_LANGUAGES else ()
    from deltos.languages.outline import outline  # imported here, because it loads the parser library

    return outline(file.language, file.tree, file.data)


def _name_words(definitions: Sequence[Definition], words: Words) -> str:
    """Return the index terms of all defined names, with ` | ` between the names."""
    return " | ".join(unique(words.of(definition.name) for definition in definitions))


def _chunk_record(chunk: CodeChunk, lines: Sequence[str], words: Words) -> ChunkRecord:
    """Convert a chunk to the record that is stored in the index."""
    body = "\n".join(lines[chunk.start_line - 1 : chunk.end_line])
    return ChunkRecord(
        chunk.start_line,
        chunk.end_line,
        chunk.symbol,
        chunk.kind,
        chunk.signature,
        words.of(" ".join((chunk.symbol, *chunk.names))),
        words.of(f"{chunk.signature}\n{chunk.doc}"),
        words.of(body),
    )
