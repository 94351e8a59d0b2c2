"""Mean reciprocal rank on held-out packages.

It measures how well a question finds its text among all texts of the same package.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np
import torch

if TYPE_CHECKING:
    from training.data import Pairs

    Words = dict[int, torch.Tensor]  # BM25 scores of each question with each text, by package

GROUPS = {
    "code": ("doc", "comment", "test"),
    "docs": ("heading", "sentence", "link"),
    "apis": ("operation",),
}


def mean_reciprocal_ranks(
    pairs: Pairs, queries: torch.Tensor, texts: torch.Tensor, words: Words | None = None, weight: float = 0.5
) -> dict[str, float]:
    """Return the mean reciprocal rank for each group of kinds. Word scores are added to the similarity, if given."""
    found: dict[str, list[float]] = defaultdict(list)
    for package in np.unique(pairs.packages):
        rows = torch.from_numpy(np.flatnonzero(pairs.packages == package)).to(queries.device)
        scores = queries[rows].float() @ texts[rows].float().T
        if words is not None:
            scores = standardise(words[int(package)]) + weight * standardise(scores)
        ranks = (scores > scores.diagonal()[:, None]).sum(1) + 1
        for row, rank in zip(rows.tolist(), ranks.tolist(), strict=True):
            for group, kinds in GROUPS.items():
                if pairs.kinds[row] in kinds:
                    found[group].append(1 / rank)
    return {group: float(np.mean(values)) for group, values in sorted(found.items())}


def mrr_of_word_scores(pairs: Pairs, words: Words) -> dict[str, float]:
    """Return the mean reciprocal rank of word scores alone, for each group of kinds."""
    nothing = torch.zeros(len(pairs), 1, device=next(iter(words.values())).device if words else None)
    return mean_reciprocal_ranks(pairs, nothing, nothing, words)


def standardise(scores: torch.Tensor) -> torch.Tensor:
    """Standardise each row to mean 0 and standard deviation 1."""
    return (scores - scores.mean(1, keepdim=True)) / (scores.std(1, keepdim=True) + 1e-6)


def format_row(name: str, figures: dict[str, float]) -> str:
    """Format a row of the table for LOG.md."""
    return f"| {name} | " + " | ".join(f"{figures[group]:.4f}" if group in figures else "–" for group in GROUPS) + " |"
