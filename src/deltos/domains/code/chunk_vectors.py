"""Compute the vectors of code chunks; called in the child processes that index files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.store.code import ChunkVectors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deltos.store.code import ChunkRecord, FileWords

_MAX_FILE_HEADER_WORDS = 16


def encoder_input(file: FileWords, chunk: ChunkRecord) -> str:
    """Return the encoder input for a chunk, with the most important words first, because long input is truncated."""
    head = " ".join(file.head.split()[:_MAX_FILE_HEADER_WORDS])
    return f"{chunk.symbol_words} {chunk.doc_words} {file.stem} {file.folders} {head} {chunk.body_words}"


def chunk_vectors(words: FileWords, chunks: Sequence[ChunkRecord]) -> ChunkVectors:
    """Return the vectors of a file's chunks, in the order of the chunks."""
    from deltos.embed.embedders import code_embedder  # imported here, because numpy is slow to import
    from deltos.embed.protocol import TextToEmbed
    from deltos.embed.vector_rows import quantised

    model = code_embedder()
    vectors = model.texts([TextToEmbed("", encoder_input(words, each)) for each in chunks])
    return ChunkVectors(model.identity, quantised(vectors).tobytes())
