"""Embedders for each kind of text: the vector of an encoder concatenated with the sum of word vectors."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Protocol

import numpy as np

from deltos.embed.bundled_encoder import docs_encoder, memory_encoder, shared_encoder
from deltos.embed.distilled_encoder import api_distilled_encoder, code_distilled_encoder
from deltos.embed.static import api_model, shared_model
from deltos.embed.transformer import unit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deltos.embed.bundled_encoder import BundledEncoder
    from deltos.embed.protocol import TextToEmbed, Vectors
    from deltos.embed.static import StaticModel

_VERSION = "deltos-reading-3"
# Length of the word vector relative to the encoder's vector, chosen by recall on the development set.
_API_WORDS_LENGTH, _MEMORY_WORDS_LENGTH, _CODE_WORDS_LENGTH, _DOCS_WORDS_LENGTH = 0.5, 0.5, 1.0, 1.0


class TextEncoder(Protocol):
    """Encodes texts with a transformer."""

    @property
    def dimensions(self) -> int:
        """Number of dimensions."""

    def texts(self, passages: Sequence[TextToEmbed]) -> Vectors:
        """Return unit vectors; zeros for a text that cannot be encoded."""


class CombinedEmbedder:
    """Concatenates the vector of an encoder with the sum of word vectors, so that cosines weigh both.

    A question that the encoder does not support is represented by its words only. With `predicts_words`, the encoder
    also predicts the word vector of the answer.
    """

    def __init__(
        self,
        name: str,
        table: StaticModel,
        text_encoder: TextEncoder,
        question_encoder: BundledEncoder,
        *,
        words_length: float,
        predicts_words: bool,
    ) -> None:
        self.identity = f"{_VERSION}/{name}"
        self.table = table
        self.words_only = WordsOnlyEmbedder(self)
        self._text_encoder = text_encoder
        self._question_encoder = question_encoder
        self._words_length = np.float32(words_length)
        self._predicts_words = predicts_words

    @property
    def dimensions(self) -> int:
        """Number of dimensions."""
        return self._text_encoder.dimensions + self.table.dimensions

    def texts(self, passages: Sequence[TextToEmbed]) -> Vectors:
        """Return unit vectors; zeros for a text without a known word."""
        return self.combine(self._text_encoder.texts(passages), self.table.texts(passages))

    def question(self, passage: TextToEmbed) -> Vectors:
        """Return the vector of a question; zeros without a known word, as for texts."""
        of_words = self.table.question(passage)
        encoded = self._question_encoder.question(passage.text) if of_words.any() else None
        encoded_vector = encoded.vector if encoded else np.zeros(self._text_encoder.dimensions, np.float32)
        vector: Vectors = self.combine(encoded_vector[None], self.question_in_word_space(passage)[None])[0]
        return vector

    def question_in_word_space(self, passage: TextToEmbed) -> Vectors:
        """Return the vector of a question for comparison with sums of word vectors."""
        of_words = self.table.question(passage)
        encoded = self._question_encoder.question(passage.text) if self._predicts_words and of_words.any() else None
        return encoded.in_word_space if encoded else of_words

    def combine(self, encoded: Vectors | None, of_words: Vectors) -> Vectors:
        """Concatenate both vectors; `encoded` is None for texts that are not encoded yet."""
        if encoded is None:
            encoded = np.zeros((len(of_words), self._text_encoder.dimensions), np.float32)
        return unit(np.concatenate([encoded, of_words * self._words_length], axis=1))


class WordsOnlyEmbedder:
    """Embeds by word vectors only, for texts that are not encoded yet."""

    def __init__(self, model: CombinedEmbedder) -> None:
        self._model = model

    @property
    def identity(self) -> str:
        """Identity of the model with a suffix for word vectors."""
        return f"{self._model.identity}/words"

    def texts(self, passages: Sequence[TextToEmbed]) -> Vectors:
        """Return unit vectors; zeros for a text without a known word."""
        return self._model.combine(None, self._model.table.texts(passages))

    def question(self, passage: TextToEmbed) -> Vectors:
        """Return the vector of a question by its words only, so that similarities are in the range of encoded texts."""
        vector: Vectors = self._model.combine(None, self._model.question_in_word_space(passage)[None])[0]
        return vector


@cache
def api_embedder() -> CombinedEmbedder:
    """Return the embedder of operations and schemas of APIs."""
    return CombinedEmbedder(
        "apis",
        api_model(),
        api_distilled_encoder(),
        shared_encoder(),
        words_length=_API_WORDS_LENGTH,
        predicts_words=True,
    )


@cache
def memory_embedder() -> CombinedEmbedder:
    """Return the embedder of observations."""
    return CombinedEmbedder(
        "memory-2",
        shared_model(),
        memory_encoder(),
        memory_encoder(),
        words_length=_MEMORY_WORDS_LENGTH,
        predicts_words=False,
    )


@cache
def code_embedder() -> CombinedEmbedder:
    """Return the embedder of chunks of code."""
    return CombinedEmbedder(
        "code",
        shared_model(),
        code_distilled_encoder(),
        shared_encoder(),
        words_length=_CODE_WORDS_LENGTH,
        predicts_words=False,
    )


@cache
def docs_embedder() -> CombinedEmbedder:
    """Return the embedder of passages of documentation."""
    return CombinedEmbedder(
        "docs-2",
        shared_model(),
        docs_encoder(),
        docs_encoder(),
        words_length=_DOCS_WORDS_LENGTH,
        predicts_words=False,
    )
