"""Ranking features of a candidate file, computed from its words, structure and commit history."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from deltos.domains.code.paths import (
    is_auxiliary,
    is_build_output,
    is_changelog,
    is_prose,
    is_settings,
    meaningful_stem,
)
from deltos.domains.code.rank.tuning import RANKING
from deltos.languages.table import PROSE_LANGUAGES
from deltos.store.code import FileWords
from deltos.workspace.file_purpose import is_test

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deltos.domains.code.query.parse import CodeQuery
    from deltos.domains.code.retrieve.candidate_file import CandidateFile
    from deltos.domains.code.retrieve.term_weights import TermWeights
    from deltos.store.code import ChunkTerms, FileRow

CONTENT_FEATURES = tuple("bm25_best chunk_hits chunk_sum chunk_coverage symbol_coverage doc_coverage".split())
PATH_FEATURES = tuple("stem_share stem_covered folder_share".split())
NAME_FEATURES = ("name_best",)
DEFINITION_FEATURES = tuple("defined_exact defined_top defined_file".split())
PRIORS = tuple("is_test is_aside is_built is_settings is_declaration is_prose is_data is_unknown depth".split())
# Cosine similarity to the query, and the same in standard deviations above the project's mean.
NEAR_FEATURES = tuple("near near_deviations".split())
_OTHER_FEATURES = ("bm25_file", "file_coverage")
# Features from commits that changed the file and are similar to the query.
HISTORY_FEATURES = tuple("history_similar history_similar_sum".split())
OWN_FEATURES = (
    *(CONTENT_FEATURES + PATH_FEATURES + NAME_FEATURES + DEFINITION_FEATURES + PRIORS + _OTHER_FEATURES),
    *(NEAR_FEATURES + HISTORY_FEATURES),
)
# Features that are also used multiplied by the query length, because long queries contain fewer names.
BY_LENGTH = tuple(
    "stem_covered stem_share folder_share bm25_best chunk_coverage chunk_hits chunk_sum"
    " near_deviations history_similar_sum".split()
)
FEATURES = (*OWN_FEATURES, *(f"{name}_by_length" for name in BY_LENGTH))
BEST_CHUNKS = 3  # number of chunks per file from which content features are computed
_BY_LENGTH_COLUMNS = tuple(OWN_FEATURES.index(name) for name in BY_LENGTH)
_CHUNK_COVERAGE_COLUMN, _HEADING_COLUMN = OWN_FEATURES.index("chunk_coverage"), OWN_FEATURES.index("symbol_coverage")
_PROSE_COLUMN, _ASIDE_COLUMN = OWN_FEATURES.index("is_prose"), OWN_FEATURES.index("is_aside")
_DATA_LANGUAGES = frozenset({"json", "yaml", "toml", "xml", "html", "css", "sql"})
_TOP_LEVEL_KINDS = frozenset({"function", "class", "interface", "enum", "type", "component", "module"})


def preliminary_score(candidate: CandidateFile, query: CodeQuery, weights: TermWeights) -> float:
    """Return a score that is cheap to compute and preselects candidates. Its weights were set by hand."""
    path = _path_facts(candidate.file.path)
    guess = candidate.file_score + sum(candidate.chunk_scores[:1]) + math.log(1 + sum(candidate.chunk_scores))
    guess += weights.substring_share(path.lowered)
    if any(definition.name in query.names for definition in candidate.definitions):
        guess += 1
    return guess - (path.is_test and not query.about_tests) * 0.4 - path.priors[0] * 0.3


def compute_features(candidates: Sequence[CandidateFile], query: CodeQuery, weights: TermWeights) -> list[list[float]]:
    """Return the ranking features of all candidates of one query, in the order of FEATURES."""
    rows = [_candidate_features(candidate, query, weights) for candidate in candidates]
    _reduce_prose_penalties(candidates, rows, query)
    length = min(1.0, len(query.terms) / RANKING.long_query_terms)
    for row in rows:
        row += [row[i] * length for i in _BY_LENGTH_COLUMNS]
    return rows


def _reduce_prose_penalties(candidates: Sequence[CandidateFile], rows: Sequence[list[float]], query: CodeQuery) -> None:
    """Reduce the penalties of prose files that contain many more query terms than code, or contain them in a heading.

    For how-to queries, prose files have no penalty.
    """
    in_code = max((row[_CHUNK_COVERAGE_COLUMN] for row in rows if not row[_PROSE_COLUMN]), default=0.0)
    for candidate, row in zip(candidates, rows, strict=True):
        if row[_PROSE_COLUMN] and not is_changelog(candidate.file.path):
            covered = row[_CHUNK_COVERAGE_COLUMN]
            coverage_lead = _share_above_minimum(covered, RANKING.min_prose_coverage) * min(
                1.0, max(0.0, covered - in_code) / RANKING.prose_coverage_lead
            )
            heading_match = (
                _share_above_minimum(row[_HEADING_COLUMN], RANKING.min_heading_coverage)
                if len(query.terms) > 1
                else 0.0
            )
            candidate.prose_penalty = 0.0 if query.is_how_to else (1 - coverage_lead) * (1 - heading_match)
            row[_PROSE_COLUMN] *= candidate.prose_penalty
            row[_ASIDE_COLUMN] *= candidate.prose_penalty


def _share_above_minimum(share: float, minimum: float) -> float:
    """Return how far a share exceeds the minimum, scaled from 0 at the minimum to 1 at a share of 1."""
    return max(0.0, share - minimum) / (1 - minimum)


def _candidate_features(candidate: CandidateFile, query: CodeQuery, weights: TermWeights) -> list[float]:
    """Return the ranking features of one candidate, in the order of OWN_FEATURES."""
    file, words = candidate.file, candidate.words or FileWords("", "", "")
    path = _path_facts(file.path)
    # Sets of query terms are bit masks with one bit per term, because their unions and differences are cheap.
    in_stem, in_folders = weights.mask_of_words(words.stem), weights.mask_of_words(words.folders)
    in_names = weights.mask_of_words(words.names)
    content, in_content = _content_features(candidate.chunk_scores, candidate.terms, weights)
    anywhere = in_stem | in_folders | in_names | in_content | weights.mask_of_words(words.head)
    candidate.coverage = weights.share(anywhere)
    return [
        *content,
        weights.share(in_stem),
        _stem_coverage(words.stem, path.subject, weights),
        weights.share(in_folders & ~in_stem),
        _best_name_score(f" {words.names} ", in_names, weights) if in_names else 0.0,
        *_definition_features(candidate, query, path.subject),
        float(path.is_test and not query.about_tests),
        *path.priors,
        *_file_priors(file),
        path.depth,
        candidate.file_score,
        candidate.coverage,
        candidate.similarity,
        candidate.deviations,
        candidate.commit_support.best,
        candidate.commit_support.total,
    ]


def _content_features(
    scores: Sequence[float], chunks: Sequence[ChunkTerms], weights: TermWeights
) -> tuple[list[float], int]:
    """Return the ranking features of a file's best chunks (see CONTENT_FEATURES), and a bit mask of their terms."""
    coverage = symbol_coverage = doc_coverage = 0.0
    found_anywhere = 0
    for chunk in chunks:
        found_anywhere |= chunk.anywhere
        coverage = max(coverage, weights.share(chunk.anywhere))
        symbol_coverage = max(symbol_coverage, weights.share(chunk.symbol))
        doc_coverage = max(doc_coverage, weights.share(chunk.doc))
    amount = (math.log(1 + len(scores)), math.log(1 + sum(scores)))
    return [max(scores, default=0.0), *amount, coverage, symbol_coverage, doc_coverage], found_anywhere


def _stem_coverage(stem: str, subject: str, weights: TermWeights) -> float:
    """Return the share of the words in a file's stem that the query contains."""
    words = set(stem.split())
    parts = words - {subject} if len(words) > 1 else words
    return sum(part in weights.by_term for part in parts) / len(parts) if parts else 0.0


def _best_name_score(names: str, in_names: int, weights: TermWeights) -> float:
    """Return the best score of the names: share of query terms in the name, times share of its words in the query."""
    best = 0.0
    by_term = weights.by_term
    seen = set()
    for at in weights.offsets(names, in_names):
        start = names.rfind("|", 0, at) + 1
        if start in seen:
            continue
        seen.add(start)
        end = names.find("|", at)
        words = names[start : end if end >= 0 else None].split()
        hits = [by_term[word] for word in words if word in by_term]
        parts = len(words) - 1 if len(words) > 2 else len(words)
        best = max(best, sum(hits) * min(1.0, len(hits) / parts))
    return best


def _definition_features(candidate: CandidateFile, query: CodeQuery, subject: str) -> tuple[float, float, float]:
    """Return the ranking features of definitions named in the query, in the order of DEFINITION_FEATURES."""
    exact = top = own = 0.0
    for definition in candidate.definitions:
        if definition.name in query.names:
            exact = 1.0
        if not definition.container and definition.kind in _TOP_LEVEL_KINDS:
            top = 1.0
        if _alphanumeric(definition.name) == subject:
            own = 1.0
    return exact, top, own


@dataclass(frozen=True, slots=True)
class _PathFacts:
    """Properties of a file path from which ranking features are computed."""

    lowered: str
    subject: str
    is_test: bool
    priors: tuple[float, ...]
    depth: float


@lru_cache(maxsize=20_000)
def _path_facts(path: str) -> _PathFacts:
    priors = (
        is_auxiliary(path),
        is_build_output(path),
        is_settings(path),
        path.endswith((".d.ts", ".d.mts", ".d.cts")),
    )
    return _PathFacts(
        path.lower(),
        _alphanumeric(meaningful_stem(path)[0]),
        is_test(path),
        tuple(map(float, priors)),
        path.count("/") / 10,
    )


def _file_priors(file: FileRow) -> tuple[float, float, float]:
    """Return whether a file is prose, data, or in an unknown language."""
    return (
        float(file.language in PROSE_LANGUAGES or is_prose(file.path)),
        float(file.language in _DATA_LANGUAGES),
        float(not file.language),
    )


@lru_cache(maxsize=8192)
def _alphanumeric(name: str) -> str:
    return "".join(char for char in name.lower() if char.isalnum())
