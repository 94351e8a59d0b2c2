"""The encoder in the wheel: a small transformer that puts a text and the questions about it in one place.

Made by training/encoder.py out of all-MiniLM-L6-v2, from questions that people would ask. It reads English; a text
whose pieces it does not know is left to the sum of its words.
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

MOST_PIECES = 40  # of a question: the rest of a long one adds little, and the cost grows with it
MOST_TEXT_PIECES = 96
_UNKNOWN_SHARE = 0.25  # of the pieces: beyond that it is another language
_KEPT_QUESTIONS = 64
_ORDINARY_PIECES = 10_000


@dataclass(frozen=True, slots=True)
class QuantisedRows:
    """Vectors as whole numbers, each with a scale; read from the disk as they are needed."""

    rows: npt.NDArray[np.int8]
    scales: Vectors

    def __getitem__(self, numbers: npt.NDArray[np.intp], /) -> Vectors:
        vectors: Vectors = self.rows[numbers] * self.scales[numbers][..., None]
        return vectors


@dataclass(frozen=True, slots=True)
class ReadQuestion:
    """A question as it is compared with texts that are read as a whole, and with sums of the words of APIs."""

    whole: Vectors
    of_words: Vectors


class InnerEncoder:
    """Turns texts and questions into unit vectors."""

    def __init__(
        self,
        transformer: Transformer,
        pieces: WordPieces,
        heads: dict[str, Vectors],
        most_text_pieces: int = MOST_TEXT_PIECES,
    ) -> None:
        self._transformer = transformer
        self._pieces = pieces
        self._heads = heads
        self._most_text_pieces = most_text_pieces
        self._of_pieces = lru_cache(maxsize=_KEPT_QUESTIONS)(self._asked)  # finding and ordering both ask for it

    @classmethod
    def load(cls, folder: Path = ENCODER_FOLDER) -> InnerEncoder:
        """Open the files that training wrote."""
        about = json.loads((folder / "model.json").read_text("utf-8"))
        pieces = WordPieces((folder / "pieces.txt").read_text("utf-8").split("\n"), lowers=True)
        rows = QuantisedRows(np.load(folder / "pieces.npy", mmap_mode="r"), np.load(folder / "piece_scales.npy"))
        weights = read_weights(folder / "weights.npz")
        heads = {name: weights.pop(name) for name in ("head.texts", "head.words", "head.words.bias")}
        shape = Shape(about["layers"], about["attention_heads"], about["epsilon"], len(weights["places"]))
        return cls(Transformer(shape, rows, weights), pieces, heads)

    def adapted(self, folder: Path) -> InnerEncoder:
        """The same, changed for some kind of text by the adapter in a folder; nearly all weights are shared. One that
        has learned more positions reads as much of each text."""
        adapter = read_weights(folder / ADAPTER_FILE)
        heads = {**self._heads, "head.texts": adapter.pop("head.texts")}
        most_text_pieces = len(adapter["places"]) if "places" in adapter else self._most_text_pieces
        return InnerEncoder(self._transformer.adapted(adapter), self._pieces, heads, most_text_pieces)

    @property
    def dimensions(self) -> int:
        """The number of dimensions."""
        return int(self._heads["head.texts"].shape[1])

    def texts(self, passages: Sequence[TextToEmbed]) -> Vectors:
        """Unit vectors of texts; zeros for those in another language."""
        rows = [self._pieces.of(passage.text, self._most_text_pieces) for passage in passages]
        found = np.zeros((len(rows), self.dimensions), np.float32)
        if readable := [place for place, row in enumerate(rows) if self._is_readable(row)]:
            read = self._transformer.encoded_all([rows[place] for place in readable])
            found[readable] = unit(unit(read) @ self._heads["head.texts"])
        return found

    def question(self, question: str) -> ReadQuestion | None:
        """A question as it is read; None where its words are not known, as those of most languages."""
        numbers = self._pieces.of(question, MOST_PIECES)
        return self._of_pieces(tuple(numbers)) if self._is_readable(numbers) else None

    def _is_readable(self, numbers: Sequence[int]) -> bool:
        unknown = sum(number == self._pieces.unknown for number in numbers)
        return len(numbers) > 2 and unknown <= _UNKNOWN_SHARE * (len(numbers) - 2)

    def _asked(self, numbers: tuple[int, ...]) -> ReadQuestion:
        read = self._transformer.encoded([numbers])
        of_words = read @ self._heads["head.words"] + self._heads["head.words.bias"]
        return ReadQuestion(unit(unit(read) @ self._heads["head.texts"])[0], unit(of_words)[0])


@cache
def shared_encoder() -> InnerEncoder:
    """The encoder in the wheel, opened once per process."""
    return InnerEncoder.load()


@cache
def ordinary_words() -> frozenset[str]:
    """The most frequent words of English: the encoder's vocabulary begins with them."""
    pieces = (ENCODER_FOLDER / "pieces.txt").read_text("utf-8").split("\n", _ORDINARY_PIECES)[:_ORDINARY_PIECES]
    return frozenset(piece for piece in pieces if piece.isalpha())


@cache
def docs_encoder() -> InnerEncoder:
    """The encoder as it reads passages of documentation and questions about them."""
    return shared_encoder().adapted(DOCS_FOLDER)


@cache
def memory_encoder() -> InnerEncoder:
    """The encoder as it reads observations and questions about them."""
    return shared_encoder().adapted(MEMORY_FOLDER)
