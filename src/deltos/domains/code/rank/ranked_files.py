"""Rank candidate files by learned weights, with code before tests and prose, and apply the cutoff."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from deltos.domains.code.paths import is_prose
from deltos.domains.code.rank.features import BEST_CHUNKS, compute_features, preliminary_score
from deltos.domains.code.rank.related_files import boost_related_files
from deltos.domains.code.rank.tuning import RANKING
from deltos.domains.code.retrieve.candidates import gather_candidates, pooled_similarity_statistics
from deltos.domains.code.retrieve.mentioned_files import rescore_for_issue
from deltos.domains.code.retrieve.tuning import RETRIEVAL
from deltos.workspace.file_purpose import is_test

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deltos.domains.code.query.parse import CodeQuery
    from deltos.domains.code.retrieve.candidate_file import CandidateFile
    from deltos.domains.code.retrieve.candidates import Corpus
    from deltos.domains.code.retrieve.chunk_similarity import CodeSimilarities
    from deltos.domains.code.retrieve.similarity_statistics import SimilarityStatistics
    from deltos.ranking import LinearRanker
    from deltos.store.code import FileScope

    _Ranked = list[tuple[CandidateFile, float]]

WEIGHTS_FILE = Path(__file__).with_name("weights.json")


def ranked_files(
    query: CodeQuery, scope: FileScope, corpora: Sequence[Corpus], ranker: LinearRanker, *, limit: int = 0
) -> tuple[_Ranked, bool]:
    """Return the files above the cutoff with their confidences, and whether unranked files may also be above it.

    `limit` is the number of files that the caller needs.
    """
    candidates, rows = describe_candidates(corpora, query, scope, at_least=limit)
    scored = list(zip(candidates, ranker.scores(rows), strict=True))
    if query.is_issue:
        scored = [
            pair for n, corpus in enumerate(corpora) for pair in _rescore_for_issue(corpus, n, scored, query, scope)
        ]
    ordered = sorted(scored, key=lambda pair: (-pair[1], pair[0].file.path))
    confident = _drop_below_cutoff([(candidate, ranker.confidence(score)) for candidate, score in ordered], query)
    # If no file is below the cutoff, files whose features were not computed may be above it.
    is_least = len(confident) == len(ordered) >= RETRIEVAL.kept_files
    return _sort_code_first(confident, query), is_least


def describe_candidates(
    corpora: Sequence[Corpus], query: CodeQuery, scope: FileScope, *, at_least: int = 0
) -> tuple[list[CandidateFile], list[list[float]]]:
    """Return the best candidate files of several projects, and the ranking features of each file.

    `at_least` is the minimum number of candidates to return, if there are enough.
    """
    pool = gather_candidates(corpora, query, scope)
    candidates = pool.candidates
    kept = max(RETRIEVAL.kept_files_for_name if query.names else RETRIEVAL.kept_files, at_least)
    best_similar = _best_candidates(pool.similar_files, RETRIEVAL.kept_semantic_files)
    best_commit_files = _best_candidates(pool.commit_files, RETRIEVAL.kept_commit_files)
    for candidate in best_similar:
        candidate.is_semantic_match = True
    for candidate in best_commit_files:
        candidate.is_commit_match = True
    if len(candidates) > kept:
        preselected = sorted(candidates, key=lambda each: -preliminary_score(each, query, pool.weights))[:kept]
        by_id = {(each.corpus, each.file.id): each for each in (*preselected, *best_similar, *best_commit_files)}
        candidates = list(by_id.values())
    statistics = pooled_similarity_statistics(corpora)
    for number, corpus in enumerate(corpora):
        if here := [candidate for candidate in candidates if candidate.corpus == number]:
            if corpus.evidence.similarities:
                _set_similarities(here, corpus.evidence.similarities, statistics)
            for candidate in here:
                if support := pool.commit_support[number].get(candidate.file.path):
                    candidate.commit_support = support
            _set_words(here, corpus, query)
    return candidates, compute_features(candidates, query, pool.weights)


def _best_candidates(found: Sequence[tuple[float, CandidateFile]], count: int) -> list[CandidateFile]:
    """Return the candidates with the highest scores, best first; candidates with equal scores keep their order."""
    return [candidate for _, candidate in sorted(found, key=lambda pair: -pair[0])[:count]]


def _set_words(candidates: Sequence[CandidateFile], corpus: Corpus, query: CodeQuery) -> None:
    """Store in each candidate the file's index terms and the query terms in its best chunks."""
    files = corpus.store.file_words([candidate.file.id for candidate in candidates])
    best = [chunk_id for candidate in candidates for chunk_id in candidate.chunk_ids[:BEST_CHUNKS]]
    terms = corpus.store.chunk_terms(best, query.terms)
    for candidate in candidates:
        candidate.words = files[candidate.file.id]
        candidate.terms = [terms[chunk_id] for chunk_id in candidate.chunk_ids[:BEST_CHUNKS]]


def _set_similarities(
    candidates: Sequence[CandidateFile], similarities: CodeSimilarities, statistics: SimilarityStatistics
) -> None:
    """Store in each candidate its similarity to the query and its most similar chunks."""
    similar_files = similarities.most_similar_chunks(candidate.file.id for candidate in candidates)
    for candidate in candidates:
        if similar := similar_files.get(candidate.file.id):
            candidate.similar_chunks, candidate.similarity = similar.chunk_ids, similar.similarity
            candidate.deviations = (similar.similarity - statistics.mean) / statistics.deviation


def _rescore_for_issue(corpus: Corpus, number: int, scored: _Ranked, query: CodeQuery, scope: FileScope) -> _Ranked:
    """Return one project's candidates with higher scores for files that the issue mentions, and for related files."""
    here = [pair for pair in scored if pair[0].corpus == number]
    adjusted = rescore_for_issue(corpus.store, here, query, scope)
    for candidate, _ in adjusted:
        candidate.corpus = number
    return boost_related_files(adjusted, corpus.evidence.history, corpus.evidence.imports) if adjusted else []


def _drop_below_cutoff(ranked: _Ranked, query: CodeQuery) -> _Ranked:
    """Return the files whose confidence is above the cutoff."""
    share = RANKING.min_share_of_best_for_names if query.kind == "symbol" else RANKING.min_share_of_best
    best = max((confidence for _, confidence in ranked), default=0.0)
    return [(candidate, confidence) for candidate, confidence in ranked if confidence >= best * share]


def _sort_code_first(ranked: _Ranked, query: CodeQuery) -> _Ranked:
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
