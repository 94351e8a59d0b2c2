"""Blend tables of word vectors: concatenate each word's vectors and keep the main directions.

python -m training.blend OUT.npz TABLE.npz=WEIGHT ...
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from training.table import DIMENSIONS, Table, strongest_directions

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt


def blend(
    tables: Sequence[npt.NDArray[np.float32]], weights: Sequence[float], dimensions: int = DIMENSIONS
) -> npt.NDArray[np.float32]:
    """Return vectors whose dot products approximate the weighted sum of the tables' dot products."""
    concatenated = np.hstack(
        [unit_scale(table) * np.sqrt(weight) for table, weight in zip(tables, weights, strict=True)]
    )
    products = concatenated.T.astype(np.float64) @ concatenated
    return (concatenated @ strongest_directions(products, dimensions)).astype(np.float32)


def unit_scale(vectors: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Scale vectors to a mean squared length of 1, so that weights are comparable between tables."""
    scaled: npt.NDArray[np.float32] = vectors / np.sqrt(np.square(vectors).sum(axis=1).mean())
    return scaled


def parse_weighted_table(argument: str) -> tuple[Path, float]:
    """Parse a file and its weight from an argument such as `TABLE.npz=0.5`."""
    path, _, weight = argument.rpartition("=")
    if not path or not (share := float(weight)) > 0:
        raise ValueError(argument)
    return Path(path), share


def main() -> None:
    """Blend the tables that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("tables", type=parse_weighted_table, nargs="+", metavar="TABLE.npz=WEIGHT")
    arguments = parser.parse_args()
    vectors = [Table.read(path).vectors() for path, _ in arguments.tables]
    Table.of(blend(vectors, [weight for _, weight in arguments.tables])).write(arguments.out)


if __name__ == "__main__":
    main()
