"""Train the weights of the code ranker, and evaluate them on unseen repositories.

    python -m benchmarks.train_code_ranker [--write] [--words]

Pairwise logistic regression with shrinkage: each right file against the hardest wrong ones of the same query, with
equal weight per query, over four sets (code_dataset.py). Prints figures that are cross-validated by repository, and
figures for the held-out repositories, which are not used for training. `--words` omits the semantic features.
"""

from __future__ import annotations

import argparse
import json
import statistics
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from benchmarks.code_dataset import (
    DEPTH,
    Query,
    history_of,
    lay_out,
    matches_target,
    ndcg,
    open_index,
    queries,
    questions,
    subjects,
)
from deltos.domains.code.query.parse import parse_query
from deltos.domains.code.rank.features import FEATURES
from deltos.domains.code.rank.ranked_files import WEIGHTS_FILE, describe_candidates
from deltos.domains.code.retrieve.candidates import Corpus
from deltos.domains.code.retrieve.evidence import evidence_for
from deltos.store.code import FileScope
from deltos.text.words import shared_words

if TYPE_CHECKING:
    from collections.abc import Iterable

FOLDS = 6
HARD_NEGATIVES = 15
ROUNDS = 3
STEPS = 6
SHRINKAGE = 0.015
LARGE_FILES = 500
# Weight of a query in each set, because the sets differ in size.
SET_WEIGHTS = {"labelled": 1.0, "commits": 2.0, "questions": 1.0, "subjects": 0.5}

Vector: TypeAlias = "np.ndarray[tuple[int, ...], np.dtype[np.float64]]"


@dataclass(frozen=True, slots=True)
class Example:
    """A query with its candidate files, the features of these files, and which of them are right."""

    query: Query
    paths: list[str]
    features: Vector
    right: Vector


def examples(asked: Iterable[Query], *, is_semantic: bool = True) -> list[Example]:
    """Return an example for every query whose repository was laid out."""
    found = []
    for query in asked:
        if not query.root.is_dir():
            continue
        store = open_index(query.root).code
        parsed = parse_query(query.text, shared_words(), exact=False)
        evidence = evidence_for(store, history_of(query), parsed, by_meaning=is_semantic)
        candidates, rows = describe_candidates([Corpus(store, evidence)], parsed, FileScope())
        paths = [candidate.file.path for candidate in candidates]
        right = [any(matches_target(path, target) for target in query.targets) for path in paths]
        features = np.array(rows, float).reshape(len(paths), len(FEATURES))
        found.append(Example(query, paths, features, np.array(right, float)))
    return found


def fit(training: list[Example]) -> Vector:
    """Learn the weights of the features, which are not standardised."""
    everything = np.vstack([example.features for example in training])
    spread = everything.std(axis=0) + 1e-6
    weights: Vector = np.zeros(len(FEATURES))
    weights[[FEATURES.index("bm25_best"), FEATURES.index("bm25_file")]] = 1.0
    for _ in range(ROUNDS):
        differences, importance = _difference_pairs(training, spread, weights)
        weights = _descend(differences, importance, weights)
    result: Vector = weights / spread
    return result


def _difference_pairs(training: list[Example], spread: Vector, weights: Vector) -> tuple[Vector, Vector]:
    differences, importance = [], []
    for example in training:
        scaled = example.features / spread
        right, wrong = np.flatnonzero(example.right > 0), np.flatnonzero(example.right == 0)
        if not len(right) or not len(wrong):
            continue
        hardest = wrong[np.argsort(-(scaled[wrong] @ weights))[:HARD_NEGATIVES]]
        pairs = (scaled[right][:, None, :] - scaled[hardest][None, :, :]).reshape(-1, scaled.shape[1])
        differences.append(pairs)
        importance.append(np.full(len(pairs), SET_WEIGHTS[example.query.set] / len(pairs)))
    merged = np.concatenate(importance)
    return np.vstack(differences), merged / merged.sum()


def _descend(differences: Vector, importance: Vector, weights: Vector) -> Vector:
    """Minimise the logistic loss with a quadratic penalty by Newton's method."""
    for _ in range(STEPS):
        error = 1 / (1 + np.exp(np.clip(differences @ weights, -30, 30)))
        gradient = -(differences.T @ (error * importance)) + SHRINKAGE * weights
        curvature = (differences * (error * (1 - error) * importance)[:, None]).T @ differences
        curvature[np.diag_indices_from(curvature)] += SHRINKAGE
        weights = weights - np.linalg.solve(curvature, gradient)
    return weights


def folds_of(found: list[Example]) -> dict[str, int]:
    """Return, for each repository, the number of the fold in which it is left out."""
    names = sorted({example.query.repository for example in found})
    np.random.default_rng(0).shuffle(names)
    return {name: number % FOLDS for number, name in enumerate(names)}


def weights_without_repository(found: list[Example]) -> dict[str, Vector]:
    """Return, for each repository, weights that were learned without it."""
    folds = folds_of(found)
    learned = [fit([example for example in found if folds[example.query.repository] != fold]) for fold in range(FOLDS)]
    return {repository: learned[fold] for repository, fold in folds.items()}


def cross_validate(found: list[Example], weights: dict[str, Vector]) -> list[tuple[Query, list[str]]]:
    """Yield each query with its files, ranked by the weights of its repository."""
    ranked = []
    for example in found:
        order = np.argsort(-(example.features @ weights[example.query.repository]), kind="stable")
        ranked.append((example.query, [example.paths[i] for i in order]))
    return ranked


def print_table(name: str, ranked: Iterable[tuple[Query, list[str]]]) -> None:
    """Print a row for each set and category, and for each category of large repositories."""
    groups: dict[str, list[tuple[float, bool]]] = {}
    for query, paths in ranked:
        is_found = any(matches_target(path, target) for path in paths[:DEPTH] for target in query.targets)
        names = {query.set}
        if query.category:
            names.add(f"{query.set}, {query.category}")
            if open_index(query.root).totals().files >= LARGE_FILES:
                names.add(f"{query.set}, {query.category}, {LARGE_FILES} files and more")
        for group in names:
            groups.setdefault(group, []).append((ndcg(paths, query.targets), is_found))
    for group, values in sorted(groups.items()):
        scores, found = zip(*values, strict=True)
        print(f"| {name}{group} | {len(values)} | {statistics.fmean(scores):.3f} | {statistics.fmean(found):.3f} |")


def main() -> None:
    """Print cross-validated figures, and write weights trained on all data."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write the weights into the package")
    parser.add_argument("--words", action="store_true", help="without semantic features")
    arguments = parser.parse_args()
    lay_out()
    every = examples(chain(queries(), questions(), subjects()), is_semantic=not arguments.words)
    found = [example for example in every if not example.query.held_out]
    print("| queries | number | NDCG@10 | in the first ten |\n|---|--:|--:|--:|")
    print_table("", cross_validate(found, weights_without_repository(found)))
    weights = fit(found)
    held_out = [example for example in every if example.query.held_out]
    print_table("held-out: ", cross_validate(held_out, {example.query.repository: weights for example in held_out}))
    best = [float((example.features @ weights).max()) for example in found if len(example.paths)]
    if arguments.write:
        stored = {
            "midpoint": round(statistics.median(best) * 0.6, 3),
            "weights": {name: round(float(weight), 4) for name, weight in zip(FEATURES, weights, strict=True)},
        }
        WEIGHTS_FILE.write_text(json.dumps(stored, indent=1) + "\n")


if __name__ == "__main__":
    main()
