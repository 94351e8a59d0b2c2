"""Select the candidate files of a query."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from deltos.domains.code.paths import is_auxiliary, is_prose, is_settings
from deltos.domains.code.retrieve.candidate_file import CandidateFile
from deltos.domains.code.retrieve.similarity_statistics import pool_statistics
from deltos.domains.code.retrieve.term_weights import TermWeights, total_weight
from deltos.domains.code.retrieve.tuning import RETRIEVAL
from deltos.store.code import FileScope
from deltos.workspace.file_purpose import is_test

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from deltos.domains.code.query.parse import CodeQuery
    from deltos.domains.code.retrieve.candidate_file import CommitSupport
    from deltos.domains.code.retrieve.chunk_similarity import CodeSimilarities, SimilarFile
    from deltos.domains.code.retrieve.similar_commits import SimilarCommits
    from deltos.domains.code.retrieve.similarity_statistics import SimilarityStatistics
    from deltos.store.code import ChunkMatch, Code, DefinitionRecord
    from deltos.store.graph import FileImports
    from deltos.store.history import FileHistory


@dataclass(frozen=True, slots=True)
class Evidence:
    """Data for judging the relevance of files, besides query terms. A field is None if the data is unavailable.

    `similarities` are the similarities of all chunks to the query, `similar_commits` are the commits similar to the
    query, and `imports` is the import graph.
    """

    similarities: CodeSimilarities | None = None
    history: FileHistory | None = None
    similar_commits: SimilarCommits | None = None
    imports: FileImports | None = None


@dataclass(frozen=True, slots=True)
class TermStatistics:
    """Document frequencies of the query terms, and the number of chunks in the project."""

    frequencies: Mapping[str, int]
    chunk_count: int


class Corpus:
    """A project searched by one query, with the data for judging the relevance of its files."""

    def __init__(self, store: Code, evidence: Evidence) -> None:
        self.store = store
        self.evidence = evidence
        self._statistics: TermStatistics | None = None
        self.weights: TermWeights | None = None  # term weights for all projects; stored only in the first project

    def statistics(self, query: CodeQuery) -> TermStatistics:
        """Return the (cached) document frequencies of the query terms in the project."""
        if self._statistics is None:
            frequencies = self.store.document_frequencies([*query.terms, *query.joined])
            self._statistics = TermStatistics(frequencies, self.store.chunk_count())
        return self._statistics


@dataclass(slots=True)
class CandidatePool:
    """All candidates of a query.

    `similar_files` and `commit_files` are the candidates found by similarity and by commits, with their scores.
    `commit_support` contains a mapping for each project: from file path to the similarity of the commits that changed
    the file.
    """

    weights: TermWeights
    candidates: list[CandidateFile] = field(default_factory=list)
    similar_files: list[tuple[float, CandidateFile]] = field(default_factory=list)
    commit_files: list[tuple[float, CandidateFile]] = field(default_factory=list)
    commit_support: list[Mapping[str, CommitSupport]] = field(default_factory=list)


def gather_candidates(corpora: Sequence[Corpus], query: CodeQuery, scope: FileScope) -> CandidatePool:
    """Return the candidate files of a query in the given projects, without ranking features."""
    statistics = _pooled_term_statistics(corpora, query)
    found = CandidatePool(query_weights(corpora, query))
    selection_terms = _selection_terms(statistics, query)
    min_similarity = _min_similarity([corpus.evidence.similarities for corpus in corpora])
    selected = _projects_with_most_terms(corpora, query, found.weights)
    for number, corpus in enumerate(corpora):
        project_candidates: list[CandidateFile] = []
        if number in selected:
            scale = total_weight(query, corpus.statistics(query).frequencies, corpus.statistics(query).chunk_count)
            project_candidates = _candidates_by_terms(
                corpus.store, query, scope, selection_terms.occurring_in(corpus.statistics(query)), scale
            )
        file_similarity, similar = corpus.evidence.similarities, corpus.evidence.similar_commits
        found.similar_files += (
            _add_similar_files(corpus.store, query, scope, project_candidates, file_similarity, min_similarity)
            if file_similarity
            else []
        )
        found.commit_support.append(
            similar.support_by_path(found.weights, corpus.store.file_count(FileScope())) if similar else {}
        )
        found.commit_files += _add_commit_files(corpus.store, scope, project_candidates, found.commit_support[-1])
        for candidate in project_candidates:
            candidate.corpus = number
        found.candidates += project_candidates
    return found


def searches_only_some_projects(corpora: Sequence[Corpus], query: CodeQuery) -> bool:
    """Whether only the best projects are searched by terms, because there are many projects."""
    return len(corpora) > RETRIEVAL.max_projects_by_words and not query.names


def _projects_with_most_terms(corpora: Sequence[Corpus], query: CodeQuery, weights: TermWeights) -> Collection[int]:
    """Return the indexes (in `corpora`) of the projects to search by terms.

    If there are many projects and the query contains no name, only the projects that contain most query terms are
    searched.
    """
    if not searches_only_some_projects(corpora, query):
        return range(len(corpora))
    shares = [
        sum(weights.by_term.get(term, 0.0) for term in corpus.statistics(query).frequencies) for corpus in corpora
    ]
    return set(sorted(range(len(corpora)), key=lambda number: -shares[number])[: RETRIEVAL.max_projects_by_words])


def _min_similarity(similarities: Sequence[CodeSimilarities | None]) -> float:
    """Return the minimum similarity if several projects are searched, or minus infinity for one project."""
    known = [file_similarity for file_similarity in similarities if file_similarity]
    if len(known) < 2:
        return -math.inf
    best = sorted(
        (value for file_similarity in known for value in file_similarity.highest(RETRIEVAL.semantic_candidates)),
        reverse=True,
    )
    return best[: RETRIEVAL.max_similar_chunks][-1]


def query_weights(corpora: Sequence[Corpus], query: CodeQuery) -> TermWeights:
    """Return the (cached) weights of the query terms, computed from all searched projects."""
    weights = corpora[0].weights
    if weights is None:
        statistics = _pooled_term_statistics(corpora, query)
        weights = corpora[0].weights = TermWeights(query, statistics.frequencies, statistics.chunk_count)
    return weights


def _pooled_term_statistics(corpora: Sequence[Corpus], query: CodeQuery) -> TermStatistics:
    """Return the document frequencies of the query terms over all projects."""
    parts = [corpus.statistics(query) for corpus in corpora]
    if len(parts) == 1:
        return parts[0]
    frequencies: Counter[str] = Counter()
    for part in parts:
        frequencies.update(part.frequencies)
    return TermStatistics(frequencies, sum(part.chunk_count for part in parts))


def pooled_similarity_statistics(corpora: Sequence[Corpus]) -> SimilarityStatistics:
    """Return the mean and standard deviation of the similarities of all chunks in all projects."""
    return pool_statistics(
        [corpus.evidence.similarities.statistics for corpus in corpora if corpus.evidence.similarities]
    )


@dataclass(frozen=True, slots=True)
class _SelectionTerms:
    """Terms that select chunks as candidates: chunks with one `single` term, or with two terms if one is `paired`."""

    single: Sequence[str]
    paired: Sequence[str]

    def occurring_in(self, statistics: TermStatistics) -> _SelectionTerms:
        """Return the terms that occur in a project, without a paired term that has no partner."""
        single = [term for term in self.single if term in statistics.frequencies]
        paired = [term for term in self.paired if term in statistics.frequencies]
        return _SelectionTerms(single, paired if single or len(paired) > 1 else [])


def _selection_terms(statistics: TermStatistics, query: CodeQuery) -> _SelectionTerms:
    """Return the rarest query terms. Only these terms select candidates."""
    frequencies = statistics.frequencies
    max_terms = RETRIEVAL.match_terms_of_issue if query.is_issue else RETRIEVAL.match_terms
    terms = sorted(frequencies, key=lambda term: (frequencies[term], term))[:max_terms]
    return _SelectionTerms(*_split_terms(terms, frequencies, statistics.chunk_count))


def matching_chunks(store: Code, query: CodeQuery, scope: FileScope, *, limit: int) -> list[int]:
    """Return the ids of the chunks that best match the terms of a query, best first."""
    selection_terms = _selection_terms(Corpus(store, Evidence()).statistics(query), query)
    if not selection_terms.single and not selection_terms.paired:
        return []
    return [
        match.chunk_id
        for match in store.match_chunks(selection_terms.single, selection_terms.paired, scope, limit=limit)
    ]


def _candidates_by_terms(
    store: Code, query: CodeQuery, scope: FileScope, selection_terms: _SelectionTerms, scale: float
) -> list[CandidateFile]:
    """Return the files of one project that contain the selection terms or define names from the query."""
    single, paired = selection_terms.single, selection_terms.paired
    chunks = store.match_chunks(single, paired, scope, limit=RETRIEVAL.chunk_candidates) if single or paired else []
    files = store.match_files([*query.terms, *query.joined], single, paired, scope, limit=RETRIEVAL.file_candidates)
    definitions = store.definitions_named(query.names, scope, limit=RETRIEVAL.name_candidates) if query.names else []
    return _merge_matches(store, chunks, files, definitions, scale)


def _add_similar_files(
    store: Code,
    query: CodeQuery,
    scope: FileScope,
    candidates: list[CandidateFile],
    similarities: CodeSimilarities,
    min_similarity: float,
) -> list[tuple[float, CandidateFile]]:
    """Add files with similar chunks to `candidates`, and return the best files with adjusted similarities."""
    if similarities.best < min_similarity:
        return []
    among = None if scope == FileScope() else {file_id for file_id, _ in store.paths(scope)}
    similar_files = similarities.most_similar_files(RETRIEVAL.semantic_candidates, among, at_least=min_similarity)
    known = {candidate.file.id: candidate for candidate in candidates}
    new = store.files(
        [file_similarity.file_id for file_similarity in similar_files if file_similarity.file_id not in known]
    )
    candidates += [known.setdefault(file.id, CandidateFile(file)) for file in new]

    def adjusted_similarity(file_similarity: SimilarFile) -> float:
        return file_similarity.similarity - RETRIEVAL.secondary_similarity_penalty * _is_secondary(
            known[file_similarity.file_id].file.path, query
        )

    found_files = [file_similarity for file_similarity in similar_files if file_similarity.file_id in known]
    return [
        (adjusted_similarity(file_similarity), known[file_similarity.file_id])
        for file_similarity in sorted(found_files, key=adjusted_similarity, reverse=True)[
            : RETRIEVAL.kept_semantic_files
        ]
    ]


def _add_commit_files(
    store: Code,
    scope: FileScope,
    candidates: list[CandidateFile],
    commit_support: Mapping[str, CommitSupport],
) -> list[tuple[float, CandidateFile]]:
    """Add files changed by similar commits to `candidates`, and return these files with scores, best first."""
    if not commit_support:
        return []
    known = {candidate.file.id: candidate for candidate in candidates}
    best = sorted(commit_support, key=lambda path: (-commit_support[path].total, path))[: RETRIEVAL.commit_candidates]
    by_path = {file.path: file for file in store.files_at(best, scope)}
    files = [by_path[path] for path in best if path in by_path][: RETRIEVAL.kept_commit_files]
    candidates += [known.setdefault(file.id, CandidateFile(file)) for file in files if file.id not in known]
    return [(commit_support[file.path].total, known[file.id]) for file in files]


def _is_secondary(path: str, query: CodeQuery) -> bool:
    """Whether a file is a test, prose, an example or configuration, and the query does not ask for tests."""
    return (is_test(path) and not query.about_tests) or is_prose(path) or is_auxiliary(path) or is_settings(path)


def _split_terms(terms: Sequence[str], frequencies: Mapping[str, int], chunk_count: int) -> tuple[list[str], list[str]]:
    """Split the terms into terms that select candidates alone, and terms that select candidates only in pairs."""
    single: list[str] = []
    paired: list[str] = []
    rows = 0
    for term in terms:
        # Terms are sorted by rarity, so every term after a paired term is also paired. The rarest term is always
        # single, so that a query of one word has candidates.
        if not paired and (not single or rows + frequencies[term] <= RETRIEVAL.single_term_rows):
            single.append(term)
            rows += frequencies[term]
        elif _expected_pairs([*paired, term], frequencies, chunk_count) <= RETRIEVAL.pair_rows:
            paired.append(term)
    return single, paired


def _expected_pairs(terms: Sequence[str], frequencies: Mapping[str, int], chunk_count: int) -> float:
    """Estimate the number of chunks that contain two of the terms, based on document frequencies."""
    counts = [frequencies[term] for term in terms]
    total = sum(counts)
    return RETRIEVAL.cooccurrence * (total * total - sum(count * count for count in counts)) / 2 / max(1, chunk_count)


def _merge_matches(
    store: Code,
    chunks: Iterable[ChunkMatch],
    files: Iterable[tuple[int, float]],
    definitions: Iterable[tuple[int, DefinitionRecord]],
    scale: float,
) -> list[CandidateFile]:
    """Return one candidate per file with all matches in that file. The scores are divided by `scale`."""
    ids = dict.fromkeys(file_id for file_id, _ in definitions)
    ids |= dict.fromkeys(match.file_id for match in chunks)
    ids |= dict.fromkeys(file_id for file_id, _ in files)
    found = {file.id: CandidateFile(file) for file in store.files(list(ids))}
    for match in chunks:
        found[match.file_id].chunk_scores.append(match.score / scale)
        found[match.file_id].chunk_ids.append(match.chunk_id)
    for file_id, score in files:
        found[file_id].file_score = score / scale
    for file_id, definition in definitions:
        found[file_id].definitions.append(definition)
    return list(found.values())
