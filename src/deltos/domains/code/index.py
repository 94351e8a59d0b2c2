"""The code domain's part in indexing: a parsed file → chunks and definitions with their words → the store."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltos.domains.code.chunk import chunk_lines, lines_of
from deltos.domains.code.embedding import vectors_of
from deltos.domains.code.head import head_of
from deltos.domains.code.paths import path_words
from deltos.embed.identity import model_identity
from deltos.languages.sections import HEADED_LANGUAGES, sections
from deltos.store.code import ChunkRecord, ChunkVectors, DefinitionRecord, FileWords
from deltos.text.words import shared_words, unique
from deltos.workspace.extract import parse_file

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deltos.domains.code.model import CodeChunk
    from deltos.isolated.process import Workers
    from deltos.languages.model import Definition
    from deltos.store.project import ProjectWriter
    from deltos.text.words import Words
    from deltos.workspace.admission import Admitted
    from deltos.workspace.indexer import ParsedFile, SyncChanges

# The word indexes are optimised (one b-tree each) when at least a fifth of the files was written.
TIDY_SHARE = 5


@dataclass(frozen=True, slots=True)
class CodeFacts:
    """What the code domain knows about one file."""

    words: FileWords
    chunks: tuple[ChunkRecord, ...]
    definitions: tuple[DefinitionRecord, ...]
    vectors: ChunkVectors | None


class CodeIndexer:
    """Implements `workspace.indexer.Indexer` for code search."""

    name = "code"
    reads_generated = False  # what nobody wrote is not what somebody looks for

    def __init__(self, *, makes_vectors: bool = True) -> None:
        self._makes_vectors = makes_vectors

    @property
    def version(self) -> str:
        """A new model makes every vector anew, and so is a new version; as is an index without vectors."""
        return f"5/{model_identity() if self._makes_vectors else 'words'}"

    def extract(self, file: ParsedFile) -> CodeFacts:
        """Cut the file along its definitions and turn the pieces into words."""
        words = shared_words()
        lines = lines_of(file.data)
        definitions = definitions_of(file)
        chunks = chunk_lines(lines, definitions)
        stem, folders = path_words(file.path, words)
        head = words.of(head_of(lines, definitions))
        file_words = FileWords(stem, folders, _name_words(definitions, words), head)
        records = tuple(_record(chunk, lines, words) for chunk in chunks)
        return CodeFacts(
            file_words,
            records,
            tuple(DefinitionRecord(d.name, d.kind, d.line, d.end_line, d.container) for d in definitions),
            vectors_of(file_words, records) if self._makes_vectors else None,
        )

    def write(self, store: ProjectWriter, file_id: int, path: str, facts: CodeFacts) -> int:  # noqa: ARG002
        """Store the file's chunks, definitions and words; how many chunks."""
        store.code.add(file_id, facts.words, facts.chunks, facts.definitions, facts.vectors)
        return len(facts.chunks)

    def remove(self, store: ProjectWriter, file_id: int) -> None:
        """Forget the file."""
        store.code.remove(file_id)

    def finish(self, store: ProjectWriter, changes: SyncChanges, workers: Workers | None) -> None:  # noqa: ARG002
        """Tidy up when a good part of the project was written; nothing else spans files here."""
        if len(changes.written) * TIDY_SHARE >= store.code.indexed_files():
            store.code.tidy()


def chunks_of(path: str, admitted: Admitted) -> list[CodeChunk]:
    """The chunks that a file's content has now."""
    return chunk_lines(lines_of(admitted.data), definitions_of(parse_file(path, admitted)))


def definitions_of(file: ParsedFile) -> Sequence[Definition]:
    """What a parsed file defines, in order: of a text without a grammar its headings, else nothing where none fits."""
    if file.language is None:
        return ()
    if file.tree is None:
        return sections(file.language.name, lines_of(file.data)) if file.language.name in HEADED_LANGUAGES else ()
    from deltos.languages.outline import outline  # deferred: needs the parser library

    return outline(file.language, file.tree, file.data)


def _name_words(definitions: Sequence[Definition], words: Words) -> str:
    """The words of every defined name, one group per name."""
    return " | ".join(unique(words.of(definition.name) for definition in definitions))


def _record(chunk: CodeChunk, lines: Sequence[str], words: Words) -> ChunkRecord:
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
