"""Encoder of observations (memory records), the larger encoder from which the bundled encoder was distilled.

This encoder is used because the bundled encoder is less precise for conversations, which differ from the texts on which
it was trained. Questions are embedded by the bundled encoder, and their vectors are comparable with those of this
encoder.
"""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from deltos.embed.bundled_encoder import MAX_TEXT_PIECES, shared_encoder
from deltos.embed.identity import MEMORY_FOLDER
from deltos.embed.mixer import FourBitRows
from deltos.embed.transformer import Shape, Transformer, read_weights, unit

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from deltos.embed.protocol import TextToEmbed, Vectors


class ObservationEncoder:
    """Encoder of observations as unit vectors."""

    def __init__(self, transformer: Transformer, head: Vectors) -> None:
        self._transformer = transformer
        self._head = head

    @classmethod
    def load(cls, folder: Path = MEMORY_FOLDER) -> ObservationEncoder:
        """Load the encoder from the files written by training."""
        about = json.loads((folder / "model.json").read_text("utf-8"))
        weights = read_weights(folder / "weights.npz")
        head = weights.pop("head.texts")
        shape = Shape(about["layers"], about["attention_heads"], about["epsilon"], len(weights["places"]))
        return cls(Transformer(shape, FourBitRows.load(folder), weights), head)

    @property
    def dimensions(self) -> int:
        """Number of dimensions of the vectors."""
        return int(self._head.shape[1])

    def texts(self, passages: Sequence[TextToEmbed]) -> Vectors:
        """Return unit vectors of texts, and zeros for texts that are not English."""
        rows = [shared_encoder().word_pieces(passage.text, MAX_TEXT_PIECES) for passage in passages]
        found = np.zeros((len(rows), self.dimensions), np.float32)
        if supported := [index for index, row in enumerate(rows) if row]:
            encoded = self._transformer.encoded_in_batches([rows[index] for index in supported])
            found[supported] = unit(unit(encoded) @ self._head)
        return found


@cache
def observation_encoder() -> ObservationEncoder:
    """Return the encoder of observations, loaded once per process."""
    return ObservationEncoder.load()
