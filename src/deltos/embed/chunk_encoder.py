"""Distilled encoder for chunks of code, which takes 0.6 ms per chunk during indexing.

It was trained by training/distill.py to reproduce the vectors of the bundled encoder from the first distinct words of a
text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from deltos.embed.identity import PASSAGES_FOLDER
from deltos.embed.mixer import Mixer, ProjectedInputs
from deltos.embed.static import ScaledWordVectors, shared_model
from deltos.embed.transformer import read_weights, unit

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from deltos.embed.protocol import TextToEmbed, Vectors
    from deltos.embed.static import StaticModel


class ChunkEncoder:
    """Encoder of code chunks.

    Its unit vectors are comparable with those of the bundled encoder.
    """

    def __init__(self, table: StaticModel, mixer: Mixer, heads: dict[str, Vectors]) -> None:
        self._table = table
        self._mixer = mixer
        self._heads = heads

    @classmethod
    def load(cls, folder: Path = PASSAGES_FOLDER) -> ChunkEncoder:
        """Load the encoder from the files written by training."""
        table, heads = shared_model(), read_weights(folder / "code.npz")
        words = ScaledWordVectors(table, float(heads.pop("word_scale")))
        weights = read_weights(folder / "mixer.npz")
        return cls(table, Mixer(ProjectedInputs(words, weights.pop("project")), weights), heads)

    @property
    def dimensions(self) -> int:
        """Number of dimensions of the vectors."""
        return int(self._heads["mixed"].shape[1])

    def texts(self, passages: Sequence[TextToEmbed]) -> Vectors:
        """Return unit vectors of texts, and zeros for texts without a known word."""
        rows = [self._table.word_numbers(passage.words)[: self._mixer.max_inputs] for passage in passages]
        found = np.zeros((len(rows), self.dimensions), np.float32)
        if known := [index for index, row in enumerate(rows) if row]:
            heads, known_rows = self._heads, [rows[index] for index in known]
            mixed = self._mixer.encode(known_rows, heads["shift"])
            found[known] = unit(mixed @ heads["mixed"] + self._table.sums(known_rows) @ heads["sums"])
        return found
