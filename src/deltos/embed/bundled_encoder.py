"""The bundled encoder: a small transformer that maps a question and the texts that answer it to similar vectors.

Trained by training/distill_questions.py to reproduce the vectors of a larger encoder. It supports only English. A text
with too many unknown word pieces is embedded with word vectors only.
"""

from __future__ import annotations

from functools import cache, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from deltos.embed.identity import ENCODER_FOLDER
from deltos.embed.mixer import FourBitRows, Mixer
from deltos.embed.transformer import read_weights, unit
from deltos.embed.word_pieces import WordPieces

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from deltos.embed.protocol import TextToEmbed, Vectors

MAX_PIECES = 40  # maximum number of word pieces of a question; later pieces add little and take time
MAX_TEXT_PIECES = 96  # maximum number of word pieces of an observation
_MAX_PASSAGE_PIECES = 76  # maximum number of word pieces of other texts: two windows of the length of questions
_MAX_UNKNOWN_SHARE = 0.25  # maximum share of unknown word pieces in a text that counts as English
_MAX_CACHED_QUESTIONS = 64
_COMMON_PIECE_COUNT = 10_000  # number of entries at the start of the vocabulary that are common words

# Name of a vector space. `base` is for code and API operations, `docs` for documentation, `memory` for observations,
# and `words` for sums of word vectors.
Head: TypeAlias = Literal["base", "docs", "memory", "words"]


class BundledEncoder:
    """Encoder of questions and texts. One pass through the transformer serves all kinds of texts.

    Each kind of text has its own head, a matrix that maps the result of the transformer to the vector.
    """

    def __init__(self, mixer: Mixer, pieces: WordPieces, heads: dict[str, Vectors]) -> None:
        self._mixer = mixer
        self._pieces = pieces
        self._heads = heads
        # Vectors of questions are cached, because one search needs them several times: for each domain, for candidates,
        # and for ranking.
        self._cached_question = lru_cache(maxsize=_MAX_CACHED_QUESTIONS)(self._encode_question)

    @classmethod
    def load(cls, folder: Path = ENCODER_FOLDER) -> BundledEncoder:
        """Load the encoder from the files written by training."""
        pieces = WordPieces((folder / "pieces.txt").read_text("utf-8").split("\n"))
        return cls(
            Mixer(FourBitRows.load(folder), read_weights(folder / "mixer.npz")),
            pieces,
            read_weights(folder / "heads.npz"),
        )

    @property
    def dimensions(self) -> int:
        """Number of dimensions of the vectors."""
        return int(self._heads["base"].shape[1])

    def texts(self, passages: Sequence[TextToEmbed], head: Head) -> Vectors:
        """Return unit vectors of texts, and zeros for texts that are not English.

        A text that is longer than a question is split into windows of the length of a question, and their mean is used.
        """
        rows = [self.word_pieces(passage.text, _MAX_PASSAGE_PIECES) for passage in passages]
        found = np.zeros((len(rows), self.dimensions), np.float32)
        windows = [
            (index, window) for index, row in enumerate(rows) if row for window in _windows(row, self._mixer.max_inputs)
        ]
        if windows:
            encoded = self._mixer.encode([window for _, window in windows])
            shares = np.array([len(window) - 2 for _, window in windows], np.float32)
            sums = np.zeros((len(rows), encoded.shape[1]), np.float32)
            np.add.at(sums, [index for index, _ in windows], encoded * shares[:, None])
            lengths = np.bincount([index for index, _ in windows], shares, len(rows)).astype(np.float32)
            some = lengths > 0
            found[some] = self._apply_head(sums[some] / lengths[some, None], head)
        return found

    def question(self, question: str, head: Head) -> Vectors | None:
        """Return the unit vector of a question, or None if it is not English."""
        numbers = self.word_pieces(question, MAX_PIECES)
        if not numbers:
            return None
        vector: Vectors = self._apply_head(self._cached_question(tuple(numbers)), head)[0]
        return vector

    def word_pieces(self, text: str, max_pieces: int) -> list[int]:
        """Return the numbers of the word pieces of a text, or an empty list if the text is not English."""
        numbers = self._pieces.of(text, max_pieces)
        unknown = sum(number == self._pieces.unknown for number in numbers)
        is_english = len(numbers) > 2 and unknown <= _MAX_UNKNOWN_SHARE * (len(numbers) - 2)
        return numbers if is_english else []

    def _apply_head(self, encoded: Vectors, head: Head) -> Vectors:
        return unit(encoded @ self._heads[head] + self._heads[f"{head}_bias"])

    def _encode_question(self, numbers: tuple[int, ...]) -> Vectors:
        return self._mixer.encode([numbers])


def _windows(row: Sequence[int], length: int) -> list[Sequence[int]]:
    """Split word pieces into windows of about equal length, each with the start and end tokens of the text."""
    inner = row[1:-1]
    count = -(-len(inner) // (length - 2))
    bounds = [round(len(inner) * number / count) for number in range(count + 1)]
    return [[row[0], *inner[start:end], row[-1]] for start, end in pairwise(bounds)]


@cache
def shared_encoder() -> BundledEncoder:
    """Return the bundled encoder, loaded once per process."""
    return BundledEncoder.load()


@cache
def common_english_words() -> frozenset[str]:
    """Return the most frequent English words, which are at the start of the encoder's vocabulary."""
    pieces = (ENCODER_FOLDER / "pieces.txt").read_text("utf-8").split("\n", _COMMON_PIECE_COUNT)[:_COMMON_PIECE_COUNT]
    return frozenset(piece for piece in pieces if piece.isalpha())
