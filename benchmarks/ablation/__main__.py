"""Switch off each feature group, heuristic and constant of code search in turn, and print the change of quality.

    python -m benchmarks.ablation [--part features|constants|both] [--sample N]

Features: the ranker is trained again without the group on the development repositories. Constants: the value is
replaced while the same queries are asked. Development figures of features are cross-validated by repository. Each
change is printed with its standard error over queries. A feature or constant that gains less than twice the standard
error on held-out queries is a candidate for removal. Repositories whose files are not on disk are skipped;
`benchmarks.train_code_ranker` writes them.
"""

from __future__ import annotations

import argparse
import pickle
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.code_dataset import Query, history_of, matches_target, ndcg, open_index, queries, questions
from benchmarks.paths import SCRATCH
from benchmarks.train_code_ranker import Example, Vector, cross_validate, examples, fit, weights_without_repository
from deltos.domains.code.query.parse import parse_query
from deltos.domains.code.rank.chunk_selection import select_chunks
from deltos.domains.code.rank.features import (
    BY_LENGTH,
    CONTENT_FEATURES,
    DEFINITION_FEATURES,
    FEATURES,
    HISTORY_FEATURES,
    NAME_FEATURES,
    NEAR_FEATURES,
    PATH_FEATURES,
    PRIORS,
)
from deltos.domains.code.rank.ranked_files import WEIGHTS_FILE, ranked_files
from deltos.domains.code.rank.tuning import RANKING
from deltos.domains.code.retrieve.candidates import Corpus
from deltos.domains.code.retrieve.evidence import evidence_for
from deltos.domains.code.retrieve.tuning import RETRIEVAL
from deltos.ranking import load_ranker
from deltos.store.code import FileScope
from deltos.text.words import shared_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from deltos.domains.code.retrieve.candidates import Evidence

CACHE = SCRATCH / "examples.pkl"
GROUPS: dict[str, Sequence[str]] = {
    "content": CONTENT_FEATURES,
    "path": PATH_FEATURES,
    "names": NAME_FEATURES,
    "definitions": DEFINITION_FEATURES,
    "priors": PRIORS,
    "similarity": NEAR_FEATURES,
    "history": HISTORY_FEATURES,
    "in proportion to query length": [f"{name}_by_length" for name in BY_LENGTH],
}
# Each row has an object, an attribute, and a value with which the attribute has no effect or half of its effect.
CONSTANTS: tuple[tuple[Any, str, float], ...] = (
    (RETRIEVAL, "match_terms", 4),
    (RETRIEVAL, "pair_rows", 0),
    (RETRIEVAL, "single_term_rows", 150),
    (RETRIEVAL, "chunk_candidates", 75),
    (RETRIEVAL, "file_candidates", 30),
    (RETRIEVAL, "kept_files", 12),
    (RETRIEVAL, "semantic_candidates", 30),
    (RETRIEVAL, "kept_semantic_files", 8),
    (RETRIEVAL, "kept_commit_files", 0),
    (RETRIEVAL, "secondary_similarity_penalty", 0.0),
    (RANKING, "test_factor", 1.0),
    (RANKING, "prose_factor", 1.0),
    (RANKING, "min_share_of_best", 0.0),
    (RANKING, "prose_coverage_lead", 1e9),
    (RANKING, "min_heading_coverage", 0.999999),
    (RANKING, "chunk_bm25_weight", 0.0),
    (RANKING, "chunk_coverage_weight", 0.0),
    (RANKING, "chunk_symbol_weight", 0.0),
    (RANKING, "chunk_deviation_weight", 0.0),
    (RANKING, "chunk_unnamed_weight", 0.0),
    (RANKING, "chunk_length_weight", 0.0),
)


@dataclass(frozen=True, slots=True)
class QueryScores:
    """Quality of the results of each query in one measurement."""

    held_out: tuple[bool, ...]
    values: Vector

    def change(self, other: QueryScores, *, held_out: bool) -> str:
        """Format the mean change to another measurement with its standard error."""
        chosen = np.array(self.held_out) == held_out
        differences = (other.values - self.values)[chosen]
        if not len(differences):
            return "–"
        return f"{differences.mean():+.4f} ± {differences.std() / len(differences) ** 0.5:.4f}"

    def mean(self, *, held_out: bool) -> float:
        """Return the mean quality over the development queries or over the held-out queries."""
        return float(self.values[np.array(self.held_out) == held_out].mean())


def _queries_on_disk() -> Iterator[Query]:
    """Yield the queries about all repositories whose files are on disk."""
    for query in chain(queries(), questions()):
        if query.root.is_dir():
            yield query


def _cached_examples() -> list[Example]:
    """Return the candidates and features of all queries. They are computed once and stored in a file."""
    if not CACHE.exists():
        CACHE.write_bytes(pickle.dumps(examples(_queries_on_disk())))
    stored: list[Example] = pickle.loads(CACHE.read_bytes())
    return stored


def _measure_features(found: list[Example], without: Sequence[str]) -> QueryScores:
    """Train the ranker without the given features, and return NDCG@10 of each query."""
    kept = np.array([name not in without for name in FEATURES], float)
    masked = [Example(each.query, each.paths, each.features * kept, each.right) for each in found]
    development = [each for each in masked if not each.query.held_out]
    held_out = [each for each in masked if each.query.held_out]
    weights = fit(development)
    learned = weights_without_repository(development) | {each.query.repository: weights for each in held_out}
    ranked = cross_validate([*development, *held_out], learned)
    scores = np.array([ndcg(paths, query.targets) for query, paths in ranked])
    return QueryScores(tuple(query.held_out for query, _ in ranked), scores)


@contextmanager
def _replace_constant(constants: object, name: str, value: float) -> Iterator[None]:
    """Temporarily replace a constant by another value (context manager)."""
    before = getattr(constants, name)
    object.__setattr__(constants, name, value)
    try:
        yield
    finally:
        object.__setattr__(constants, name, before)


_CACHED_FEATURE_INPUTS: dict[str, Evidence] = {}


def _feature_inputs(query: Query) -> Evidence:
    """Return the cached inputs from which the ranking features of a query are computed."""
    if query.id not in _CACHED_FEATURE_INPUTS:
        parsed = parse_query(query.text, shared_words(), exact=False)
        _CACHED_FEATURE_INPUTS[query.id] = evidence_for(open_index(query.root).code, history_of(query), parsed)
    return _CACHED_FEATURE_INPUTS[query.id]


def _measure_search(asked: Sequence[Query]) -> tuple[QueryScores, QueryScores]:
    """Return NDCG@10 of each query, and whether its best chunk of the right file contains a target line."""
    ranker = load_ranker(WEIGHTS_FILE, FEATURES)
    scores, lines = [], []
    for query in asked:
        parsed = parse_query(query.text, shared_words(), exact=False)
        corpora = [Corpus(open_index(query.root).code, _feature_inputs(query))]
        ranked, _ = ranked_files(parsed, FileScope(), corpora, ranker)
        paths = [candidate.file.path for candidate, _ in ranked]
        scores.append(ndcg(paths, query.targets))
        right = [
            pair for pair in ranked[:10] if any(matches_target(pair[0].file.path, target) for target in query.targets)
        ]
        chunks = [each.chunk for each in select_chunks(corpora, right[:1], parsed)[:1]]
        lines.append(float(any(_overlaps(chunk.start_line, chunk.end_line, query.targets) for chunk in chunks)))
    held_out = tuple(query.held_out for query in asked)
    return QueryScores(held_out, np.array(scores)), QueryScores(held_out, np.array(lines))


def _overlaps(start: int, end: int, targets: Iterable[dict[str, Any]]) -> bool:
    return any(start <= target.get("end", 0) and target.get("start", 10**9) <= end for target in targets)


def main() -> None:
    """Print the tables of features and constants."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=("features", "constants", "both"), default="both")
    parser.add_argument("--sample", type=int, default=2, help="ask every Nth question for constants")
    arguments = parser.parse_args()
    if arguments.part != "constants":
        _print_features(_cached_examples())
    if arguments.part != "features":
        _print_constants([query for query in _queries_on_disk() if query.set == "questions"][:: arguments.sample])


def _print_features(found: list[Example]) -> None:
    """Print how much each group of features improves the ranking."""
    full = _measure_features(found, ())
    print(f"All features: development {full.mean(held_out=False):.3f}, held-out {full.mean(held_out=True):.3f}\n")
    print("| features left out | development | held-out |\n|---|--:|--:|")
    for name, group in GROUPS.items():
        part = _measure_features(found, group)
        print(f"| {name} | {full.change(part, held_out=False)} | {full.change(part, held_out=True)} |", flush=True)


def _print_constants(asked: Sequence[Query]) -> None:
    """Print how much each constant improves the ranking."""
    scores, lines = _measure_search(asked)
    print(f"\n{len(asked)} questions: NDCG@10 {scores.mean(held_out=False):.3f}, {scores.mean(held_out=True):.3f};")
    print(f"a target line in the first chunk: {lines.mean(held_out=False):.3f}, {lines.mean(held_out=True):.3f}\n")
    print("| constant | NDCG@10, development | held-out | target line, development | held-out |\n|---|--:|--:|--:|--:|")
    for constants, name, value in CONSTANTS:
        with _replace_constant(constants, name, value):
            changed = _measure_search(asked)
        cells = [
            before.change(after, held_out=held_out)
            for before, after in zip((scores, lines), changed, strict=True)
            for held_out in (False, True)
        ]
        print(f"| {name} = {value:g} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
