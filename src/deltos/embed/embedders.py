"""Embedders for each kind of text, which combine the vector of an encoder with the sum of word vectors."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Protocol

import numpy as np

from deltos.embed.bundled_encoder import shared_encoder
from deltos.embed.chunk_encoder import ChunkEncoder
from deltos.embed.distilled_encoder import api_distilled_encoder
from deltos.embed.identity import ENCODER_VERSION
from deltos.embed.observation_encoder import observation_encoder
from deltos.embed.static import api_model, shared_model
from deltos.embed.transformer import unit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deltos.embed.bundled_encoder import Head
    from deltos.embed.protocol import TextToEmbed, Vectors
    from deltos.embed.static import StaticModel

# Length of the sum of word vectors relative to the encoder's vector, tuned for recall on the development set.
_API_WORDS_LENGTH, _MEMORY_WORDS_LENGTH, _CODE_WORDS_LENGTH, _DOCS_WORDS_LENGTH = 0.5, 0.5, 1.0, 1.0


class TextEncoder(Protocol):
    """Interface of transformer encoders of texts."""

    @property
    def dimensions(self) -> int:
        """Number of dimensions of the vectors."""

    def texts(self, passages: Sequence[TextToEmbed]) -> Vectors:
        """Return unit vectors of texts, and zeros for texts that cannot be encoded."""


class HeadedEncoder:
    """The bundled encoder as an encoder of one kind of texts."""

    def __init__(self, head: Head) -> None:
        self._encoder = shared_encoder()
        self._head = head

    @property
    def dimensions(self) -> int:
        """Number of dimensions of the vectors."""
        return self._encoder.dimensions

    def texts(self, passages: Sequence[TextToEmbed]) -> Vectors:
        """Return unit vectors of texts, and zeros for texts that are not English."""
        return self._encoder.texts(passages, self._head)


class CombinedEmbedder:
    """Embedder that combines the vector from an encoder with the sum of word vectors.

    A question in an unsupported language is represented by word vectors only. If `predicts_words` is true, the encoder
    also predicts the sum of the word vectors of a text that answers a question.
    """

    def __init__(
        self,
        name: str,
        table: StaticModel,
        text_encoder: TextEncoder,
        head: Head,
        *,
        words_length: float,
        predicts_words: bool,
    ) -> None:
        self.identity = f"{ENCODER_VERSION}/{name}"
        self.table = table
        self._text_encoder = text_encoder
        self._encoder = shared_encoder()
        self._head = head
        self._words_length = np.float32(words_length)
        self._predicts_words = predicts_words

    @property
    def dimensions(self) -> int:
        """Number of dimensions of the vectors."""
        return self._text_encoder.dimensions + self.table.dimensions

    def texts(self, passages: Sequence[TextToEmbed]) -> Vectors:
        """Return unit vectors of texts, and zeros for texts without a known word."""
        return self._combine(self._text_encoder.texts(passages), self.table.texts(passages))

    def question(self, passage: TextToEmbed) -> Vectors:
        """Return the vector of a question, or zeros if it has no known word."""
        of_words = self.table.question(passage)
        encoded = self._encoder.question(passage.text, self._head) if of_words.any() else None
        encoded_vector = np.zeros(self._text_encoder.dimensions, np.float32) if encoded is None else encoded
        vector: Vectors = self._combine(encoded_vector[None], self.question_in_word_space(passage)[None])[0]
        return vector

    def question_in_word_space(self, passage: TextToEmbed) -> Vectors:
        """Return a vector of the question that is comparable with sums of word vectors."""
        of_words = self.table.question(passage)
        predicted = self._encoder.question(passage.text, "words") if self._predicts_words and of_words.any() else None
        return of_words if predicted is None else predicted

    def _combine(self, encoded: Vectors, of_words: Vectors) -> Vectors:
        """Combine both vectors by alternating their dimensions, so that a prefix of the result represents both."""
        weighted = of_words * self._words_length
        return unit(np.stack([encoded, weighted], axis=2).reshape(len(encoded), self.dimensions))


@cache
def api_embedder() -> CombinedEmbedder:
    """Return the embedder of API operations and schemas."""
    return CombinedEmbedder(
        "apis",
        api_model(),
        api_distilled_encoder(),
        "base",
        words_length=_API_WORDS_LENGTH,
        predicts_words=True,
    )


@cache
def memory_embedder() -> CombinedEmbedder:
    """Return the embedder of observations (memory records)."""
    return CombinedEmbedder(
        "memory",
        shared_model(),
        observation_encoder(),
        "memory",
        words_length=_MEMORY_WORDS_LENGTH,
        predicts_words=False,
    )


@cache
def code_embedder() -> CombinedEmbedder:
    """Return the embedder of code chunks."""
    return CombinedEmbedder(
        "code",
        shared_model(),
        ChunkEncoder.load(),
        "base",
        words_length=_CODE_WORDS_LENGTH,
        predicts_words=False,
    )


@cache
def docs_embedder() -> CombinedEmbedder:
    """Return the embedder of documentation passages."""
    return CombinedEmbedder(
        "docs",
        shared_model(),
        HeadedEncoder("docs"),
        "docs",
        words_length=_DOCS_WORDS_LENGTH,
        predicts_words=False,
    )
