"""Order candidates by linear weights. Knows features and scores, never text or storage.

A domain names its features, describes each candidate by a row of numbers in that order, and keeps what each feature
weighs in a `weights.json` beside its code: learned by a benchmark where there is enough to learn from, else hand-set.
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
    """A weight per feature; `midpoint` is the raw score that means even odds, `slope` the log-odds per unit of it."""

    weights: tuple[float, ...]
    midpoint: float = 0.0
    slope: float = 1.0

    def score(self, row: Sequence[float]) -> float:
        """The weighted sum of one candidate's features; higher is better."""
        return sum(map(float.__mul__, self.weights, row))

    def scores(self, rows: Sequence[Sequence[float]]) -> list[float]:
        """One score per row of features."""
        return [self.score(row) for row in rows]

    def confidence(self, score: float) -> float:
        """A score as a number between 0 and 1 that keeps the order."""
        return 1 / (1 + math.exp(-max(-30.0, min(30.0, (score - self.midpoint) * self.slope))))

    def towards(self, other: LinearRanker, share: float) -> LinearRanker:
        """The ranker between this one, at a share of 0, and another, at 1; only their weights differ."""
        mixed = ((1 - share) * own + share * its for own, its in zip(self.weights, other.weights, strict=True))
        return LinearRanker(tuple(mixed), self.midpoint, self.slope)


@cache
def load_ranker(path: Path, features: tuple[str, ...], which: str = "weights") -> LinearRanker:
    """Read weights by feature name, once; a feature that the file does not know counts for nothing."""
    stored = json.loads(path.read_text("utf-8"))
    weights = tuple(stored[which].get(name, 0.0) for name in features)
    return LinearRanker(weights, stored.get("midpoint", 0.0), stored.get("slope", 1.0))
