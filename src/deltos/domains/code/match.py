"""Find the files that may answer a query, cheaply however large the project is. Leaves judging them to the ranker."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from deltos.domains.code.features import (
    BEST_CHUNKS,
    CandidateFile,
    Texts,
    Weights,
    describe,
    first_guess,
    total_weight,
)
from deltos.domains.code.paths import is_aside, is_prose, is_settings
from deltos.domains.code.usual import pooled
from deltos.store.code import FileScope
from deltos.workspace.purpose import is_test

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from deltos.domains.code.commits import SimilarCommits, Spoken
    from deltos.domains.code.near import ChunkSimilarities, NearFile
    from deltos.domains.code.query import CodeQuery
    from deltos.domains.code.usual import Usual
    from deltos.store.code import ChunkMatch, Code, CodeChunkWords, DefinitionRecord, FileRow, FileWords
    from deltos.store.graph import FileImports
    from deltos.store.history import FileHistory

# Scoring a row with BM25 costs twenty times as much as finding it. So a term alone selects rows only while they are few
ALONE_ROWS = 300
# and more common terms only where two of them occur together, again while such rows are few.
PAIR_ROWS = 300
# Words of one question co-occur about three times as often as independent words would.
_COOCCURRENCE = 3
MATCH_TERMS = 8
MATCH_TERMS_OF_ISSUE = 16  # the rarest words of an issue are often its reporter's own: with 8, Acc@5 is 0.05 lower
# 300 chunks and 32 described files cost half as much again, for the same NDCG@10: docs/decisions.md.
CHUNK_CANDIDATES = 150
FILE_CANDIDATES = 60
NAME_CANDIDATES = 200
# Projects that are looked through for words; all of them are for what is near in meaning.
MOST_BY_WORDS = 40
# Files whose features are computed; a name may be defined in many files that score alike before that.
KEPT_FILES = 20
KEPT_FILES_FOR_NAME = 28
# Files that join because a chunk of theirs is near in meaning, and how many of them are described whatever words say.
NEAR_CANDIDATES = 60
KEPT_NEAR_FILES = 15
_NEAR_CHUNKS = 2 * NEAR_CANDIDATES  # of several projects: about so many chunks are of as many files as of one
# Files that join because commits that resemble the question touched them.
SPOKEN_CANDIDATES = 100
SPOKEN_FILES = 8
# Tests, prose, examples and settings repeat what they are about, and would take the places of what they speak of: among
# the ten nearest files, 0.49 of the answers to paraphrases over 500 files and more instead of 0.41.
_SECONDARY_SIMILARITY = 0.15  # so much less near
_SECONDARY_SHARE = 0.5  # commits say half as much for them
_HALF_LIFE_SECONDS = 180 * 86_400  # after which a change counts half


@dataclass(frozen=True, slots=True)
class Evidence:
    """What speaks for files beside their words: how near each chunk is in meaning, the project's history, which commits
    resemble the query, and which files need which; None where that is not known."""

    near: ChunkSimilarities | None = None
    history: FileHistory | None = None
    similar: SimilarCommits | None = None
    imports: FileImports | None = None


@dataclass(frozen=True, slots=True)
class Statistics:
    """How common the words of a question are: in how many chunks each stands, of how many."""

    frequencies: Mapping[str, int]
    chunk_count: int


class Corpus:
    """What is searched of one project for one question."""

    def __init__(self, store: Code, evidence: Evidence) -> None:
        self.store = store
        self.evidence = evidence
        self._statistics: Statistics | None = None
        self._file_words: dict[int, FileWords] = {}
        self._chunk_words: dict[int, CodeChunkWords] = {}
        self.weights: Weights | None = None  # of the question, in all projects that are searched

    def file_words(self, ids: Iterable[int]) -> Mapping[int, FileWords]:
        """The words of files, and of all that were asked for before: each is read once."""
        if missing := [file_id for file_id in ids if file_id not in self._file_words]:
            self._file_words |= self.store.file_words(missing)
        return self._file_words

    def chunk_words(self, ids: Iterable[int]) -> Mapping[int, CodeChunkWords]:
        """The same of chunks."""
        if missing := [chunk_id for chunk_id in ids if chunk_id not in self._chunk_words]:
            self._chunk_words |= self.store.chunk_words(missing)
        return self._chunk_words

    def file_count(self) -> int:
        """How many files the project has."""
        return self.store.file_count(FileScope())

    def statistics(self, query: CodeQuery) -> Statistics:
        """How common the words of the question are in the project: counted once."""
        if self._statistics is None:
            frequencies = self.store.document_frequencies([*query.terms, *query.joined])
            self._statistics = Statistics(frequencies, self.store.chunk_count())
        return self._statistics


def describe_candidates(
    store: Code,
    query: CodeQuery,
    scope: FileScope,
    evidence: Evidence,
    *,
    at_least: int = 0,
) -> tuple[list[CandidateFile], list[list[float]]]:
    """What may answer the query, with its features: what ranking and training both start from.

    `at_least` is how many files are wanted in the end, if there are so many.
    """
    return describe_across([Corpus(store, evidence)], query, scope, at_least=at_least)


def describe_across(
    corpora: Sequence[Corpus], query: CodeQuery, scope: FileScope, *, at_least: int = 0
) -> tuple[list[CandidateFile], list[list[float]]]:
    """The same over several projects as if they were one: words are as rare as they are in all of them together, and
    candidates are compared with the best of any. What each project's own index scores is told as a share of what it
    could give a file that has all words."""
    return described(gather(corpora, query, scope), corpora, query, at_least=at_least)


@dataclass(slots=True)
class Gathered:
    """All that may answer a question, and of it what is near in meaning and what similar commits speak for, each with
    what it is worth; `spoken` is what commits say in each project."""

    weights: Weights
    candidates: list[CandidateFile] = field(default_factory=list)
    nearest: list[tuple[float, CandidateFile]] = field(default_factory=list)
    touched: list[tuple[float, CandidateFile]] = field(default_factory=list)
    spoken: list[Mapping[str, Spoken]] = field(default_factory=list)


def gather(corpora: Sequence[Corpus], query: CodeQuery, scope: FileScope) -> Gathered:
    """What may answer a question in some projects, before it is described."""
    together = _statistics_across(corpora, query)
    found = Gathered(weights_across(corpora, query))
    selecting = _selection_terms(together, query)
    least_near = _least_near([corpus.evidence.near for corpus in corpora])
    likeliest = _likeliest(corpora, query, found.weights)
    for number, corpus in enumerate(corpora):
        here: list[CandidateFile] = []
        if number in likeliest:
            scale = total_weight(query, corpus.statistics(query).frequencies, corpus.statistics(query).chunk_count)
            here = _candidates(corpus.store, query, scope, selecting.within(corpus.statistics(query)), scale)
        near, similar = corpus.evidence.near, corpus.evidence.similar
        found.nearest += _join_near(corpus.store, query, scope, here, near, least_near) if near else []
        found.spoken.append(similar.spoken(found.weights, corpus.file_count()) if similar else {})
        found.touched += _join_spoken(corpus.store, query, scope, here, found.spoken[-1])
        for candidate in here:
            candidate.corpus = number
        found.candidates += here
    return found


def described(
    gathered: Gathered, corpora: Sequence[Corpus], query: CodeQuery, *, at_least: int
) -> tuple[list[CandidateFile], list[list[float]]]:
    """The likeliest of what was gathered, with its features."""
    weights, candidates = gathered.weights, gathered.candidates
    kept = max(KEPT_FILES_FOR_NAME if query.names else KEPT_FILES, at_least)
    best_near, best_touched = _best(gathered.nearest, KEPT_NEAR_FILES), _best(gathered.touched, SPOKEN_FILES)
    for candidate in best_near:
        candidate.is_near = True
    for candidate in best_touched:
        candidate.is_spoken_for = True
    if len(candidates) > kept:
        likely = sorted(candidates, key=lambda candidate: -first_guess(candidate, query, weights))[:kept]
        by_id = {(each.corpus, each.file.id): each for each in (*likely, *best_near, *best_touched)}
        candidates = list(by_id.values())
    usual = usual_similarity(corpora)
    texts = [Texts({}, {})] * len(corpora)
    for number in dict.fromkeys(candidate.corpus for candidate in candidates):
        corpus, here = corpora[number], [candidate for candidate in candidates if candidate.corpus == number]
        if corpus.evidence.near:
            _tell_similarities(here, corpus.evidence.near, usual)
        if corpus.evidence.history:
            _tell_history(here, corpus.evidence.history, gathered.spoken[number])
        texts[number] = _read_words(corpus, here)
    return candidates, describe(candidates, query, weights, texts)


def is_narrowed(corpora: Sequence[Corpus], query: CodeQuery) -> bool:
    """Whether words are looked for in some of the projects only."""
    return len(corpora) > MOST_BY_WORDS and not query.names


def _likeliest(corpora: Sequence[Corpus], query: CodeQuery, weights: Weights) -> Collection[int]:
    """The positions of the projects that are looked through for the words of a question: of many, those that have most
    of them somewhere, as no file of another one could have as many. A name is looked for in all."""
    if not is_narrowed(corpora, query):
        return range(len(corpora))
    shares = [
        sum(weights.by_term.get(term, 0.0) for term in corpus.statistics(query).frequencies) for corpus in corpora
    ]
    return set(sorted(range(len(corpora)), key=lambda number: -shares[number])[:MOST_BY_WORDS])


def _least_near(similarities: Sequence[ChunkSimilarities | None]) -> float:
    """How near a chunk has to be to count among the nearest of several projects; of one, all may."""
    known = [near for near in similarities if near]
    if len(known) < 2:
        return -math.inf
    best = sorted((value for near in known for value in near.highest(NEAR_CANDIDATES)), reverse=True)
    return best[:_NEAR_CHUNKS][-1]


def weights_across(corpora: Sequence[Corpus], query: CodeQuery) -> Weights:
    """How rare the words of a question are in all of some projects together: those that are asked the question."""
    weights = corpora[0].weights
    if weights is None:
        together = _statistics_across(corpora, query)
        weights = corpora[0].weights = Weights(query, together.frequencies, together.chunk_count)
    return weights


def _statistics_across(corpora: Sequence[Corpus], query: CodeQuery) -> Statistics:
    """How common the words of a question are in all of some projects together."""
    parts = [corpus.statistics(query) for corpus in corpora]
    if len(parts) == 1:
        return parts[0]
    frequencies: Counter[str] = Counter()
    for part in parts:
        frequencies.update(part.frequencies)
    return Statistics(frequencies, sum(part.chunk_count for part in parts))


def _best(found: Sequence[tuple[float, CandidateFile]], count: int) -> list[CandidateFile]:
    """The candidates that are worth most, best first; those of one project keep their order."""
    return [candidate for _, candidate in sorted(found, key=lambda pair: -pair[0])[:count]]


def usual_similarity(corpora: Sequence[Corpus]) -> Usual:
    """Mean and deviation of the similarity of all chunks of all projects."""
    return pooled([corpus.evidence.near.usual for corpus in corpora if corpus.evidence.near])


def _read_words(corpus: Corpus, candidates: Sequence[CandidateFile]) -> Texts:
    best = [chunk_id for candidate in candidates for chunk_id in candidate.chunk_ids[:BEST_CHUNKS]]
    return Texts(corpus.file_words([candidate.file.id for candidate in candidates]), corpus.chunk_words(best))


@dataclass(frozen=True, slots=True)
class _SelectionTerms:
    """The terms, rarest first, that make a candidate alone, and those that do so in pairs."""

    alone: Sequence[str]
    paired: Sequence[str]

    def within(self, statistics: Statistics) -> _SelectionTerms:
        """Those of them that a project has; a term that is not paired with another one there selects nothing."""
        alone = [term for term in self.alone if term in statistics.frequencies]
        paired = [term for term in self.paired if term in statistics.frequencies]
        return _SelectionTerms(alone, paired if alone or len(paired) > 1 else [])


def _selection_terms(statistics: Statistics, query: CodeQuery) -> _SelectionTerms:
    """What selects candidates: the rarest terms of a question, as common as they are in all projects together."""
    frequencies = statistics.frequencies
    most = MATCH_TERMS_OF_ISSUE if query.is_issue else MATCH_TERMS
    terms = sorted(frequencies, key=lambda term: (frequencies[term], term))[:most]
    return _SelectionTerms(*_divide(terms, frequencies, statistics.chunk_count))


def chunks_like(store: Code, query: CodeQuery, scope: FileScope, *, limit: int) -> list[int]:
    """The ids of the chunks that best match the words of a text, best first."""
    selecting = _selection_terms(Corpus(store, Evidence()).statistics(query), query)
    if not selecting.alone and not selecting.paired:
        return []
    return [match.chunk_id for match in store.match_chunks(selecting.alone, selecting.paired, scope, limit=limit)]


def _candidates(
    store: Code, query: CodeQuery, scope: FileScope, selecting: _SelectionTerms, scale: float
) -> list[CandidateFile]:
    alone, paired = selecting.alone, selecting.paired
    chunks = store.match_chunks(alone, paired, scope, limit=CHUNK_CANDIDATES) if alone or paired else []
    files = store.match_files([*query.terms, *query.joined], alone, paired, scope, limit=FILE_CANDIDATES)
    definitions = store.definitions_named(query.names, scope, limit=NAME_CANDIDATES) if query.names else []
    return _gather(store, chunks, files, definitions, scale)


def _join_near(
    store: Code,
    query: CodeQuery,
    scope: FileScope,
    candidates: list[CandidateFile],
    similarities: ChunkSimilarities,
    least: float,
) -> list[tuple[float, CandidateFile]]:
    """Add the files that are near in meaning to the candidates; those that may be described, best first, each with
    how near it is."""
    if similarities.nearest < least:
        return []
    among = None if scope == FileScope() else {file_id for file_id, _ in store.paths(scope)}
    nearest = similarities.nearest_files(NEAR_CANDIDATES, among, at_least=least)
    known = {candidate.file.id: candidate for candidate in candidates}
    new = store.files([near.file_id for near in nearest if near.file_id not in known])
    candidates += [known.setdefault(file.id, CandidateFile(file)) for file in new]

    def nearness(near: NearFile) -> float:
        return near.similarity - _SECONDARY_SIMILARITY * _is_secondary(known[near.file_id].file.path, query)

    there = [near for near in nearest if near.file_id in known]
    return [
        (nearness(near), known[near.file_id]) for near in sorted(there, key=nearness, reverse=True)[:KEPT_NEAR_FILES]
    ]


def _join_spoken(
    store: Code, query: CodeQuery, scope: FileScope, candidates: list[CandidateFile], spoken: Mapping[str, Spoken]
) -> list[tuple[float, CandidateFile]]:
    """Add the files to the candidates that similar commits say most for; these files, best first, each with what it
    is worth."""
    known = {candidate.file.id: candidate for candidate in candidates}

    def worth(file: FileRow) -> tuple[float, str]:
        share = _SECONDARY_SHARE if _is_secondary(file.path, query) else 1.0
        return -spoken[file.path].total * share, file.path

    likely = sorted(spoken, key=lambda path: (-spoken[path].total, path))[:SPOKEN_CANDIDATES]
    files = sorted(store.files_at(likely, scope), key=worth)[:SPOKEN_FILES] if likely else []
    candidates += [known.setdefault(file.id, CandidateFile(file)) for file in files if file.id not in known]
    return [(-worth(file)[0], known[file.id]) for file in files]


def _is_secondary(path: str, query: CodeQuery) -> bool:
    return (is_test(path) and not query.about_tests) or is_prose(path) or is_aside(path) or is_settings(path)


def _tell_similarities(candidates: Sequence[CandidateFile], similarities: ChunkSimilarities, usual: Usual) -> None:
    """Give each candidate its nearest chunks, and how near they are."""
    nearest = similarities.of_files(candidate.file.id for candidate in candidates)
    for candidate in candidates:
        if near := nearest.get(candidate.file.id):
            candidate.near_chunks, candidate.similarity = near.chunk_ids, near.similarity
            candidate.deviations = (near.similarity - usual.mean) / usual.deviation


def _tell_history(candidates: Sequence[CandidateFile], history: FileHistory, spoken: Mapping[str, Spoken]) -> None:
    """Give each candidate what its commits say of it."""
    known = history.of_files([candidate.file.path for candidate in candidates])
    newest = max((row.last_changed for row in known.values()), default=0)
    for candidate in candidates:
        if row := known.get(candidate.file.path):
            candidate.history = row
            candidate.spoken = spoken.get(candidate.file.path)
            candidate.recency = 0.5 ** ((newest - row.last_changed) / _HALF_LIFE_SECONDS)


def _divide(terms: Sequence[str], frequencies: Mapping[str, int], chunk_count: int) -> tuple[list[str], list[str]]:
    """The terms, rarest first, that make a candidate alone, and those that do so in pairs."""
    alone: list[str] = []
    paired: list[str] = []
    rows = 0
    for term in terms:
        # Terms come rarest first: once one had to be paired, every later one is at least as common. The rarest always
        # stands alone, however common it is: a query of one word must find something.
        if not paired and (not alone or rows + frequencies[term] <= ALONE_ROWS):
            alone.append(term)
            rows += frequencies[term]
        elif _expected_pairs([*paired, term], frequencies, chunk_count) <= PAIR_ROWS:
            paired.append(term)
    return alone, paired


def _expected_pairs(terms: Sequence[str], frequencies: Mapping[str, int], chunk_count: int) -> float:
    """About how many chunks hold two of the terms, estimated from their frequencies."""
    counts = [frequencies[term] for term in terms]
    total = sum(counts)
    return _COOCCURRENCE * (total * total - sum(count * count for count in counts)) / 2 / max(1, chunk_count)


def _gather(
    store: Code,
    chunks: Iterable[ChunkMatch],
    files: Iterable[tuple[int, float]],
    definitions: Iterable[tuple[int, DefinitionRecord]],
    scale: float,
) -> list[CandidateFile]:
    """One candidate per file, with everything that was found in it; scores become shares of `scale`."""
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
