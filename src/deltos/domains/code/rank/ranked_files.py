"""Rank candidate files by learned weights, with code before tests and prose, and apply the cutoff."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from deltos.domains.code.model import MAX_RESULTS
from deltos.domains.code.paths import is_prose
from deltos.domains.code.rank.description import extract_features
from deltos.domains.code.rank.related_files import boost_related_files
from deltos.domains.code.rank.tuning import RANKING
from deltos.domains.code.retrieve.candidates import gather_candidates
from deltos.domains.code.retrieve.mentioned_files import rescore_for_issue
from deltos.domains.code.retrieve.tuning import RETRIEVAL
from deltos.workspace.file_purpose import is_test

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deltos.domains.code.query.parse import CodeQuery
    from deltos.domains.code.retrieve.candidate_file import CandidateFile
    from deltos.domains.code.retrieve.candidates import CandidatePool, Corpus
    from deltos.ranking import LinearRanker
    from deltos.store.code import FileScope

WEIGHTS_FILE = Path(__file__).with_name("weights.json")


def ranked_files(
    query: CodeQuery, scope: FileScope, corpora: Sequence[Corpus], ranker: LinearRanker
) -> tuple[list[tuple[CandidateFile, float]], bool]:
    """Return the files above the cutoff with their confidences, and whether more files may be above the cutoff."""
    ranked: list[tuple[CandidateFile, float]] = []
    pool = gather_candidates(corpora, query, scope)
    for file_count in (RETRIEVAL.kept_files, MAX_RESULTS):
        files = _rank_files(pool, corpora, query, scope, ranker, at_least=file_count)
        ranked = _sort_code_first(_drop_below_cutoff(files, query), query)
        # Stop if some files are below the cutoff, because further files have lower preliminary scores.
        if len(files) < file_count or len(ranked) < len(files):
            return ranked, False
    return ranked, True


def _rank_files(
    pool: CandidatePool,
    corpora: Sequence[Corpus],
    query: CodeQuery,
    scope: FileScope,
    ranker: LinearRanker,
    *,
    at_least: int,
) -> list[tuple[CandidateFile, float]]:
    """Return the ranked candidate files, best first, each with the confidence that it answers the query."""
    candidates, rows = extract_features(pool, corpora, query, at_least=at_least)
    scored = list(zip(candidates, ranker.scores(rows), strict=True))
    if query.is_issue:
        scored = [
            pair
            for number, corpus in enumerate(corpora)
            for pair in _rescore_candidates(
                corpus, number, [pair for pair in scored if pair[0].corpus == number], query, scope
            )
        ]
    ordered = sorted(scored, key=lambda pair: (-pair[1], pair[0].file.path))
    return [(candidate, ranker.confidence(score)) for candidate, score in ordered]


def _rescore_candidates(
    corpus: Corpus, number: int, scored: list[tuple[CandidateFile, float]], query: CodeQuery, scope: FileScope
) -> list[tuple[CandidateFile, float]]:
    """Return the candidates of one project, with scores adjusted by the issue's mentions and by related files."""
    adjusted = rescore_for_issue(corpus.store, scored, query, scope)
    for candidate, _ in adjusted:
        candidate.corpus = number
    return boost_related_files(adjusted, corpus.evidence.history, corpus.evidence.imports) if adjusted else []


def _drop_below_cutoff(
    ranked: list[tuple[CandidateFile, float]], query: CodeQuery
) -> list[tuple[CandidateFile, float]]:
    """Return the files whose confidence is above the cutoff."""
    is_name = query.kind == "symbol"
    share = RANKING.min_share_of_best_for_names if is_name else RANKING.min_share_of_best
    best = max((confidence for _, confidence in ranked), default=0.0)
    return [(candidate, confidence) for candidate, confidence in ranked if confidence >= best * share]


def _sort_code_first(ranked: list[tuple[CandidateFile, float]], query: CodeQuery) -> list[tuple[CandidateFile, float]]:
    """Sort the files by confidence, reduced for tests and prose unless the query asks for tests or prose.

    Prose that contains more query terms than code keeps its rank. If the query is a name, its definitions come first.
    For how-to questions, code comes after prose.
    """

    def order(pair: tuple[CandidateFile, float]) -> tuple[bool, float]:
        candidate, confidence = pair
        path = candidate.file.path
        if is_prose(path):
            share = 1.0 if query.about_prose else 1 - (1 - RANKING.prose_factor) * candidate.prose_penalty
            return False, confidence * share
        share = RANKING.test_factor if is_test(path) and not query.about_tests else 1.0
        is_defined = query.kind == "symbol" and any(each.name in query.names for each in candidate.definitions)
        return is_defined, confidence * share * (RANKING.prose_factor if query.is_how_to else 1.0)

    return sorted(ranked, key=order, reverse=True)
