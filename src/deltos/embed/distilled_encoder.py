"""The distilled encoder of API operations: a two-layer transformer whose inputs are word vectors.

It was trained to reproduce the vectors of the bundled encoder at a tenth of the cost.
"""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from deltos.embed.identity import APIS_FOLDER, DISTILLED_WEIGHTS_FILE
from deltos.embed.static import ScaledWordVectors, StaticModel, api_model
from deltos.embed.transformer import Shape, Transformer, read_weights, unit

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from deltos.embed.protocol import TextToEmbed, Vectors


class DistilledEncoder:
    """Encoder of API texts. Its unit vectors are comparable with those of the bundled encoder."""

    def __init__(self, table: StaticModel, transformer: Transformer, heads: dict[str, Vectors]) -> None:
        self._table = table
        self._transformer = transformer
        self._heads = heads

    @classmethod
    def load(cls, table: StaticModel, folder: Path) -> DistilledEncoder:
        """Load the encoder from the files written by training."""
        about = json.loads((folder / "model.json").read_text("utf-8"))["reader"]
        weights = read_weights(folder / DISTILLED_WEIGHTS_FILE)
        heads = {name: weights.pop(name) for name in ("sum", "sum.bias", "read", "read.bias")}
        shape = Shape(about["layers"], about["attention_heads"], about["epsilon"], len(weights["places"]))
        return cls(table, Transformer(shape, ScaledWordVectors(table, 1 / about["usual_length"]), weights), heads)

    @property
    def dimensions(self) -> int:
        """Number of dimensions of the vectors."""
        return int(self._heads["read"].shape[1])

    def texts(self, passages: Sequence[TextToEmbed]) -> Vectors:
        """Return unit vectors of texts, and zeros for texts without a known word."""
        max_words = self._transformer.shape.positions  # Only the first distinct words of a text are used.
        rows = [self._table.word_numbers(passage.words)[:max_words] for passage in passages]
        found = np.zeros((len(rows), self.dimensions), np.float32)
        if known := [index for index, row in enumerate(rows) if row]:
            sums = self._table.texts([passages[index] for index in known])
            read = self._transformer.encoded_in_batches([rows[index] for index in known])
            heads = self._heads
            found[known] = unit(sums @ heads["sum"] + heads["sum.bias"] + read @ heads["read"] + heads["read.bias"])
        return found


@cache
def api_distilled_encoder() -> DistilledEncoder:
    """Return the encoder of API operations and schemas, loaded once per process."""
    return DistilledEncoder.load(api_model(), APIS_FOLDER)
