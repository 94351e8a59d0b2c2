"""What is usual: mean and deviation of the similarity of many chunks. A similarity says little without them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deltos.embed.protocol import Vectors

_LEAST_DEVIATION = 1e-6


@dataclass(frozen=True, slots=True)
class Usual:
    """Mean and standard deviation of so many values."""

    mean: float
    deviation: float
    count: int


def usual_of(values: Vectors, count: int) -> Usual:
    """Mean and deviation of so many values, of which these are a sample. As numpy's `mean` and `std`, which take four
    times as long for a hundred values."""
    mean = values.dtype.type(values.sum() / len(values))
    apart = values - mean
    return Usual(float(mean), float((apart * apart).sum() / len(values)) ** 0.5 + _LEAST_DEVIATION, count)


def pooled(parts: Sequence[Usual]) -> Usual:
    """Mean and deviation of all values together."""
    if len(parts) == 1:
        return parts[0]
    count = sum(part.count for part in parts)
    if not count:
        return Usual(0.0, _LEAST_DEVIATION, 0)
    mean = sum(part.mean * part.count for part in parts) / count
    squares = sum((part.deviation**2 + part.mean**2) * part.count for part in parts) / count
    return Usual(mean, max(0.0, squares - mean**2) ** 0.5 + _LEAST_DEVIATION, count)
