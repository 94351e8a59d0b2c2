"""Linear rankers, which order candidates by the weighted sum of their features.

Each domain defines its features, and stores their weights in a `weights.json` next to its code. Benchmarks learn the
weights. Where training data is scarce, they are set by hand.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class LinearRanker:
    """Linear ranking model with one weight per feature.

    A score of `midpoint` means a confidence of 0.5. `slope` is the change in log-odds per unit of score.
    """

    weights: tuple[float, ...]
    midpoint: float = 0.0
    slope: float = 1.0

    def score(self, row: Sequence[float]) -> float:
        """Return the weighted sum of the features of a candidate. Higher is better."""
        return sum(map(float.__mul__, self.weights, row))

    def scores(self, rows: Sequence[Sequence[float]]) -> list[float]:
        """Return the score of each row of features."""
        return [self.score(row) for row in rows]

    def confidence(self, score: float) -> float:
        """Map a score to a confidence between 0 and 1."""
        return 1 / (1 + math.exp(-max(-30.0, min(30.0, (score - self.midpoint) * self.slope))))

    def towards(self, other: LinearRanker, share: float) -> LinearRanker:
        """Interpolate the weights between this ranker (share 0) and another (share 1)."""
        mixed = ((1 - share) * own + share * its for own, its in zip(self.weights, other.weights, strict=True))
        return LinearRanker(tuple(mixed), self.midpoint, self.slope)


@cache
def load_ranker(path: Path, features: tuple[str, ...], which: str = "weights") -> LinearRanker:
    """Load and cache a ranker. Features without a stored weight have weight 0."""
    stored = json.loads(path.read_text("utf-8"))
    weights = tuple(stored[which].get(name, 0.0) for name in features)
    return LinearRanker(weights, stored.get("midpoint", 0.0), stored.get("slope", 1.0))
