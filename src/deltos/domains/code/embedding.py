"""What a file's chunks mean, as vectors of the model in the wheel. Runs where files are extracted, in child processes.

A chunk is told where it stands: its words come after those of the path, of what the file says about itself, and of the
definitions around it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.store.code import ChunkVectors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deltos.store.code import ChunkRecord, CodeChunkWords, FileWords

MOST_CHUNKS_READ = 20_000  # of a project, as a whole: three minutes of one slow core, once
_HEAD_WORDS_TO_READ = 16


def is_read(chunks: int) -> bool:
    """Whether a project of so many chunks is read as a whole."""
    return chunks <= MOST_CHUNKS_READ


def unread_note(chunks: int) -> str:
    """What to know about a project that is too large to be read."""
    limit = f"{MOST_CHUNKS_READ:,}"
    return f"{chunks:,} chunks are too many to be read as a whole (limit {limit}): by meaning, words are compared"


def words_to_read(file: FileWords, chunk: CodeChunkWords) -> str:
    """The words of a chunk that are read together, the most telling first: only so many are."""
    head = " ".join(file.head.split()[:_HEAD_WORDS_TO_READ])
    return f"{chunk.symbol} {chunk.doc} {file.stem} {file.folders} {head} {chunk.body}"


def vectors_of(words: FileWords, chunks: Sequence[ChunkRecord]) -> ChunkVectors:
    """The vectors of a file's chunks, in their order."""
    from deltos.embed.rows import quantised
    from deltos.embed.static import shared_model  # deferred: numpy takes a while to import

    model = shared_model()
    around = f"{words.stem} {words.folders} {words.head}"
    texts = [f"{chunk.symbol_words} {chunk.doc_words} {chunk.body_words}" for chunk in chunks]
    return ChunkVectors(model.identity, quantised(model.of_words(texts, after=around)).tobytes())
