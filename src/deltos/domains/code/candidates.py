"""Select the candidate files of a query at a cost that hardly depends on the project's size; the ranker scores them."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from deltos.domains.code.features import (
    BEST_CHUNKS,
    CandidateFile,
    CandidateWords,
    Weights,
    compute_features,
    preliminary_score,
    total_weight,
)
from deltos.domains.code.paths import is_aside, is_prose, is_settings
from deltos.domains.code.similarity_statistics import pool_statistics
from deltos.store.code import FileScope
from deltos.workspace.file_purpose import is_test

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from deltos.domains.code.query import CodeQuery
    from deltos.domains.code.semantic_candidates import CodeSimilarities, SimilarFile
    from deltos.domains.code.similar_commits import CommitSupport, SimilarCommits
    from deltos.domains.code.similarity_statistics import SimilarityStatistics
    from deltos.store.code import ChunkMatch, Code, CodeChunkWords, DefinitionRecord, FileRow, FileWords
    from deltos.store.graph import FileImports
    from deltos.store.history import FileHistory

# Scoring a row with BM25 costs twenty times as much as finding it. A single term selects rows only while they are few;
SINGLE_TERM_ROWS = 300
# more common terms select rows only where two of them occur together, again while such rows are few.
PAIR_ROWS = 300
# Terms of one query co-occur about three times as often as independent words would.
_COOCCURRENCE = 3
MATCH_TERMS = 8
MATCH_TERMS_OF_ISSUE = 16  # the rarest words of an issue are often its reporter's own: with 8, Acc@5 is 0.05 lower
# 300 chunks and 32 described files cost half as much again, for the same NDCG@10: docs/decisions.md.
CHUNK_CANDIDATES = 150
FILE_CANDIDATES = 60
NAME_CANDIDATES = 200
# Maximum number of projects searched by terms; similarity search always covers all of them.
MAX_PROJECTS_BY_WORDS = 40
# Number of files whose features are computed; more for names, which many files may define with the same score.
KEPT_FILES = 20
KEPT_FILES_FOR_NAME = 28
# Files that become candidates by the similarity of a chunk, and how many of them are always kept.
SEMANTIC_CANDIDATES = 60
KEPT_SEMANTIC_FILES = 15
_MAX_SIMILAR_CHUNKS = 2 * SEMANTIC_CANDIDATES  # over several projects; corresponds to about SEMANTIC_CANDIDATES files
# Files that become candidates because commits that resemble the query touched them, and how many are always kept.
COMMIT_CANDIDATES = 100
COMMIT_FILES = 8
# Tests, prose, examples and settings repeat the code they are about and would displace it. With the penalty, recall
# of paraphrased questions in the ten most similar files is 0.49 instead of 0.41 (projects of 500 files and more).
_SECONDARY_SIMILARITY_PENALTY = 0.15  # subtracted from the cosine
_SECONDARY_COMMIT_FACTOR = 0.5  # multiplies their support by commits
_HALF_LIFE_SECONDS = 180 * 86_400  # a change this old counts half


@dataclass(frozen=True, slots=True)
class Evidence:
    """Evidence for files besides terms; each is None if it is not available.

    `similarities` are those of all chunks to the query, `similar` the commits that resemble it, `imports` the import
    graph.
    """

    similarities: CodeSimilarities | None = None
    history: FileHistory | None = None
    similar: SimilarCommits | None = None
    imports: FileImports | None = None


@dataclass(frozen=True, slots=True)
class TermStatistics:
    """Document frequencies of the query terms, and the number of chunks."""

    frequencies: Mapping[str, int]
    chunk_count: int


class Corpus:
    """One project as it is searched for one query; caches the words that are read."""

    def __init__(self, store: Code, evidence: Evidence) -> None:
        self.store = store
        self.evidence = evidence
        self._statistics: TermStatistics | None = None
        self._file_words: dict[int, FileWords] = {}
        self._chunk_words: dict[int, CodeChunkWords] = {}
        self.weights: Weights | None = None  # term weights over all searched projects

    def file_words(self, ids: Iterable[int]) -> Mapping[int, FileWords]:
        """Return the words of the files, and of all files requested before; each is read once."""
        if missing := [file_id for file_id in ids if file_id not in self._file_words]:
            self._file_words |= self.store.file_words(missing)
        return self._file_words

    def chunk_words(self, ids: Iterable[int]) -> Mapping[int, CodeChunkWords]:
        """Return the words of the chunks, and of all chunks requested before; each is read once."""
        if missing := [chunk_id for chunk_id in ids if chunk_id not in self._chunk_words]:
            self._chunk_words |= self.store.chunk_words(missing)
        return self._chunk_words

    def file_count(self) -> int:
        """Return the number of files in the project."""
        return self.store.file_count(FileScope())

    def statistics(self, query: CodeQuery) -> TermStatistics:
        """Return the document frequencies of the query terms in the project; cached."""
        if self._statistics is None:
            frequencies = self.store.document_frequencies([*query.terms, *query.joined])
            self._statistics = TermStatistics(frequencies, self.store.chunk_count())
        return self._statistics


def describe_candidates(
    store: Code,
    query: CodeQuery,
    scope: FileScope,
    evidence: Evidence,
    *,
    at_least: int = 0,
) -> tuple[list[CandidateFile], list[list[float]]]:
    """Return the candidates of a query with their features; the input of ranking and of training.

    `at_least` is the number of files wanted in the end, if there are that many.
    """
    return describe_candidates_across([Corpus(store, evidence)], query, scope, at_least=at_least)


def describe_candidates_across(
    corpora: Sequence[Corpus], query: CodeQuery, scope: FileScope, *, at_least: int = 0
) -> tuple[list[CandidateFile], list[list[float]]]:
    """Return the candidates of several projects with their features, as if the projects were one.

    Document frequencies are pooled. BM25 scores of each index are divided by the maximum score in that index.
    """
    return extract_features(gather_candidates(corpora, query, scope), corpora, query, at_least=at_least)


@dataclass(slots=True)
class CandidatePool:
    """All candidates of a query, with those found by similarity and by commits and their scores.

    `commit_support` has one mapping by path per project.
    """

    weights: Weights
    candidates: list[CandidateFile] = field(default_factory=list)
    similar_files: list[tuple[float, CandidateFile]] = field(default_factory=list)
    commit_files: list[tuple[float, CandidateFile]] = field(default_factory=list)
    commit_support: list[Mapping[str, CommitSupport]] = field(default_factory=list)


def gather_candidates(corpora: Sequence[Corpus], query: CodeQuery, scope: FileScope) -> CandidatePool:
    """Return the candidates of a query in some projects, before features are computed."""
    statistics = _pooled_term_statistics(corpora, query)
    found = CandidatePool(query_weights(corpora, query))
    selection_terms = _selection_terms(statistics, query)
    min_similarity = _min_similarity([corpus.evidence.similarities for corpus in corpora])
    selected = _projects_with_most_terms(corpora, query, found.weights)
    for number, corpus in enumerate(corpora):
        project_candidates: list[CandidateFile] = []
        if number in selected:
            scale = total_weight(query, corpus.statistics(query).frequencies, corpus.statistics(query).chunk_count)
            project_candidates = _candidates(
                corpus.store, query, scope, selection_terms.within(corpus.statistics(query)), scale
            )
        file_similarity, similar = corpus.evidence.similarities, corpus.evidence.similar
        found.similar_files += (
            _add_similar_files(corpus.store, query, scope, project_candidates, file_similarity, min_similarity)
            if file_similarity
            else []
        )
        found.commit_support.append(similar.support_by_path(found.weights, corpus.file_count()) if similar else {})
        found.commit_files += _add_commit_files(
            corpus.store, query, scope, project_candidates, found.commit_support[-1]
        )
        for candidate in project_candidates:
            candidate.corpus = number
        found.candidates += project_candidates
    return found


def extract_features(
    pool: CandidatePool, corpora: Sequence[Corpus], query: CodeQuery, *, at_least: int
) -> tuple[list[CandidateFile], list[list[float]]]:
    """Return the best candidates of the pool with their features."""
    weights, candidates = pool.weights, pool.candidates
    kept = max(KEPT_FILES_FOR_NAME if query.names else KEPT_FILES, at_least)
    best_similar, best_commit_files = (
        _best(pool.similar_files, KEPT_SEMANTIC_FILES),
        _best(pool.commit_files, COMMIT_FILES),
    )
    for candidate in best_similar:
        candidate.is_semantic_match = True
    for candidate in best_commit_files:
        candidate.is_commit_match = True
    if len(candidates) > kept:
        preselected = sorted(candidates, key=lambda candidate: -preliminary_score(candidate, query, weights))[:kept]
        by_id = {(each.corpus, each.file.id): each for each in (*preselected, *best_similar, *best_commit_files)}
        candidates = list(by_id.values())
    similarity_statistics = pooled_similarities(corpora)
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
        texts[number] = _read_words(corpus, project_candidates)
    return candidates, compute_features(candidates, query, weights, texts)


def searches_only_some_projects(corpora: Sequence[Corpus], query: CodeQuery) -> bool:
    """Whether only the best of many projects are searched by terms."""
    return len(corpora) > MAX_PROJECTS_BY_WORDS and not query.names


def _projects_with_most_terms(corpora: Sequence[Corpus], query: CodeQuery, weights: Weights) -> Collection[int]:
    """Return the indexes of the projects to search by terms: all of them, or the best of many by query terms.

    A name is searched in all projects.
    """
    if not searches_only_some_projects(corpora, query):
        return range(len(corpora))
    shares = [
        sum(weights.by_term.get(term, 0.0) for term in corpus.statistics(query).frequencies) for corpus in corpora
    ]
    return set(sorted(range(len(corpora)), key=lambda number: -shares[number])[:MAX_PROJECTS_BY_WORDS])


def _min_similarity(similarities: Sequence[CodeSimilarities | None]) -> float:
    """Return the similarity above which chunks of several projects are candidates; no minimum for one project."""
    known = [file_similarity for file_similarity in similarities if file_similarity]
    if len(known) < 2:
        return -math.inf
    best = sorted(
        (value for file_similarity in known for value in file_similarity.highest(SEMANTIC_CANDIDATES)), reverse=True
    )
    return best[:_MAX_SIMILAR_CHUNKS][-1]


def query_weights(corpora: Sequence[Corpus], query: CodeQuery) -> Weights:
    """Return the weights of the query terms over all searched projects; cached."""
    weights = corpora[0].weights
    if weights is None:
        statistics = _pooled_term_statistics(corpora, query)
        weights = corpora[0].weights = Weights(query, statistics.frequencies, statistics.chunk_count)
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


def _best(found: Sequence[tuple[float, CandidateFile]], count: int) -> list[CandidateFile]:
    """Return the candidates with the highest scores, best first; ties keep their order."""
    return [candidate for _, candidate in sorted(found, key=lambda pair: -pair[0])[:count]]


def pooled_similarities(corpora: Sequence[Corpus]) -> SimilarityStatistics:
    """Return mean and deviation of the similarities of all chunks of all projects."""
    return pool_statistics(
        [corpus.evidence.similarities.statistics for corpus in corpora if corpus.evidence.similarities]
    )


def _read_words(corpus: Corpus, candidates: Sequence[CandidateFile]) -> CandidateWords:
    best = [chunk_id for candidate in candidates for chunk_id in candidate.chunk_ids[:BEST_CHUNKS]]
    return CandidateWords(corpus.file_words([candidate.file.id for candidate in candidates]), corpus.chunk_words(best))


@dataclass(frozen=True, slots=True)
class _SelectionTerms:
    """The terms, rarest first, that select candidates singly, and the terms that select them in pairs."""

    single: Sequence[str]
    paired: Sequence[str]

    def within(self, statistics: TermStatistics) -> _SelectionTerms:
        """Return the terms that a project contains; a lone term for pairs is dropped."""
        single = [term for term in self.single if term in statistics.frequencies]
        paired = [term for term in self.paired if term in statistics.frequencies]
        return _SelectionTerms(single, paired if single or len(paired) > 1 else [])


def _selection_terms(statistics: TermStatistics, query: CodeQuery) -> _SelectionTerms:
    """Return the rarest query terms over all projects, which select the candidates."""
    frequencies = statistics.frequencies
    most = MATCH_TERMS_OF_ISSUE if query.is_issue else MATCH_TERMS
    terms = sorted(frequencies, key=lambda term: (frequencies[term], term))[:most]
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


def _candidates(
    store: Code, query: CodeQuery, scope: FileScope, selection_terms: _SelectionTerms, scale: float
) -> list[CandidateFile]:
    """Return the candidates of one project by terms and names."""
    single, paired = selection_terms.single, selection_terms.paired
    chunks = store.match_chunks(single, paired, scope, limit=CHUNK_CANDIDATES) if single or paired else []
    files = store.match_files([*query.terms, *query.joined], single, paired, scope, limit=FILE_CANDIDATES)
    definitions = store.definitions_named(query.names, scope, limit=NAME_CANDIDATES) if query.names else []
    return _merge_matches(store, chunks, files, definitions, scale)


def _add_similar_files(
    store: Code,
    query: CodeQuery,
    scope: FileScope,
    candidates: list[CandidateFile],
    similarities: CodeSimilarities,
    min_similarity: float,
) -> list[tuple[float, CandidateFile]]:
    """Add files with similar chunks to `candidates`; return the best of them with their adjusted similarities."""
    if similarities.best < min_similarity:
        return []
    among = None if scope == FileScope() else {file_id for file_id, _ in store.paths(scope)}
    similar_files = similarities.most_similar_files(SEMANTIC_CANDIDATES, among, at_least=min_similarity)
    known = {candidate.file.id: candidate for candidate in candidates}
    new = store.files(
        [file_similarity.file_id for file_similarity in similar_files if file_similarity.file_id not in known]
    )
    candidates += [known.setdefault(file.id, CandidateFile(file)) for file in new]

    def adjusted_similarity(file_similarity: SimilarFile) -> float:
        return file_similarity.similarity - _SECONDARY_SIMILARITY_PENALTY * _is_secondary(
            known[file_similarity.file_id].file.path, query
        )

    there = [file_similarity for file_similarity in similar_files if file_similarity.file_id in known]
    return [
        (adjusted_similarity(file_similarity), known[file_similarity.file_id])
        for file_similarity in sorted(there, key=adjusted_similarity, reverse=True)[:KEPT_SEMANTIC_FILES]
    ]


def _add_commit_files(
    store: Code,
    query: CodeQuery,
    scope: FileScope,
    candidates: list[CandidateFile],
    commit_support: Mapping[str, CommitSupport],
) -> list[tuple[float, CandidateFile]]:
    """Add the files best supported by similar commits to `candidates`; return them, best first, with their scores."""
    known = {candidate.file.id: candidate for candidate in candidates}

    def score(file: FileRow) -> tuple[float, str]:
        share = _SECONDARY_COMMIT_FACTOR if _is_secondary(file.path, query) else 1.0
        return -commit_support[file.path].total * share, file.path

    preselected = sorted(commit_support, key=lambda path: (-commit_support[path].total, path))[:COMMIT_CANDIDATES]
    files = sorted(store.files_at(preselected, scope), key=score)[:COMMIT_FILES] if preselected else []
    candidates += [known.setdefault(file.id, CandidateFile(file)) for file in files if file.id not in known]
    return [(-score(file)[0], known[file.id]) for file in files]


def _is_secondary(path: str, query: CodeQuery) -> bool:
    """Whether a file is a test, prose, an example or settings, and the query does not ask for tests."""
    return (is_test(path) and not query.about_tests) or is_prose(path) or is_aside(path) or is_settings(path)


def _set_similarities(
    candidates: Sequence[CandidateFile], similarities: CodeSimilarities, similarity_statistics: SimilarityStatistics
) -> None:
    """Set the most similar chunks of each candidate, and their similarity."""
    similar_files = similarities.of_files(candidate.file.id for candidate in candidates)
    for candidate in candidates:
        if file_similarity := similar_files.get(candidate.file.id):
            candidate.similar_chunks, candidate.similarity = file_similarity.chunk_ids, file_similarity.similarity
            candidate.deviations = (
                file_similarity.similarity - similarity_statistics.mean
            ) / similarity_statistics.deviation


def _set_history(
    candidates: Sequence[CandidateFile], history: FileHistory, commit_support: Mapping[str, CommitSupport]
) -> None:
    """Set the commit history and the support by similar commits of each candidate."""
    known = history.file_histories([candidate.file.path for candidate in candidates])
    newest = max((row.last_changed for row in known.values()), default=0)
    for candidate in candidates:
        if row := known.get(candidate.file.path):
            candidate.history = row
            candidate.commit_support = commit_support.get(candidate.file.path)
            candidate.recency = 0.5 ** ((newest - row.last_changed) / _HALF_LIFE_SECONDS)


def _split_terms(terms: Sequence[str], frequencies: Mapping[str, int], chunk_count: int) -> tuple[list[str], list[str]]:
    """Return the terms, rarest first, that select rows singly, and the terms that select them in pairs."""
    single: list[str] = []
    paired: list[str] = []
    rows = 0
    for term in terms:
        # Terms are sorted rarest first: once one had to be paired, every later one is at least as common. The rarest
        # is always single, however common it is: a query of one word must find something.
        if not paired and (not single or rows + frequencies[term] <= SINGLE_TERM_ROWS):
            single.append(term)
            rows += frequencies[term]
        elif _expected_pairs([*paired, term], frequencies, chunk_count) <= PAIR_ROWS:
            paired.append(term)
    return single, paired


def _expected_pairs(terms: Sequence[str], frequencies: Mapping[str, int], chunk_count: int) -> float:
    """Estimate from document frequencies how many chunks contain two of the terms."""
    counts = [frequencies[term] for term in terms]
    total = sum(counts)
    return _COOCCURRENCE * (total * total - sum(count * count for count in counts)) / 2 / max(1, chunk_count)


def _merge_matches(
    store: Code,
    chunks: Iterable[ChunkMatch],
    files: Iterable[tuple[int, float]],
    definitions: Iterable[tuple[int, DefinitionRecord]],
    scale: float,
) -> list[CandidateFile]:
    """Return one candidate per file with all its matches; scores are divided by `scale`."""
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
