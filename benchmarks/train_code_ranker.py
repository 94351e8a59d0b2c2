"""Learn the weights of the code ranker, and what they give on repositories that they have not seen.

    python -m benchmarks.train_code_ranker [--write]

Pairwise logistic regression: each right file against the hardest wrong ones of the same query, queries equal, weights
kept small. Cross-validated by repository: the figures are of queries over repositories that were left out of training.
"""

from __future__ import annotations

import argparse
import json
import statistics
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from benchmarks.code_material import Query, hits, index_of, lay_out, ndcg, queries
from deltos.domains.code.features import FEATURES
from deltos.domains.code.match import describe_candidates
from deltos.domains.code.query import parse_query
from deltos.domains.code.search import WEIGHTS_FILE
from deltos.store.code import FileScope
from deltos.text.words import shared_words

FOLDS = 6
HARD_NEGATIVES = 15
ROUNDS = 3
STEPS = 300
SHRINKAGE = 0.015
STEP_SIZE = 0.05
COMMIT_WEIGHT = 2.0

Vector: TypeAlias = "np.ndarray[tuple[int, ...], np.dtype[np.float64]]"


@dataclass(frozen=True, slots=True)
class Example:
    """A query with its candidate files, their features and which of them are right."""

    query: Query
    paths: list[str]
    features: Vector
    right: Vector


def examples() -> list[Example]:
    """Every query that has candidates."""
    found = []
    for query in queries():
        store = index_of(query.root).code
        candidates, rows = describe_candidates(store, parse_query(query.text, shared_words(), exact=False), FileScope())
        paths = [candidate.file.path for candidate in candidates]
        right = [any(hits(path, target) for target in query.targets) for path in paths]
        features = np.array(rows, float).reshape(len(paths), len(FEATURES))
        found.append(Example(query, paths, features, np.array(right, float)))
    return found


def fit(training: list[Example]) -> Vector:
    """Weights for raw features."""
    everything = np.vstack([example.features for example in training])
    spread = everything.std(axis=0) + 1e-6
    weights: Vector = np.zeros(len(FEATURES))
    weights[[FEATURES.index("bm25_best"), FEATURES.index("bm25_file")]] = 1.0
    for _ in range(ROUNDS):
        differences, importance = _pairs(training, spread, weights)
        weights = _descend(differences, importance, weights)
    result: Vector = weights / spread
    return result


def _pairs(training: list[Example], spread: Vector, weights: Vector) -> tuple[Vector, Vector]:
    differences, importance = [], []
    for example in training:
        scaled = example.features / spread
        right, wrong = np.flatnonzero(example.right > 0), np.flatnonzero(example.right == 0)
        if not len(right) or not len(wrong):
            continue
        hardest = wrong[np.argsort(-(scaled[wrong] @ weights))[:HARD_NEGATIVES]]
        pairs = (scaled[right][:, None, :] - scaled[hardest][None, :, :]).reshape(-1, scaled.shape[1])
        differences.append(pairs)
        weight = COMMIT_WEIGHT if example.query.set == "commits" else 1.0
        importance.append(np.full(len(pairs), weight / len(pairs)))
    merged = np.concatenate(importance)
    return np.vstack(differences), merged / merged.sum()


def _descend(differences: Vector, importance: Vector, weights: Vector) -> Vector:
    """Adam on the logistic loss with shrinkage."""
    momentum, variance = np.zeros_like(weights), np.zeros_like(weights)
    for step in range(1, STEPS + 1):
        error = 1 / (1 + np.exp(np.clip(differences @ weights, -30, 30)))
        gradient = -(differences.T @ (error * importance)) + SHRINKAGE * weights
        momentum = 0.9 * momentum + 0.1 * gradient
        variance = 0.99 * variance + 0.01 * gradient**2
        rate = STEP_SIZE / (np.sqrt(variance / (1 - 0.99**step)) + 1e-8)
        weights = weights - rate * momentum / (1 - 0.9**step)
    return weights


def folds_of(found: list[Example]) -> dict[str, int]:
    """Which repository is left out in which fold."""
    names = sorted({example.query.repository for example in found})
    np.random.default_rng(0).shuffle(names)
    return {name: number % FOLDS for number, name in enumerate(names)}


def fit_without(found: list[Example]) -> dict[str, Vector]:
    """For each repository, weights that have not seen it."""
    folds = folds_of(found)
    learned = [fit([example for example in found if folds[example.query.repository] != fold]) for fold in range(FOLDS)]
    return {repository: learned[fold] for repository, fold in folds.items()}


def cross_validate(found: list[Example], weights: dict[str, Vector]) -> list[tuple[Query, list[str]]]:
    """Each query with its files as ranked by weights that have not seen its repository."""
    ranked = []
    for example in found:
        order = np.argsort(-(example.features @ weights[example.query.repository]), kind="stable")
        ranked.append((example.query, [example.paths[i] for i in order]))
    return ranked


def main() -> None:
    """Cross-validate, print, and write the weights learned from everything."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write the weights into the package")
    arguments = parser.parse_args()
    lay_out()
    found = examples()
    groups: dict[str, list[float]] = {}
    for query, paths in cross_validate(found, fit_without(found)):
        for group in (query.set, query.category, f"{query.set}/{query.language}"):
            groups.setdefault(group, []).append(ndcg(paths, query.targets))
    for group, values in sorted(groups.items()):
        print(f"{group:24s} {len(values):4d} {statistics.fmean(values):.4f}")
    weights = fit(found)
    best = [float((example.features @ weights).max()) for example in found if len(example.paths)]
    if arguments.write:
        stored = {
            "midpoint": round(statistics.median(best) * 0.6, 3),
            "weights": {name: round(float(weight), 4) for name, weight in zip(FEATURES, weights, strict=True)},
        }
        WEIGHTS_FILE.write_text(json.dumps(stored, indent=1) + "\n")


if __name__ == "__main__":
    main()
