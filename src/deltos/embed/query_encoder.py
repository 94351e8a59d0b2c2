"""Questions read as a whole: a small transformer in the wheel that puts a question where its answers are.

Texts stay what the table makes of them, the sum of their words, which costs next to nothing for a hundred thousand; a
question is one, and what its words say together ("get the money back", "who asked us in") is worth some milliseconds.
Made by training/query_encoder.py out of all-MiniLM-L6-v2.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING

import numpy as np

from deltos.embed.identity import QUERIES_FOLDER
from deltos.embed.static import StaticModel, api_model
from deltos.embed.transformer import Shape, Transformer
from deltos.embed.word_pieces import WordPieces

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import numpy.typing as npt

    from deltos.embed.protocol import TextToEmbed, Vectors

MOST_PIECES = 40  # of a question: the rest of a long one adds little, and the cost grows with it
_UNKNOWN_SHARE = 0.25  # of the pieces: beyond that it is another language
_KEPT_QUESTIONS = 64


@dataclass(frozen=True, slots=True)
class QuantisedRows:
    """Vectors as whole numbers, each with a scale; read from the disk as they are needed."""

    rows: npt.NDArray[np.int8]
    scales: Vectors

    def __getitem__(self, numbers: npt.NDArray[np.intp], /) -> Vectors:
        vectors: Vectors = self.rows[numbers] * self.scales[numbers][..., None]
        return vectors


class QueryEncoder:
    """Turns questions about operations of APIs into vectors among those of operations."""

    def __init__(self, transformer: Transformer, pieces: WordPieces, head: tuple[Vectors, Vectors]) -> None:
        self._transformer = transformer
        self._pieces = pieces
        self._head = head
        self._of_pieces = lru_cache(maxsize=_KEPT_QUESTIONS)(self._encoded)  # finding and ordering both ask for it

    @classmethod
    def load(cls, folder: Path = QUERIES_FOLDER) -> QueryEncoder:
        """Open the files that training wrote."""
        about = json.loads((folder / "model.json").read_text("utf-8"))
        pieces = WordPieces((folder / "pieces.txt").read_text("utf-8").split("\n"), lowers=True)
        rows = QuantisedRows(np.load(folder / "pieces.npy", mmap_mode="r"), np.load(folder / "piece_scales.npy"))
        weights: dict[str, Vectors] = {}
        with np.load(folder / "weights.npz") as arrays:
            for name in arrays.files:
                if not name.endswith(".scales"):
                    values = arrays[name].astype(np.float32)
                    weights[name] = values * arrays[f"{name}.scales"] if f"{name}.scales" in arrays.files else values
        shape = Shape(about["layers"], about["attention_heads"], about["epsilon"], len(weights["places"]))
        return cls(Transformer(shape, rows, weights), pieces, (weights["head.apis"], weights["head.apis.bias"]))

    def vector(self, question: str) -> Vectors | None:
        """The unit vector of a question; None where its words are not known, as those of most languages."""
        numbers = self._pieces.of(question, MOST_PIECES)
        unknown = sum(number == self._pieces.unknown for number in numbers)
        if len(numbers) <= 2 or unknown > _UNKNOWN_SHARE * (len(numbers) - 2):
            return None
        return self._of_pieces(tuple(numbers))

    def _encoded(self, numbers: tuple[int, ...]) -> Vectors:
        matrix, bias = self._head
        found = self._transformer.encoded([numbers])[0] @ matrix + bias
        unit: Vectors = found / (np.linalg.norm(found) + np.float32(1e-9))
        return unit


class ReadingModel:
    """A table of word vectors for texts, and the encoder for questions about them."""

    def __init__(self, table: StaticModel, encoder: QueryEncoder) -> None:
        self.table = table
        self._encoder = encoder

    @property
    def identity(self) -> str:
        """That of the table: what is stored does not depend on how questions are read."""
        return self.table.identity

    def texts(self, passages: Sequence[TextToEmbed]) -> Vectors:
        """Unit vectors; zeros for a text without a known word."""
        return self.table.texts(passages)

    def question(self, passage: TextToEmbed) -> Vectors:
        """The vector of a question; zeros for one without a known word, as for texts."""
        of_words = self.table.question(passage)
        vector = self._encoder.vector(passage.text) if of_words.any() else None
        return of_words if vector is None else vector


@cache
def shared_encoder() -> QueryEncoder:
    """The encoder in the wheel, opened once per process."""
    return QueryEncoder.load()


@cache
def api_reading_model() -> ReadingModel:
    """For operations and schemas of APIs."""
    return ReadingModel(api_model(), shared_encoder())
