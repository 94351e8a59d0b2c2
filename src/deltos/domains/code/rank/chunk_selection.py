"""Select the best chunk of each ranked file, and sometimes a second one."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from deltos.domains.code.rank.features import BEST_CHUNKS
from deltos.domains.code.rank.tuning import RANKING
from deltos.domains.code.retrieve.candidates import pooled_similarity_statistics, query_weights
from deltos.store.code import FileScope
from deltos.text.identifiers import dotted
from deltos.text.words import shared_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from deltos.domains.code.model import FoundBy
    from deltos.domains.code.query.parse import CodeQuery
    from deltos.domains.code.retrieve.candidate_file import CandidateFile
    from deltos.domains.code.retrieve.candidates import Corpus
    from deltos.domains.code.retrieve.similarity_statistics import SimilarityStatistics
    from deltos.domains.code.retrieve.term_weights import TermWeights
    from deltos.store.code import ChunkTerms, Code, CodeChunkRow, DefinitionRecord


@dataclass(frozen=True, slots=True)
class SelectedChunk:
    """A chunk selected for the answer, with its confidence.

    `line` is the requested line, or 0. `found_by` is "meaning" (vector similarity) or "commits" if the chunk contains
    few query terms. `corpus` is the position of the chunk's project in the list of searched projects.
    """

    chunk: CodeChunkRow
    confidence: float
    line: int = 0
    found_by: FoundBy = "words"
    corpus: int = 0


@dataclass(frozen=True, slots=True)
class ScoredChunk:
    """A chunk and its similarity to the query, in standard deviations above the mean of all chunks in the project."""

    chunk: CodeChunkRow
    deviations: float


def score_chunks(corpus: Corpus, paths: Sequence[str]) -> list[ScoredChunk]:
    """Return all chunks of the given files with their similarities to the query (0 if there are no embeddings)."""
    similarities, statistics = corpus.evidence.similarities, pooled_similarity_statistics([corpus])
    scored: list[ScoredChunk] = []
    for file in corpus.store.files_at(paths, FileScope()):
        chunks = corpus.store.chunks_of_file(file.id)
        ids = [chunk.id for chunk in chunks]
        deviations = similarities.deviations_of(file.id, ids, statistics) if similarities else {}
        scored += [ScoredChunk(chunk, deviations.get(chunk.id, 0.0)) for chunk in chunks]
    return scored


def select_chunks(
    corpora: Sequence[Corpus], ranked: Sequence[tuple[CandidateFile, float]], query: CodeQuery
) -> list[SelectedChunk]:
    """Return the best chunk of each file in the order of the files, followed by second chunks of some files.

    The second chunk of the first file comes earlier than the other second chunks.
    """
    firsts: list[SelectedChunk] = []
    seconds: list[SelectedChunk] = []
    second_of_first: list[SelectedChunk] = []
    scorers = _chunk_scorers(corpora, [candidate for candidate, _ in ranked], query)
    for candidate, confidence in ranked:
        seconds_of_file = seconds if firsts else second_of_first
        chunks = scorers[candidate.corpus].select(
            candidate, RANKING.other_files_margin if firsts else RANKING.first_file_margin
        )
        found_by, corpus = _found_by(candidate), candidate.corpus
        firsts += [SelectedChunk(first.chunk, confidence, first.line, found_by, corpus) for first in chunks[:1]]
        second_confidence = confidence * RANKING.second_chunk_factor
        seconds_of_file += [
            SelectedChunk(second.chunk, second_confidence, second.line, found_by, corpus) for second in chunks[1:2]
        ]
    # If the second chunk contains a requested definition, it follows the first chunk directly. Otherwise, it follows
    # the first chunks of a few files.
    place = 1 if second_of_first and second_of_first[0].line else RANKING.files_before_second
    max_confidence = min((each.confidence for each in firsts[:place]), default=1.0)
    second_of_first = [replace(each, confidence=min(each.confidence, max_confidence)) for each in second_of_first]
    return firsts[:place] + second_of_first + firsts[place:] + seconds


def _found_by(candidate: CandidateFile) -> FoundBy:
    """Return how a file was found: by words if it contains enough query terms, otherwise by commits or similarity."""
    if not candidate.similar_chunks or candidate.coverage >= RANKING.min_coverage_by_words:
        return "words"
    is_dissimilar = not candidate.is_semantic_match or candidate.deviations < RANKING.min_deviations_by_meaning
    return "commits" if candidate.is_commit_match and is_dissimilar else "meaning"


def chunks_covering(chunks: Sequence[CodeChunkRow], lines: Iterable[int]) -> list[SelectedChunk]:
    """Return the chunks that contain any of the given lines, each with the first of these lines."""
    found: dict[int, SelectedChunk] = {}
    for line in lines:
        for chunk in chunks:
            if chunk.start_line <= line <= chunk.end_line:
                found.setdefault(chunk.id, SelectedChunk(chunk, 1.0, line))
    return list(found.values())


def covered_lines(chunks: Sequence[CodeChunkRow], lines: Sequence[int], *, one_per_chunk: bool = False) -> list[int]:
    """Return the given lines that are in a chunk, or only the first of them in each chunk if `one_per_chunk`."""
    covered: list[int] = []
    position, last = 0, -1
    for line in lines:
        while position < len(chunks) and chunks[position].end_line < line:
            position += 1
        if position < len(chunks) and chunks[position].start_line <= line and not (one_per_chunk and position == last):
            covered.append(line)
            last = position
    return covered


def _chunk_scorers(
    corpora: Sequence[Corpus], candidates: Sequence[CandidateFile], query: CodeQuery
) -> dict[int, _ChunkScorer]:
    """Return a chunk scorer for each project that has candidates."""
    if not candidates:
        return {}
    weights = query_weights(corpora, query)
    statistics = pooled_similarity_statistics(corpora)
    return {
        number: _ChunkScorer(
            corpora[number], [each for each in candidates if each.corpus == number], query, weights, statistics
        )
        for number in dict.fromkeys(candidate.corpus for candidate in candidates)
    }


class _ChunkScorer:
    """Scores the chunks of candidate files in one project."""

    def __init__(
        self,
        corpus: Corpus,
        candidates: Sequence[CandidateFile],
        query: CodeQuery,
        weights: TermWeights,
        statistics: SimilarityStatistics,
    ) -> None:
        store, similarities = corpus.store, corpus.evidence.similarities
        self._store = store
        self._query = query
        pools = [(*candidate.chunk_ids[:BEST_CHUNKS], *candidate.similar_chunks) for candidate in candidates]
        ids = list(dict.fromkeys(chunk_id for pool in pools for chunk_id in pool))
        self._chunks: Mapping[int, CodeChunkRow] = store.chunks(ids)
        self._terms: Mapping[int, ChunkTerms] = store.chunk_terms(ids, query.terms)
        self._deviations: dict[int, float] = {}
        if similarities:
            for candidate, pool in zip(candidates, pools, strict=True):
                self._deviations |= similarities.deviations_of(candidate.file.id, pool, statistics)
        self._weights = weights

    def select(self, candidate: CandidateFile, margin: float) -> list[SelectedChunk]:
        """Return the chunks of a file to show, best first. The list is empty if the file has only blank lines.

        The result contains the requested definitions or, if there are none, the chunks whose scores are at most
        `margin` below the best score.
        """
        file_id = candidate.file.id
        lines = [*candidate.lines, *_requested_lines(self._store, candidate, self._query)][: RANKING.max_definitions]
        defining = chunks_covering(self._store.chunks_at(file_id, lines), lines) if lines else []
        shown: dict[int, SelectedChunk] = {}
        for ranked in [*defining, *([] if defining else self._best_chunks(candidate, margin))]:
            shown.setdefault(ranked.chunk.id, ranked)
        return list(shown.values()) or [SelectedChunk(chunk, 1.0) for chunk in self._store.chunks_of_file(file_id)[:1]]

    def _best_chunks(self, candidate: CandidateFile, margin: float) -> list[SelectedChunk]:
        """Return the chunks whose scores are at most `margin` below the best score, best first."""
        bm25 = dict(zip(candidate.chunk_ids[:BEST_CHUNKS], candidate.chunk_scores, strict=False))
        best_bm25 = max(bm25.values(), default=0.0) or 1.0
        pool = [chunk_id for chunk_id in dict.fromkeys((*bm25, *candidate.similar_chunks)) if chunk_id in self._chunks]
        scores = {
            chunk_id: RANKING.chunk_bm25_weight * bm25.get(chunk_id, 0.0) / best_bm25
            + self._score_without_bm25(chunk_id)
            for chunk_id in pool
        }
        order = sorted(pool, key=lambda chunk_id: -scores[chunk_id])
        return [SelectedChunk(self._chunks[each], 1.0) for each in order if scores[each] >= scores[order[0]] - margin]

    def _score_without_bm25(self, chunk_id: int) -> float:
        """Return a chunk's score without the part that is computed from BM25 (full-text ranking)."""
        terms = self._terms[chunk_id]
        return (
            RANKING.chunk_coverage_weight * self._weights.share(terms.anywhere)
            + RANKING.chunk_symbol_weight * self._weights.share(terms.symbol)
            + RANKING.chunk_deviation_weight * self._deviations.get(chunk_id, 0.0)
            + RANKING.chunk_unnamed_weight * (not self._chunks[chunk_id].symbol)
            + RANKING.chunk_length_weight * math.log(max(1, terms.body_words))
        )


def _requested_lines(store: Code, candidate: CandidateFile, query: CodeQuery) -> list[int]:
    """Return the line numbers of the definitions named in the query, best first; a member comes before its class.

    Both `A.b` and "the b of A" request the member `b` of `A`.
    """
    named = [each for each in candidate.definitions if each.name in query.names] or candidate.definitions
    named = sorted(named, key=lambda each: -_is_qualified_in_query(each, query))
    members = _named_members(store, candidate.file.id, named, query) if query.kind == "words" else []
    return [each.line for each in (*members, *named)]


def _is_qualified_in_query(definition: DefinitionRecord, query: CodeQuery) -> bool:
    """Whether the query contains the definition's name together with its container."""
    qualified = f"{definition.container}.{definition.name}"
    return any("." in name and f".{qualified}".endswith(f".{name}") for name in map(dotted, query.names))


def _named_members(
    store: Code, file_id: int, named: Sequence[DefinitionRecord], query: CodeQuery
) -> list[DefinitionRecord]:
    """Return the members of the given classes whose names consist of query terms, longest name first."""
    places = [
        (file_id, each.line, each.end_line) for each in named[: RANKING.max_definitions] if each.end_line > each.line
    ]
    words = shared_words()
    own = {word for each in named for word in words.of(each.name).split()}
    remaining_terms = set(query.terms) - own
    found: dict[DefinitionRecord, int] = {}
    for inside in store.definitions_in(places) if places and remaining_terms else ():
        for member in inside:
            name_words = set(words.of(member.name).split())
            if member not in named and name_words and name_words <= remaining_terms:
                found[member] = len(name_words)
    return sorted(found, key=lambda member: -found[member])
