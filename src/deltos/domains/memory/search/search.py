"""Ranked search over observations, in two stages.

A matching term counts only once: for the observation itself, for a neighbour (adjacent observation in the same
session), or for the session.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from deltos.domains.memory.core.conflicts import conflicting_pairs
from deltos.domains.memory.core.model import MEASURED, NOTE
from deltos.domains.memory.search.conversation import TurnFeatures, turn_features, turn_scores
from deltos.domains.memory.search.query import MemoryQuery, label_of, parse_query
from deltos.model import NO_FILTERS
from deltos.ranking import load_ranker
from deltos.redaction.spans import lower, offsets
from deltos.store.observations import POSITION_BITS, session_of
from deltos.text.dates import TimeSpan, requested_spans
from deltos.text.idf import idf
from deltos.text.stop_words import PROSE_STOP_WORDS
from deltos.text.tags import has_tag
from deltos.text.unspaced_scripts import UNSPACED
from deltos.text.words import tokens

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from deltos.model import Filters
    from deltos.ranking import LinearRanker
    from deltos.semantic_index import Similarities
    from deltos.store.observations import Observation, Observations, ObservationSummary

# In long queries over many observations, only the rarest terms are used, because common terms cost more time than they
# improve the ranking.
_MAX_SEARCHED_TERMS = 12
_MAX_POSTINGS = 8_000  # maximum number of postings read for one query
_MAX_COUNTED_FREQUENCY = 4_000  # document frequencies are counted exactly up to this number
_MAX_FIRST_STAGE_CANDIDATES = 300  # maximum number of candidates in the first stage
_MAX_SECOND_STAGE_CANDIDATES = 150  # maximum number of candidates in the second stage
_MAX_DATED_CANDIDATES = 200
_MAX_SEMANTIC_CANDIDATES = 50
_MIN_SIMILARITY = 0.1  # minimum similarity of matches that contain no query terms

# Factor by which the similarity is multiplied to compute the confidence; ranking uses the full similarity.
_CONFIDENCE_SIMILARITY_SHARE = 0.6
# Semantic matches must be more similar if an observation contains every query term, or if the query is a single word:
# an unknown name is slightly similar to everything.
_MIN_SIMILARITY_WITH_FULL_MATCH = 0.3
_MIN_SIMILARITY_FOR_ONE_TERM = 0.3
# Typical share of the query's term weight that is missing in the best observation. Similarity counts more if a larger
# share is missing.
_TYPICAL_MISSING_SHARE = 0.7

_STATEMENT_KINDS = ("decision", "preference")
_MAX_PROMPT_DISTANCE = 5  # maximum number of observations from a prompt to its answer

# Distances to neighbours (adjacent observations in the same session), closest first.
_NEIGHBOUR_OFFSETS = (-1, 1, -2, 2)
_OFFSETS_BEFORE, _OFFSETS_AFTER = (-1, -2, -3), (1, 2, 3)
_MAX_AVERAGED_SESSION_HITS = 3
# Feature weights, set by hand and checked by cross-validation over conversations (benchmarks/memory_folds.py).
WEIGHTS_FILE = Path(__file__).with_name("weights.json")
_MAX_TERM_POSITIONS = 200
_MAX_HEAD_CHARACTERS = 300
SNIPPET_CHARACTERS = 100


@dataclass(frozen=True, slots=True)
class MemoryHit:
    """An observation that matches a query.

    `score` is relative to the best hit of the same answer, whose score is 1; `confidence` (0 to 1) is comparable
    between answers.
    """

    observation: Observation
    score: float
    snippet: str
    confidence: float = 1.0
    is_near: bool = False  # whether it is a semantic match, without any query term


@dataclass(frozen=True, slots=True)
class MemoryResults:
    """The best hits of a query.

    `matching` is the number of matching observations, `searched` the number of observations in scope, and `elsewhere`
    the number of matches in other projects.
    """

    hits: tuple[MemoryHit, ...]
    matching: int
    searched: int
    elsewhere: int


@dataclass(frozen=True, slots=True)
class MemoryScope:
    """Database keys of the projects to search; if `everything` is set, all projects are searched."""

    project_keys: tuple[int, ...]
    everything: bool = False


class WordFeatures(NamedTuple):
    """Ranking features of the first stage: weights of query terms in an observation, its neighbours and its session."""

    own_words: float
    words_before: float
    words_after: float
    words_two_before: float
    words_two_after: float
    session_words: float


class ObservationFeatures(NamedTuple):
    """Ranking features of an observation in the second stage; `words` is the score of the first stage.

    `near_alone` is the similarity multiplied by the share of the query that no observation contains.
    """

    words: float
    named: bool
    dated: bool
    similarity: float
    near_alone: float
    similarity_before: float = 0.0  # highest similarity among the three observations before
    similarity_after: float = 0.0  # highest similarity among the three observations after
    # Similarity to the observations before a message of an agent, which often answers them; 0 for all others.
    answers_similar: float = 0.0
    prompt_words: float = 0.0  # weight of query terms that occur only in the prompt answered by the observation


class _RankedObservation(NamedTuple):
    """Row number of an observation, with its score and confidence for the query."""

    score: float
    row_number: int
    confidence: float


def rankers() -> tuple[LinearRanker, LinearRanker]:
    """Return the rankers of both stages."""
    return load_ranker(WEIGHTS_FILE, WordFeatures._fields), load_ranker(WEIGHTS_FILE, ObservationFeatures._fields)


def turn_ranker() -> LinearRanker:
    """Return the ranker of conversation turns, which is trained by `benchmarks.memory_folds`."""
    return load_ranker(WEIGHTS_FILE, TurnFeatures._fields, "turn_weights")


class _Matches:
    """Bit masks of the query terms in each observation, by row number, and the weight of each term."""

    def __init__(self, bits: Mapping[int, int], term_weights: Sequence[float], absent_weight: float) -> None:
        self.bits = bits
        self._term_weights = term_weights
        self._total = sum(term_weights) + absent_weight
        self._weights: dict[int, float] = {0: 0.0}

    def weight(self, mask: int) -> float:
        """Return the total weight of the terms in a bit mask."""
        weight = self._weights.get(mask)
        if weight is None:
            weight = sum(each for number, each in enumerate(self._term_weights) if mask >> number & 1)
            self._weights[mask] = weight
        return weight

    def confidence(self, score: float) -> float:
        """Convert a score to a confidence, which is 0.5 if half of the query's total term weight matches."""
        return 1 - 0.25 ** (max(0.0, score) / self._total) if self._total else 0.5

    def missing_share(self) -> float:
        """Return the share of the query that the best observation lacks, scaled from 0 (typical) to 1 (all terms)."""
        best = max(map(self.weight, set(self.bits.values())), default=0.0)
        share = 1 - best / self._total if self._total else 1.0
        return max(0.0, share - _TYPICAL_MISSING_SHARE) / (1 - _TYPICAL_MISSING_SHARE)

    def lacks_full_match(self) -> bool:
        """Whether no observation contains every query term."""
        return max(map(self.weight, set(self.bits.values())), default=0.0) < self._total or not self._total

    def best(self, count: int, allowed: Collection[int] | None = None) -> list[int]:
        """Return the row numbers (in `allowed`, if given) with the highest term weights, best first."""
        by_mask: dict[int, list[int]] = defaultdict(list)
        for row_number, mask in self.bits.items():
            if allowed is None or row_number in allowed:
                by_mask[mask].append(row_number)
        row_numbers: list[int] = []
        for mask in sorted(by_mask, key=self.weight, reverse=True):
            row_numbers += by_mask[mask][: count - len(row_numbers)]
        return row_numbers


def search(
    store: Observations,
    text: str,
    scope: MemoryScope,
    *,
    limit: int,
    now: datetime,
    similarities: Similarities | None = None,
    filters: Filters = NO_FILTERS,
) -> MemoryResults:
    """Return the best observations for a query, ranked by terms and, if available, by similarity."""
    spans = requested_spans(text, now)
    query = parse_query(text, is_dated=bool(spans))
    searched = store.count(scope.project_keys)
    matches = _find_matches(store, query, scope, searched)
    allowed = None if filters == NO_FILTERS else _filtered_row_numbers(store, scope, filters, searched)
    best = matches.best(_MAX_FIRST_STAGE_CANDIDATES, allowed)
    similarities = _restrict_to_scope(store, scope, similarities)
    if similarities and allowed is not None:
        similarities = similarities.limited_to(allowed)
    semantic_rows = similarities.semantic_matches(_MAX_SEMANTIC_CANDIDATES) if similarities else []
    candidates = _add_neighbours(best).union(_dated_row_numbers(store, scope, spans), semantic_rows)
    if allowed is not None:
        candidates &= allowed
        searched = len(allowed)
    by_words, _ = rankers()
    word_features = _word_features(matches, candidates, best)
    words = {row_number: by_words.score(row) for row_number, row in word_features.items()}
    best_by_words = heapq.nlargest(_MAX_SECOND_STAGE_CANDIDATES, words, key=words.__getitem__)
    row_numbers = [*dict.fromkeys((*best_by_words, *semantic_rows))]
    similarity_by_row = (
        similarities.cosines([*dict.fromkeys((*row_numbers, *_neighbours(row_numbers)))]) if similarities else {}
    )
    missing_share = matches.missing_share()
    summaries = {item.place: item for item in store.summaries(row_numbers, head_characters=_MAX_HEAD_CHARACTERS)}
    rows = {
        summary.place: _own_features(
            summary,
            query,
            spans,
            words=words[summary.place],
            similarity_by_row=similarity_by_row,
            missing_share=missing_share,
            prompt_words=_prompt_words(summary, summaries, matches),
        )
        for summary in summaries.values()
    }
    min_similarity = _min_similarity(query, matches)
    supported_rows = {
        row_number: row
        for row_number, row in rows.items()
        if matches.bits.get(row_number) or _is_termless_match(row, min_similarity)
    }
    ranked_observations = _rank(supported_rows, matches, summaries)
    if not query.asks_for_former:
        ranked_observations = _sort_repeated_measurements(ranked_observations, summaries.values())
    hits = _load_hits(store, ranked_observations[:limit], query, _rows_without_terms(word_features, words))
    return MemoryResults(hits, matching=len(ranked_observations), searched=searched, elsewhere=0)


def _min_similarity(query: MemoryQuery, matches: _Matches) -> float:
    """Return the minimum similarity that makes an observation without query terms a match."""
    if not matches.lacks_full_match():
        return _MIN_SIMILARITY_WITH_FULL_MATCH
    return _MIN_SIMILARITY_FOR_ONE_TERM if len(query.terms) == 1 else _MIN_SIMILARITY


def _rank(
    rows: Mapping[int, ObservationFeatures], matches: _Matches, summaries: Mapping[int, ObservationSummary]
) -> list[_RankedObservation]:
    """Rank the observations by score; drop observations without a positive score."""
    _, ranker = rankers()
    scores = {row_number: ranker.score(row) for row_number, row in rows.items()}
    scores |= turn_scores(turn_features(scores, rows, summaries), turn_ranker())
    ranked = [
        # Without query terms, the confidence is the cosine similarity; the weight of similarity suits only the ranking.
        _RankedObservation(
            scores[row_number],
            row_number,
            max(matches.confidence(ranker.score(_confidence_features(row))), row.near_alone)
            if matches.bits.get(row_number)
            else row.similarity,
        )
        for row_number, row in rows.items()
    ]
    return sorted((item for item in ranked if item.score > 0), reverse=True)


def _confidence_features(row: ObservationFeatures) -> ObservationFeatures:
    """Return the features from which the confidence is computed: without neighbours, and with reduced similarity."""
    similarity = row.similarity * _CONFIDENCE_SIMILARITY_SHARE
    return row._replace(
        similarity=similarity, near_alone=0.0, similarity_before=0.0, similarity_after=0.0, answers_similar=0.0
    )


def _sort_repeated_measurements(
    ranked: Sequence[_RankedObservation], summaries: Collection[ObservationSummary]
) -> list[_RankedObservation]:
    """Reorder repeated measurements by the same command within the ranking: latest first."""
    written = {item.place: item.created_at for item in summaries}
    command = {item.place: item.head.partition("\n")[0] for item in summaries if item.head.startswith(MEASURED)}
    row_numbers: dict[str, list[int]] = defaultdict(list)
    for item in ranked:
        if item.row_number in command:
            row_numbers[command[item.row_number]].append(item.row_number)
    latest = {line: iter(sorted(same, key=written.__getitem__, reverse=True)) for line, same in row_numbers.items()}
    return [
        item._replace(row_number=next(latest[command[item.row_number]])) if item.row_number in command else item
        for item in ranked
    ]


def _is_termless_match(row: ObservationFeatures, min_similarity: float) -> bool:
    """Whether an observation without query terms matches because of a name, the date, the prompt or similarity."""
    return row.named or row.dated or row.prompt_words > 0 or row.similarity >= min_similarity


def snippet(text: str, terms: Iterable[Collection[str]], *, characters: int = SNIPPET_CHARACTERS) -> str:
    """Return at most `characters` of a text, around the position with the most query terms."""
    flat = " ".join(text.split())
    if len(flat) <= characters:
        return flat
    starts = _term_positions(flat, terms)
    room = characters - 2
    start = max(starts, key=lambda at: (sum(at <= other < at + room for other in starts), -at), default=0)
    start = max(0, min(start - room // 4, len(flat) - room))
    if start and " " in flat[start : start + 20]:
        start = flat.index(" ", start) + 1
    excerpt = flat[start : start + room].rstrip()
    return ("…" if start else "") + excerpt + ("…" if start + room < len(flat) else "")


def _find_matches(store: Observations, query: MemoryQuery, scope: MemoryScope, searched: int) -> _Matches:
    """Return the matches of the rarest query terms, reading at most `_MAX_POSTINGS` postings."""
    projects = None if scope.everything else scope.project_keys
    bits: dict[int, int] = {}
    term_weights: list[float] = []
    budget = _MAX_POSTINGS
    found, absent = _rarest_terms(store, query.terms, projects)
    for count, term in found:
        if term_weights and count > budget:
            break  # the remaining terms are more frequent: more work, less weight
        row_numbers = store.row_numbers_with(term, at_most=min(_MAX_COUNTED_FREQUENCY, budget), project_keys=projects)
        budget -= len(row_numbers)
        bit = 1 << len(term_weights)
        for row_number in row_numbers:
            bits[row_number] = bits.get(row_number, 0) | bit
        term_weights.append(idf(len(row_numbers), searched) if row_numbers else 0.0)
    return _Matches(bits, term_weights, absent * idf(0, searched))


def _rarest_terms(
    store: Observations, terms: Iterable[tuple[str, ...]], projects: Sequence[int] | None
) -> tuple[list[tuple[int, tuple[str, ...]]], int]:
    """Return the rarest query terms with document frequencies, rarest first, and the number of unmatched terms."""
    absent = 0
    found: list[tuple[int, tuple[str, ...]]] = []
    for term in terms:
        # Counting stops as soon as a term is more frequent than the terms already chosen.
        count_limit = found[-1][0] + 1 if len(found) == _MAX_SEARCHED_TERMS else _MAX_COUNTED_FREQUENCY
        count = store.frequency(term, at_most=count_limit, project_keys=projects)
        if count:
            found = sorted([*found, (count, term)])[:_MAX_SEARCHED_TERMS]
        else:
            absent += 1
    return found, absent


def _add_neighbours(row_numbers: Iterable[int]) -> set[int]:
    """Return the given row numbers and the row numbers of adjacent observations in the same sessions."""
    neighbours = {
        row_number + step
        for row_number in row_numbers
        for step in _NEIGHBOUR_OFFSETS
        if session_of(row_number + step) == session_of(row_number)
    }
    return neighbours.union(row_numbers)


def _filtered_row_numbers(store: Observations, scope: MemoryScope, filters: Filters, searched: int) -> set[int]:
    """Return the row numbers of the observations that match the filters."""
    between = store.row_numbers_between(
        scope.project_keys, filters.since, filters.until, at_most=searched, kinds=filters.kinds
    )
    if not filters.tag:
        return set(between)
    passed = set(between)
    for term in parse_query(filters.tag).terms:  # the words of tags are in the full-text index
        passed &= set(store.row_numbers_with(term, at_most=_MAX_COUNTED_FREQUENCY, project_keys=scope.project_keys))
    return {row.place for row in store.at_row_numbers(sorted(passed)) if has_tag(row.text, filters.tag)}


def _dated_row_numbers(store: Observations, scope: MemoryScope, spans: Sequence[TimeSpan]) -> list[int]:
    """Return the row numbers of observations from the dates in the query, even if they contain no query term."""
    row_numbers: list[int] = []
    for span in spans:
        if len(row_numbers) < _MAX_DATED_CANDIDATES:
            row_numbers += store.row_numbers_between(
                scope.project_keys, span.start, span.end, at_most=_MAX_DATED_CANDIDATES - len(row_numbers)
            )
    return row_numbers


def _word_features(matches: _Matches, candidates: Iterable[int], best: Sequence[int]) -> dict[int, WordFeatures]:
    """Return the ranking features of each candidate for the first stage."""
    sessions = _session_weights(matches, best)
    return {
        row_number: WordFeatures._make(
            [*_weights_around(matches, row_number), sessions.get(session_of(row_number), 0.0)]
        )
        for row_number in candidates
    }


def _weights_around(matches: _Matches, row_number: int) -> list[float]:
    """Return the weight of the query terms in an observation, then the weight that each neighbour adds."""
    seen = matches.bits.get(row_number, 0)
    term_weights = [matches.weight(seen)]
    for step in _NEIGHBOUR_OFFSETS:
        is_near = session_of(row_number + step) == session_of(row_number)
        new = matches.bits.get(row_number + step, 0) & ~seen if is_near else 0
        term_weights.append(matches.weight(new))
        seen |= new
    return term_weights


def _session_weights(matches: _Matches, best: Sequence[int]) -> dict[int, float]:
    """Return the mean term weight of the best observations in each session; `best` must be sorted, best first."""
    by_session: dict[int, list[float]] = defaultdict(list)
    for row_number in best:
        values = by_session[session_of(row_number)]
        if len(values) < _MAX_AVERAGED_SESSION_HITS:
            values.append(matches.weight(matches.bits[row_number]))
    return {session: sum(values) / _MAX_AVERAGED_SESSION_HITS for session, values in by_session.items()}


def _restrict_to_scope(
    store: Observations, scope: MemoryScope, similarities: Similarities | None
) -> Similarities | None:
    """Restrict the similarities to the projects in scope."""
    if similarities is None or scope.everything:
        return similarities
    return similarities.in_groups(store.session_keys(scope.project_keys), bits=POSITION_BITS)


def _own_features(
    summary: ObservationSummary,
    query: MemoryQuery,
    spans: Sequence[TimeSpan],
    *,
    words: float,
    similarity_by_row: Mapping[int, float],
    missing_share: float,
    prompt_words: float,
) -> ObservationFeatures:
    """Return the second-stage features of an observation."""
    similarity = max(0.0, similarity_by_row.get(summary.place, 0.0))
    before, after = (
        _max_similarity(similarity_by_row, summary.place, reach) for reach in (_OFFSETS_BEFORE, _OFFSETS_AFTER)
    )
    return ObservationFeatures(
        words=words,
        named=_is_named(summary, query),
        dated=any(span.start <= summary.created_at < span.end for span in spans),
        similarity=similarity,
        near_alone=similarity * missing_share,
        similarity_before=before,
        similarity_after=after,
        answers_similar=before if summary.source == "agent" else 0.0,
        prompt_words=prompt_words,
    )


def _neighbours(row_numbers: Iterable[int]) -> Iterator[int]:
    """Yield the row numbers shortly before and after the given row numbers in the same sessions."""
    for row_number in row_numbers:
        for step in (*_OFFSETS_BEFORE, *_OFFSETS_AFTER):
            if session_of(row_number + step) == session_of(row_number):
                yield row_number + step


def _max_similarity(similarity_by_row: Mapping[int, float], row_number: int, steps: Iterable[int]) -> float:
    """Return the highest similarity among the neighbours of an observation in the same session."""
    neighbours = (row_number + step for step in steps if session_of(row_number + step) == session_of(row_number))
    return max((similarity_by_row.get(item, 0.0) for item in neighbours), default=0.0)


def _prompt_words(summary: ObservationSummary, summaries: Mapping[int, ObservationSummary], matches: _Matches) -> float:
    """Return the weight of query terms that occur only in the prompt answered by an agent's finding or note."""
    if summary.kind not in ("finding", NOTE) or summary.source != "agent":
        return 0.0
    for back in range(1, _MAX_PROMPT_DISTANCE + 1):
        before = summaries.get(summary.place - back)
        if before is not None and before.source == "user" and session_of(before.place) == session_of(summary.place):
            new = matches.bits.get(before.place, 0) & ~matches.bits.get(summary.place, 0)
            return matches.weight(new)
    return 0.0


def _is_named(summary: ObservationSummary, query: MemoryQuery) -> bool:
    """Whether the query mentions the label, source, files or symbols of an observation."""
    label = label_of(summary.head) - PROSE_STOP_WORDS
    if label and label <= query.words:
        return True
    if summary.source and query.words.issuperset(tokens(summary.source)):
        return True
    subjects = {name.lower() for path in summary.files for name in (path, path.rsplit("/", 1)[-1])}
    subjects.update(symbol.lower() for symbol in summary.symbols if not _is_plain_word(symbol))
    plain = {symbol.lower() for symbol in summary.symbols if _is_plain_word(symbol)}
    return not subjects.isdisjoint(query.names | query.words) or not plain.isdisjoint(query.names)


def _is_plain_word(symbol: str) -> bool:
    """Whether a symbol looks like an ordinary word, such as `Write`; such a word in a query may not mean the symbol."""
    return symbol.isalpha() and symbol[1:] == symbol[1:].lower()


def _rows_without_terms(word_features: Mapping[int, WordFeatures], row_numbers: Iterable[int]) -> set[int]:
    """Return the row numbers of observations that contain no query term."""
    return {row_number for row_number in row_numbers if not word_features[row_number].own_words}


def _load_hits(
    store: Observations,
    top: Sequence[_RankedObservation],
    query: MemoryQuery,
    semantic_rows: Collection[int],
) -> tuple[MemoryHit, ...]:
    """Load the best observations and convert them to hits with snippets."""
    by_row_number = {row.place: row for row in store.at_row_numbers([item.row_number for item in top])}
    best = top[0].score if top else 1.0
    top = _put_newer_conflicting_first(top, by_row_number)
    return tuple(
        MemoryHit(
            row,
            round(item.score / best, 4),
            snippet(row.text, query.terms),
            round(item.confidence, 4),
            item.row_number in semantic_rows,
        )
        for item in top
        if (row := by_row_number.get(item.row_number))
    )


def _put_newer_conflicting_first(
    top: Sequence[_RankedObservation], by_row_number: Mapping[int, Observation]
) -> list[_RankedObservation]:
    """Of two possibly contradictory statements, rank the newer one first, unless one is pinned."""
    stated = (row for row in by_row_number.values() if row.kind in _STATEMENT_KINDS and row.pinned_at is None)
    order = [item.row_number for item in top]
    for newer, older in conflicting_pairs(sorted(stated, key=lambda row: (-row.created_at, -row.place))):
        first, second = order.index(newer.place), order.index(older.place)
        if second < first:
            order[first], order[second] = older.place, newer.place
    return [item._replace(row_number=row_number) for item, row_number in zip(top, order, strict=True)]


def _term_positions(text: str, terms: Iterable[Collection[str]]) -> list[int]:
    """Return the offsets in a text at which a word begins with the stem of a query term."""
    lowered = lower(text)
    stems = {word[: max(3, len(word) - 2)].lower() for term in terms for word in term}
    found = {at for stem in stems for at in islice(_word_starts(lowered, stem), _MAX_TERM_POSITIONS)}
    return sorted(found)[:_MAX_TERM_POSITIONS]


def _word_starts(lowered: str, stem: str) -> Iterator[int]:
    """Yield the offsets at which a word begins with the stem; in scripts without spaces, all offsets of the stem."""
    is_unspaced = UNSPACED.match(stem) is not None
    for at in offsets(lowered, stem):
        if at == 0 or is_unspaced or not (lowered[at - 1].isalnum() or lowered[at - 1] == "_"):
            yield at
