"""Writes of chunks and definitions within one transaction. Rows are buffered and written together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.store.valid_text import check_text
from deltos.store.word_index import CHUNK_WORDS, FILE_WORDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deltos.store.code import ChunkRecord, ChunkVectors, DefinitionRecord, FileWords
    from deltos.store.project_rows import ProjectRows

# Maximum number of buffered chunks, which is about one block of PostgreSQL's inverted index.
_MAX_BUFFERED_CHUNKS = 4_096
_CHUNK_COLUMNS = ("id", "file_id", "start_line", "end_line", "symbol", "kind", "signature")
_DEFINITION_COLUMNS = ("file_id", "name", "kind", "line", "end_line", "container")


class CodeWriter:
    """Writer of chunks and definitions within one transaction."""

    def __init__(self, rows: ProjectRows) -> None:
        self._rows = rows
        self._chunk_words = rows.words(CHUNK_WORDS).writer()
        self._file_words = rows.words(FILE_WORDS).writer()
        self._terms = rows.chunk_terms().writer()
        self._clear_buffer()

    def _clear_buffer(self) -> None:
        self._added: set[int] = set()
        self._removed: list[int] = []
        self._chunks: list[tuple[int, int, ChunkRecord]] = []
        self._definitions: list[tuple[int, DefinitionRecord]] = []
        self._vectors: list[tuple[int, str, int, bytes]] = []

    def add(
        self,
        file_id: int,
        words: FileWords,
        chunks: Sequence[ChunkRecord],
        definitions: Sequence[DefinitionRecord],
        vectors: ChunkVectors | None = None,
    ) -> None:
        """Write the index words, chunks, definitions and vectors of one file."""
        with self._rows.translating_errors():
            check_text(words.stem, words.folders, words.names, words.head)
            for c in chunks:
                check_text(c.symbol, c.kind, c.signature, c.symbol_words, c.doc_words, c.body_words)
            for d in definitions:
                check_text(d.name, d.kind, d.container)
            if len(self._chunks) >= _MAX_BUFFERED_CHUNKS:
                self._rows.flush()
            first = self._rows.allocate_ids("chunk", len(chunks))
            self._added.add(file_id)
            self._chunks += [(n, file_id, c) for n, c in enumerate(chunks, first)]
            self._definitions += [(file_id, d) for d in definitions]
            if vectors and chunks:
                self._vectors.append((file_id, vectors.model, first, vectors.data))
            self._file_words.add(file_id, (words.stem, words.folders, words.names, words.head))

    def remove(self, file_id: int) -> None:
        """Delete the index words, chunks, definitions and vectors of one file."""
        if file_id in self._added:
            self._rows.flush()
        self._removed.append(file_id)

    def indexed_files(self) -> int:
        """Return the number of searchable files."""
        return int(self._rows.query("SELECT COUNT(*) FROM file WHERE NOT generated")[0][0])

    def tidy(self) -> None:
        """Optimise the word indexes after many writes, and update the document frequencies of common words."""
        self._rows.flush()
        self._terms.tidy()

    def discard(self) -> None:
        """Discard the buffered changes."""
        self._clear_buffer()
        self._chunk_words.discard()
        self._file_words.discard()

    def flush(self) -> None:
        """Write the buffered changes."""
        if self._removed:
            self._delete_removed()
        if self._added:
            self._insert_added()
        self._chunk_words.flush()
        self._file_words.flush()
        self._clear_buffer()

    def _delete_removed(self) -> None:
        ids = [row[0] for row in self._rows.query("SELECT id FROM chunk WHERE file_id IN ?", self._removed)]
        for chunk_id, texts in self._terms.remove(ids):
            self._chunk_words.remove(chunk_id, texts)
        for file_id in self._removed:
            self._file_words.remove(file_id, ())
        for table in ("chunk", "chunk_vectors", "definition"):
            self._rows.execute(f"DELETE FROM {table} WHERE file_id IN ?", self._removed)

    def _insert_added(self) -> None:
        rows = [(n, file_id, c.start_line, c.end_line, c.symbol, c.kind, c.signature) for n, file_id, c in self._chunks]
        self._rows.insert("chunk", _CHUNK_COLUMNS, rows)
        self._terms.add([(n, c) for n, _, c in self._chunks])
        for n, _, c in self._chunks:
            self._chunk_words.add(n, (c.symbol_words, c.doc_words, c.body_words))
        definitions = [(file_id, d.name, d.kind, d.line, d.end_line, d.container) for file_id, d in self._definitions]
        self._rows.insert("definition", _DEFINITION_COLUMNS, definitions)
        self._rows.insert("chunk_vectors", ("file_id", "model", "first_chunk", "data"), self._vectors)
