"""Mean and standard deviation of chunk similarities, used to normalise them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deltos.embed.protocol import Vectors

_MIN_DEVIATION = 1e-6


@dataclass(frozen=True, slots=True)
class SimilarityStatistics:
    """Mean and standard deviation of `count` values."""

    mean: float
    deviation: float
    count: int


def sample_statistics(values: Vectors, count: int) -> SimilarityStatistics:
    """Return the mean and standard deviation of `count` values, estimated from the sample `values`."""
    # Direct sums are four times as fast as numpy's `mean` and `std` for a hundred values.
    mean = values.dtype.type(values.sum() / len(values))
    differences = values - mean
    return SimilarityStatistics(
        float(mean), float((differences * differences).sum() / len(values)) ** 0.5 + _MIN_DEVIATION, count
    )


def pool_statistics(parts: Sequence[SimilarityStatistics]) -> SimilarityStatistics:
    """Return the mean and standard deviation of several sets of values combined."""
    if len(parts) == 1:
        return parts[0]
    count = sum(part.count for part in parts)
    if not count:
        return SimilarityStatistics(0.0, _MIN_DEVIATION, 0)
    mean = sum(part.mean * part.count for part in parts) / count
    squares = sum((part.deviation**2 + part.mean**2) * part.count for part in parts) / count
    return SimilarityStatistics(mean, max(0.0, squares - mean**2) ** 0.5 + _MIN_DEVIATION, count)
