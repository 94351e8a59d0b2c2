"""The bundled encoder: a small transformer that maps a question and the texts that answer it to similar vectors.

Trained by training/encoder.py from all-MiniLM-L6-v2 on generated questions. It supports only English. A text with too
many unknown word pieces is embedded with word vectors only.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING

import numpy as np

from deltos.embed.identity import ADAPTER_FILE, DOCS_FOLDER, ENCODER_FOLDER, MEMORY_FOLDER
from deltos.embed.transformer import Shape, Transformer, read_weights, unit
from deltos.embed.word_pieces import WordPieces

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import numpy.typing as npt

    from deltos.embed.protocol import TextToEmbed, Vectors

MAX_PIECES = 40  # maximum number of word pieces of a question; later pieces add little and take time
MAX_TEXT_PIECES = 96  # maximum number of word pieces of a text
_MAX_UNKNOWN_SHARE = 0.25  # maximum share of unknown word pieces in a text that counts as English
_MAX_CACHED_QUESTIONS = 64
_COMMON_PIECE_COUNT = 10_000  # number of vocabulary entries that are common words


@dataclass(frozen=True, slots=True)
class QuantisedRows:
    """Memory-mapped int8 vectors, each with a scaling factor."""

    rows: npt.NDArray[np.int8]
    scales: Vectors

    def __getitem__(self, numbers: npt.NDArray[np.intp], /) -> Vectors:
        vectors: Vectors = self.rows[numbers] * self.scales[numbers][..., None]
        return vectors


@dataclass(frozen=True, slots=True)
class EncodedQuestion:
    """Result of encoding a question: its vector, and a vector that is comparable with sums of word vectors."""

    vector: Vectors
    in_word_space: Vectors


class BundledEncoder:
    """Encoder that represents texts and questions as unit vectors."""

    def __init__(
        self,
        transformer: Transformer,
        pieces: WordPieces,
        heads: dict[str, Vectors],
        max_text_pieces: int = MAX_TEXT_PIECES,
    ) -> None:
        self._transformer = transformer
        self._pieces = pieces
        self._heads = heads
        self._max_text_pieces = max_text_pieces
        # Cached, because the selection of candidates and their ranking both encode the question.
        self._cached_question = lru_cache(maxsize=_MAX_CACHED_QUESTIONS)(self._encode_question)

    @classmethod
    def load(cls, folder: Path = ENCODER_FOLDER) -> BundledEncoder:
        """Load the encoder from the files written by training."""
        about = json.loads((folder / "model.json").read_text("utf-8"))
        pieces = WordPieces((folder / "pieces.txt").read_text("utf-8").split("\n"))
        rows = QuantisedRows(np.load(folder / "pieces.npy", mmap_mode="r"), np.load(folder / "piece_scales.npy"))
        weights = read_weights(folder / "weights.npz")
        heads = {name: weights.pop(name) for name in ("head.texts", "head.words", "head.words.bias")}
        shape = Shape(about["layers"], about["attention_heads"], about["epsilon"], len(weights["places"]))
        return cls(Transformer(shape, rows, weights), pieces, heads)

    def adapted(self, folder: Path) -> BundledEncoder:
        """Return an encoder with the adapter (small set of added weights) in `folder`, sharing all other weights.

        An adapter with more positions increases the maximum length of texts.
        """
        adapter = read_weights(folder / ADAPTER_FILE)
        heads = {**self._heads, "head.texts": adapter.pop("head.texts")}
        max_text_pieces = len(adapter["places"]) if "places" in adapter else self._max_text_pieces
        return BundledEncoder(self._transformer.adapted(adapter), self._pieces, heads, max_text_pieces)

    @property
    def dimensions(self) -> int:
        """Number of dimensions of the vectors."""
        return int(self._heads["head.texts"].shape[1])

    def texts(self, passages: Sequence[TextToEmbed]) -> Vectors:
        """Return unit vectors of texts, and zeros for texts that are not English."""
        rows = [self._pieces.of(passage.text, self._max_text_pieces) for passage in passages]
        found = np.zeros((len(rows), self.dimensions), np.float32)
        if supported := [index for index, row in enumerate(rows) if self._is_supported_language(row)]:
            encoded = self._transformer.encoded_in_batches([rows[index] for index in supported])
            found[supported] = unit(unit(encoded) @ self._heads["head.texts"])
        return found

    def question(self, question: str) -> EncodedQuestion | None:
        """Return the encoded question, or None if it is not English."""
        numbers = self._pieces.of(question, MAX_PIECES)
        return self._cached_question(tuple(numbers)) if self._is_supported_language(numbers) else None

    def _is_supported_language(self, numbers: Sequence[int]) -> bool:
        unknown = sum(number == self._pieces.unknown for number in numbers)
        return len(numbers) > 2 and unknown <= _MAX_UNKNOWN_SHARE * (len(numbers) - 2)

    def _encode_question(self, numbers: tuple[int, ...]) -> EncodedQuestion:
        encoded = self._transformer.encoded([numbers])
        of_words = encoded @ self._heads["head.words"] + self._heads["head.words.bias"]
        return EncodedQuestion(unit(unit(encoded) @ self._heads["head.texts"])[0], unit(of_words)[0])


@cache
def shared_encoder() -> BundledEncoder:
    """Return the bundled encoder, loaded once per process."""
    return BundledEncoder.load()


@cache
def common_english_words() -> frozenset[str]:
    """Return the most frequent English words, which are at the start of the encoder's vocabulary."""
    pieces = (ENCODER_FOLDER / "pieces.txt").read_text("utf-8").split("\n", _COMMON_PIECE_COUNT)[:_COMMON_PIECE_COUNT]
    return frozenset(piece for piece in pieces if piece.isalpha())


@cache
def docs_encoder() -> BundledEncoder:
    """Return the encoder adapted to passages of documentation."""
    return shared_encoder().adapted(DOCS_FOLDER)


@cache
def memory_encoder() -> BundledEncoder:
    """Return the encoder adapted to observations (memory records)."""
    return shared_encoder().adapted(MEMORY_FOLDER)
