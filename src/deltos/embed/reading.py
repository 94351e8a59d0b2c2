"""Texts as sums of their words beside what is read in them as a whole: one vector, whose cosines weigh both."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Protocol

import numpy as np

from deltos.embed.inner_encoder import docs_encoder, memory_encoder, shared_encoder
from deltos.embed.static import api_model, shared_model
from deltos.embed.transformer import unit
from deltos.embed.words_reader import api_words_reader, code_words_reader

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deltos.embed.inner_encoder import InnerEncoder
    from deltos.embed.protocol import TextToEmbed, Vectors
    from deltos.embed.static import StaticModel

_VERSION = "deltos-reading-3"
# How long the sum of words is beside what is read as a whole, chosen by what finds most on open questions.
_WORDS_OF_APIS, _WORDS_OF_MEMORY, _WORDS_OF_CODE, _WORDS_OF_DOCS = 0.5, 0.5, 1.0, 1.0


class TextReader(Protocol):
    """Reads texts as a whole."""

    @property
    def dimensions(self) -> int:
        """The number of dimensions."""

    def texts(self, passages: Sequence[TextToEmbed]) -> Vectors:
        """Unit vectors; zeros for a text that it cannot read."""


class ReadingModel:
    """A table of word vectors and a reader of texts. Questions are read by the encoder; one that it cannot read is the
    sum of its words. `answers_words` where the encoder says, too, where the sums of words are that answer."""

    def __init__(
        self,
        name: str,
        table: StaticModel,
        reader: TextReader,
        encoder: InnerEncoder,
        *,
        words_length: float,
        answers_words: bool,
    ) -> None:
        self.identity = f"{_VERSION}/{name}"
        self.table = table
        self.words_alone = WordsAlone(self)
        self._reader = reader
        self._encoder = encoder
        self._words_length = np.float32(words_length)
        self._answers_words = answers_words

    @property
    def dimensions(self) -> int:
        """The number of dimensions."""
        return self._reader.dimensions + self.table.dimensions

    def texts(self, passages: Sequence[TextToEmbed]) -> Vectors:
        """Unit vectors; zeros for a text without a known word."""
        return self.joined(self._reader.texts(passages), self.table.texts(passages))

    def question(self, passage: TextToEmbed) -> Vectors:
        """The vector of a question; zeros for one without a known word, as for texts."""
        of_words = self.table.question(passage)
        read = self._encoder.question(passage.text) if of_words.any() else None
        whole = read.whole if read else np.zeros(self._reader.dimensions, np.float32)
        vector: Vectors = self.joined(whole[None], self.words_of_question(passage)[None])[0]
        return vector

    def words_of_question(self, passage: TextToEmbed) -> Vectors:
        """Where the sums of words are that answer a question."""
        of_words = self.table.question(passage)
        read = self._encoder.question(passage.text) if self._answers_words and of_words.any() else None
        return read.of_words if read else of_words

    def joined(self, read: Vectors | None, of_words: Vectors) -> Vectors:
        """Both in one; nothing is read where there is no time for it yet."""
        if read is None:
            read = np.zeros((len(of_words), self._reader.dimensions), np.float32)
        return unit(np.concatenate([read, of_words * self._words_length], axis=1))


class WordsAlone:
    """The same with nothing read as a whole: for texts that wait for it."""

    def __init__(self, model: ReadingModel) -> None:
        self._model = model

    @property
    def identity(self) -> str:
        """That of the model, and that it is not read."""
        return f"{self._model.identity}/words"

    def texts(self, passages: Sequence[TextToEmbed]) -> Vectors:
        """Unit vectors; zeros for a text without a known word."""
        return self._model.joined(None, self._model.table.texts(passages))

    def question(self, passage: TextToEmbed) -> Vectors:
        """The vector of a question: of its words alone, too, so that similarities are about as high as those of texts
        that are read."""
        vector: Vectors = self._model.joined(None, self._model.words_of_question(passage)[None])[0]
        return vector


@cache
def api_reading_model() -> ReadingModel:
    """For operations and schemas of APIs."""
    return ReadingModel(
        "apis",
        api_model(),
        api_words_reader(),
        shared_encoder(),
        words_length=_WORDS_OF_APIS,
        answers_words=True,
    )


@cache
def memory_reading_model() -> ReadingModel:
    """For observations."""
    return ReadingModel(
        "memory-2",
        shared_model(),
        memory_encoder(),
        memory_encoder(),
        words_length=_WORDS_OF_MEMORY,
        answers_words=False,
    )


@cache
def code_reading_model() -> ReadingModel:
    """For pieces of code."""
    return ReadingModel(
        "code",
        shared_model(),
        code_words_reader(),
        shared_encoder(),
        words_length=_WORDS_OF_CODE,
        answers_words=False,
    )


@cache
def docs_reading_model() -> ReadingModel:
    """For passages of documentation."""
    return ReadingModel(
        "docs-2",
        shared_model(),
        docs_encoder(),
        docs_encoder(),
        words_length=_WORDS_OF_DOCS,
        answers_words=False,
    )
