"""Compute the ranking features of a query's best candidates, for ranking and for training."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.domains.code.rank.features import BEST_CHUNKS, compute_features, preliminary_score
from deltos.domains.code.rank.tuning import RANKING
from deltos.domains.code.retrieve.candidate_file import CandidateFile, CandidateWords
from deltos.domains.code.retrieve.candidates import Corpus, gather_candidates, pooled_similarity_statistics
from deltos.domains.code.retrieve.tuning import RETRIEVAL

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from deltos.domains.code.query.parse import CodeQuery
    from deltos.domains.code.retrieve.candidates import CandidatePool, Evidence
    from deltos.domains.code.retrieve.chunk_similarity import CodeSimilarities
    from deltos.domains.code.retrieve.similar_commits import CommitSupport
    from deltos.domains.code.retrieve.similarity_statistics import SimilarityStatistics
    from deltos.store.code import Code, FileScope
    from deltos.store.history import FileHistory


def describe_candidates(
    store: Code,
    query: CodeQuery,
    scope: FileScope,
    evidence: Evidence,
    *,
    at_least: int = 0,
) -> tuple[list[CandidateFile], list[list[float]]]:
    """Return the candidate files of a query in one project, with their ranking features.

    `at_least` is the minimum number of candidates to return, if there are enough.
    """
    return describe_candidates_across([Corpus(store, evidence)], query, scope, at_least=at_least)


def describe_candidates_across(
    corpora: Sequence[Corpus], query: CodeQuery, scope: FileScope, *, at_least: int = 0
) -> tuple[list[CandidateFile], list[list[float]]]:
    """Return the candidate files of several projects with their ranking features, as if the projects were one.

    Document frequencies are pooled, and the BM25 scores of each index are normalised.
    """
    return extract_features(gather_candidates(corpora, query, scope), corpora, query, at_least=at_least)


def extract_features(
    pool: CandidatePool, corpora: Sequence[Corpus], query: CodeQuery, *, at_least: int
) -> tuple[list[CandidateFile], list[list[float]]]:
    """Return the best candidates of the pool with their ranking features."""
    weights, candidates = pool.weights, pool.candidates
    kept = max(RETRIEVAL.kept_files_for_name if query.names else RETRIEVAL.kept_files, at_least)
    best_similar, best_commit_files = (
        _best_candidates(pool.similar_files, RETRIEVAL.kept_semantic_files),
        _best_candidates(pool.commit_files, RETRIEVAL.kept_commit_files),
    )
    for candidate in best_similar:
        candidate.is_semantic_match = True
    for candidate in best_commit_files:
        candidate.is_commit_match = True
    if len(candidates) > kept:
        preselected = sorted(candidates, key=lambda candidate: -preliminary_score(candidate, query, weights))[:kept]
        by_id = {(each.corpus, each.file.id): each for each in (*preselected, *best_similar, *best_commit_files)}
        candidates = list(by_id.values())
    similarity_statistics = pooled_similarity_statistics(corpora)
    texts = [CandidateWords({}, {})] * len(corpora)
    for number in dict.fromkeys(candidate.corpus for candidate in candidates):
        corpus, project_candidates = (
            corpora[number],
            [candidate for candidate in candidates if candidate.corpus == number],
        )
        if corpus.evidence.similarities:
            _set_similarities(project_candidates, corpus.evidence.similarities, similarity_statistics)
        if corpus.evidence.history:
            _set_history(project_candidates, corpus.evidence.history, pool.commit_support[number])
        texts[number] = _read_words(corpus, project_candidates, query)
    return candidates, compute_features(candidates, query, weights, texts)


def _best_candidates(found: Sequence[tuple[float, CandidateFile]], count: int) -> list[CandidateFile]:
    """Return the candidates with the highest scores, best first; candidates with equal scores keep their order."""
    return [candidate for _, candidate in sorted(found, key=lambda pair: -pair[0])[:count]]


def _read_words(corpus: Corpus, candidates: Sequence[CandidateFile], query: CodeQuery) -> CandidateWords:
    """Return the index terms of the candidate files, and the query terms in their best chunks."""
    best = [chunk_id for candidate in candidates for chunk_id in candidate.chunk_ids[:BEST_CHUNKS]]
    files = corpus.file_words([candidate.file.id for candidate in candidates])
    return CandidateWords(files, corpus.chunk_terms(best, query))


def _set_similarities(
    candidates: Sequence[CandidateFile], similarities: CodeSimilarities, similarity_statistics: SimilarityStatistics
) -> None:
    """Set each candidate's similarity to the query, and its most similar chunks."""
    similar_files = similarities.most_similar_chunks(candidate.file.id for candidate in candidates)
    for candidate in candidates:
        if file_similarity := similar_files.get(candidate.file.id):
            candidate.similar_chunks, candidate.similarity = file_similarity.chunk_ids, file_similarity.similarity
            candidate.deviations = (
                file_similarity.similarity - similarity_statistics.mean
            ) / similarity_statistics.deviation


def _set_history(
    candidates: Sequence[CandidateFile], history: FileHistory, commit_support: Mapping[str, CommitSupport]
) -> None:
    """Set each candidate's commit history, recency, and support by commits that are similar to the query."""
    known = history.file_histories([candidate.file.path for candidate in candidates])
    newest = max((row.last_changed for row in known.values()), default=0)
    for candidate in candidates:
        if row := known.get(candidate.file.path):
            candidate.history = row
            candidate.commit_support = commit_support.get(candidate.file.path)
            candidate.recency = 0.5 ** ((newest - row.last_changed) / RANKING.half_life_seconds)
