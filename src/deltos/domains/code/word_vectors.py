"""Vectors of chunks from the static word table, computed during indexing in child processes.

The vector of a chunk includes the words of its path, its file's header and the enclosing definitions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.store.code import ChunkVectors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deltos.store.code import ChunkRecord, CodeChunkWords, FileWords

MAX_EMBEDDED_CHUNKS = 20_000  # per project; takes three minutes of one slow core, once
_HEAD_WORDS_TO_READ = 16


def can_embed_chunks(chunks: int) -> bool:
    """Whether a project with this many chunks is small enough for the encoder."""
    return chunks <= MAX_EMBEDDED_CHUNKS


def too_many_chunks_note(chunks: int) -> str:
    """Return the note that a project is too large for the encoder."""
    limit = f"{MAX_EMBEDDED_CHUNKS:,}"
    return f"{chunks:,} chunks exceed the limit of {limit} for embedding; semantic search compares word vectors instead"


def encoder_input(file: FileWords, chunk: CodeChunkWords) -> str:
    """Return the words of a chunk for the encoder, most important first, because the input is truncated."""
    head = " ".join(file.head.split()[:_HEAD_WORDS_TO_READ])
    return f"{chunk.symbol} {chunk.doc} {file.stem} {file.folders} {head} {chunk.body}"


def chunk_vectors(words: FileWords, chunks: Sequence[ChunkRecord]) -> ChunkVectors:
    """Return the vectors of a file's chunks, in their order."""
    from deltos.embed.static import shared_model  # deferred: numpy takes a while to import
    from deltos.embed.vector_rows import quantised

    model = shared_model()
    around = f"{words.stem} {words.folders} {words.head}"
    texts = [f"{chunk.symbol_words} {chunk.doc_words} {chunk.body_words}" for chunk in chunks]
    return ChunkVectors(model.identity, quantised(model.of_words(texts, after=around)).tobytes())
