"""Hard negatives (wrong texts that are similar to a question) and word scores, computed with BM25."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

if TYPE_CHECKING:
    import numpy.typing as npt

    from training.data import Bags, Pairs

_NEGATIVES = 6
_DENSE_ROWS = 2_000


def hard_negatives(pairs: Pairs, words: int, device: torch.device) -> npt.NDArray[np.int64]:
    """Return, for each question, the wrong texts of its package with the best BM25 scores.

    The scores are not normalised by text length.
    """
    weights = _rarity_weights(pairs, words, device)
    negatives = np.full((len(pairs), _NEGATIVES), -1, np.int64)
    order = np.argsort(pairs.packages, kind="stable")
    for group in np.split(order, np.flatnonzero(np.diff(pairs.packages[order])) + 1):
        for start in range(0, len(group), _DENSE_ROWS):
            rows = group[start : start + _DENSE_ROWS]
            if len(rows) > _NEGATIVES + 3:
                negatives[rows] = rows[_best_wrong_texts(pairs, rows, weights, device)]
    return negatives


def _best_wrong_texts(
    pairs: Pairs, rows: npt.NDArray[np.int64], weights: torch.Tensor, device: torch.device
) -> npt.NDArray[np.int64]:
    scores = _bm25_scores(pairs, rows, weights, device)
    scores.fill_diagonal_(-1)
    chosen: npt.NDArray[np.int64] = scores.topk(_NEGATIVES, dim=1).indices.cpu().numpy()
    return chosen


def word_scores(pairs: Pairs, words: int, device: torch.device) -> dict[int, torch.Tensor]:
    """Return the BM25 scores of each question with each text, by package."""
    weights = _rarity_weights(pairs, words, device)
    return {
        int(package): _bm25_scores(pairs, np.flatnonzero(pairs.packages == package), weights, device)
        for package in np.unique(pairs.packages)
    }


def _rarity_weights(pairs: Pairs, words: int, device: torch.device) -> torch.Tensor:
    frequency = pairs.text_bags.rows_with(words) / max(1, len(pairs))
    return torch.from_numpy(np.log(1 + 1 / (frequency + 1e-6))).float().to(device)


def _bm25_scores(
    pairs: Pairs, rows: npt.NDArray[np.int64], weights: torch.Tensor, device: torch.device
) -> torch.Tensor:
    queries = _dense_counts(pairs.query_bags, rows, len(weights), device) * weights
    texts = _dense_counts(pairs.text_bags, rows, len(weights), device)
    lengths = texts.sum(1)
    return (queries @ texts.T) / (1 + 0.3 * lengths / lengths.mean())


def _dense_counts(bags: Bags, rows: npt.NDArray[np.int64], words: int, device: torch.device) -> torch.Tensor:
    ids, offsets = bags.take(rows)
    owner = np.repeat(np.arange(len(rows)), np.diff([*offsets, len(ids)]))
    matrix = torch.zeros(len(rows), words, device=device)
    matrix[torch.from_numpy(owner).to(device), torch.from_numpy(ids).to(device)] = 1
    return matrix
