"""A table of word vectors in its stored form: integers with a scale per row. Needs only numpy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path

    import numpy.typing as npt

DIMENSIONS = 256
_MAX_LEVEL = 127
_MIN_SCALE = 1e-12  # scale that is stored for rows of zeros


@dataclass(frozen=True, slots=True)
class Table:
    """One row of integers per word; a row times its scale is the word's vector."""

    rows: npt.NDArray[np.int8]
    scales: npt.NDArray[np.float32]

    @classmethod
    def of(cls, vectors: npt.NDArray[np.float32]) -> Table:
        """Quantise vectors so that the largest number of each row becomes 127."""
        scales = np.abs(vectors).max(axis=1) / _MAX_LEVEL + _MIN_SCALE
        return cls(np.round(vectors / scales[:, None]).astype(np.int8), scales.astype(np.float32))

    @classmethod
    def read(cls, path: Path) -> Table:
        """Read a file that `write` has written."""
        with np.load(path) as arrays:
            return cls(arrays["rows"], arrays["scales"].astype(np.float32))

    def write(self, path: Path) -> None:
        """Write the table as one compressed file."""
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(path, rows=self.rows, scales=self.scales)

    def vectors(self) -> npt.NDArray[np.float32]:
        """Return the vectors as floating-point numbers."""
        return self.rows * self.scales[:, None]


def strongest_directions(products: npt.NDArray[np.float64], count: int) -> npt.NDArray[np.float64]:
    """Return the `count` directions that best preserve the dot products among vectors V. `products` is VᵀV."""
    _, directions = np.linalg.eigh(products)
    strongest: npt.NDArray[np.float64] = directions[:, ::-1][:, :count]
    return strongest
