"""What the words of an operation, or of a piece of code, say together: a transformer of two layers over the vectors of
words.

It stands in for the encoder, whose vectors it has learned to make, at a tenth of the cost and less: operations and
pieces of code come in thousands.
"""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from deltos.embed.identity import APIS_FOLDER, CODE_FOLDER, READER_FILE
from deltos.embed.static import StaticModel, api_model, shared_model
from deltos.embed.transformer import Shape, Transformer, read_weights, unit

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import numpy.typing as npt

    from deltos.embed.protocol import TextToEmbed, Vectors


class _WordRows:
    """Vectors of words by their numbers, of about unit length."""

    def __init__(self, table: StaticModel, usual_length: float) -> None:
        self._table = table
        self._scale = np.float32(1 / usual_length)

    def __getitem__(self, numbers: npt.NDArray[np.intp], /) -> Vectors:
        vectors: Vectors = self._table.vectors(numbers.reshape(-1)).reshape(*numbers.shape, -1) * self._scale
        return vectors


class WordsReader:
    """Turns texts of one kind into unit vectors among those of the encoder."""

    def __init__(self, table: StaticModel, transformer: Transformer, heads: dict[str, Vectors]) -> None:
        self._table = table
        self._transformer = transformer
        self._heads = heads

    @classmethod
    def load(cls, table: StaticModel, folder: Path) -> WordsReader:
        """Open the files that training wrote."""
        about = json.loads((folder / "model.json").read_text("utf-8"))["reader"]
        weights = read_weights(folder / READER_FILE)
        heads = {name: weights.pop(name) for name in ("sum", "sum.bias", "read", "read.bias")}
        shape = Shape(about["layers"], about["attention_heads"], about["epsilon"], len(weights["places"]))
        return cls(table, Transformer(shape, _WordRows(table, about["usual_length"]), weights), heads)

    @property
    def dimensions(self) -> int:
        """The number of dimensions."""
        return int(self._heads["read"].shape[1])

    def texts(self, passages: Sequence[TextToEmbed]) -> Vectors:
        """Unit vectors of texts; zeros for those without a known word."""
        most = self._transformer.shape.positions  # of the different words, the first
        rows = [self._table.numbers_of(passage.words)[:most] for passage in passages]
        found = np.zeros((len(rows), self.dimensions), np.float32)
        if known := [place for place, row in enumerate(rows) if row]:
            sums = self._table.texts([passages[place] for place in known])
            read = self._transformer.encoded_all([rows[place] for place in known])
            heads = self._heads
            found[known] = unit(sums @ heads["sum"] + heads["sum.bias"] + read @ heads["read"] + heads["read.bias"])
        return found


@cache
def api_words_reader() -> WordsReader:
    """That for operations and schemas of APIs, opened once per process."""
    return WordsReader.load(api_model(), APIS_FOLDER)


@cache
def code_words_reader() -> WordsReader:
    """That for pieces of code, opened once per process."""
    return WordsReader.load(shared_model(), CODE_FOLDER)
