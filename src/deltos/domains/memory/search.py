"""Find observations that answer a question. Each word counts where it stands nearest: in the observation, or
beside it."""

from __future__ import annotations

import heapq
import math
import re
from collections import defaultdict
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from deltos.domains.memory.admit import MEASURED
from deltos.domains.memory.kinds import NOTE
from deltos.domains.memory.query import AnswerForm, MemoryQuery, label_of, parse_query
from deltos.domains.memory.secrets.spans import lower, offsets
from deltos.model import NO_FILTERS
from deltos.ranking import load_ranker
from deltos.store.observations import POSITION_BITS, session_of
from deltos.text.dates import TimeSpan, asked_spans
from deltos.text.rarity import idf
from deltos.text.scripts import UNSPACED
from deltos.text.stop_words import PROSE_STOP_WORDS
from deltos.text.tags import has_tag
from deltos.text.times import micros
from deltos.text.words import tokens

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from deltos.meaning import Similarities
    from deltos.model import Filters
    from deltos.ranking import LinearRanker
    from deltos.store.observations import Observation, Observations, Sketch

# Long questions over many observations: the rarest words decide, the rest would only cost time.
_MOST_TERMS = 12
_MOST_PLACES = 8_000  # postings read for one question
_COUNT_UP_TO = 4_000  # a term in more observations than this is common, however many they are
_FIRST_STAGE = 300  # candidates by words alone
_SECOND_STAGE = 150  # of these, those whose rows are read
_DATED_PLACES = 200
_NEAREST = 50  # candidates by meaning
_LEAST_SIMILARITY = 0.1  # below that, nothing of the question is meant
_SIMILARITY_THAT_ASSURES = 0.6  # of what counts for the order: how much of it says that an observation answers
# Where an observation has every word of the question, others have to mean much the same; and one word, which may be a
# name that nobody has written yet, is a little like everything.
_LEAST_BESIDE_ALL_WORDS = 0.3
_LEAST_FOR_ONE_WORD = 0.3
# Where the best observation lacks more than this share of the question, meaning counts for much more.
_USUALLY_LACKING = 0.7

_STATED = ("decision", "preference")
# A user's note may be a decision, and a request tells what was wanted: how much each counts where one is asked for.
_NOTE_SHARE = 0.6
_REQUEST_SHARE = 0.3
_BESIDE_MATTER = 0.5  # how much a decision of that time counts that has no word of the matter that is asked about
_PROMPT_REACH = 5  # observations between an answer and the prompt that it answers
_COMMAND_CHARACTERS = 40  # by so much a command is known again
_REASONS = (
    "because", "since ", "so that", "due to", "reason", "weil", "wegen", "damit", "denn ", "porque", "por eso",
    "debido", "因为", "由于", "为了", "ため", "ので", "から、", "理由",
)  # fmt: skip
# A word counts where it stands nearest: in the observation itself, else beside it, the nearest neighbours first.
_BESIDE = (-1, 1, -2, 2)
_SHORTLY_BEFORE, _SHORTLY_AFTER = (-1, -2, -3), (1, 2, 3)
_SESSION_BEST = 3
_DAY_MICROS = 86_400_000_000
_AFTER_DATE_MICROS = 14 * _DAY_MICROS  # what happened on a day is often written down a little later
_RECENCY_MICROS = 60 * _DAY_MICROS
_USUAL_LENGTH = 200
# Hand-set, then checked by leaving out one conversation at a time: benchmarks/memory_folds.py.
WEIGHTS_FILE = Path(__file__).with_name("weights.json")
_MOST_POSITIONS = 200
_HEAD_CHARACTERS = 300
_COMMITTED = "Ran `git "
_NUMBER_WORDS = frozenset(
    "one two three four five six seven eight nine ten twelve half once twice zero a eins ein eine zwei drei vier fünf "
    "sechs sieben acht neun zehn uno una dos tres cuatro cinco seis siete ocho nueve diez".split()
) - frozenset(("a", "one", "ein", "eine", "uno", "una", "half"))
_DURATIONS = frozenset(
    "second seconds minute minutes hour hours day days week weeks month months year years ms s min h forever "
    "sekunde sekunden minuten stunde stunden tag tage tagen woche wochen monat monate monaten jahr jahre jahren "
    "segundo segundos minuto minutos hora horas día días semana semanas mes meses año años".split()
)
_UNSPACED_DURATIONS = ("秒", "分钟", "小时", "天", "周", "个月", "年", "分", "時間", "日", "週間", "か月")
_FREQUENCIES = frozenset(
    "every per each once twice hourly daily weekly monthly yearly nightly times alle pro je jede jeden jeder jedes "
    "täglich wöchentlich stündlich monatlich einmal zweimal cada diario diaria veces vez".split()
)
_UNSPACED_FREQUENCIES = ("每", "毎", "ごと", "おき", "次", "回")
SNIPPET_CHARACTERS = 100


@dataclass(frozen=True, slots=True)
class MemoryHit:
    """One observation that answers a question.

    Scores compare within one answer, where the best is 1; `confidence` (0 to 1) means the same in every answer.
    """

    observation: Observation
    score: float
    snippet: str
    confidence: float = 1.0
    is_near: bool = False  # by meaning: no word of the question stands in it


@dataclass(frozen=True, slots=True)
class MemoryResults:
    """The best hits, and how many there are: of very many, those that were looked at."""

    hits: tuple[MemoryHit, ...]
    matching: int
    searched: int
    elsewhere: int
    is_behind: bool = False  # some observations are not compared by meaning yet


@dataclass(frozen=True, slots=True)
class MemoryScope:
    """Where to search: the keys of the projects, or None for all of them."""

    project_keys: tuple[int, ...]
    everything: bool = False


class NearWords(NamedTuple):
    """The first stage: how rare the question's words are that stand in an observation, beside it, in its session."""

    own_words: float
    words_before: float
    words_after: float
    words_two_before: float
    words_two_after: float
    session_words: float


class ObservationFeatures(NamedTuple):
    """The second stage: the score of the first, and what else speaks for an observation.

    `stated`: a decision or a preference; `asked_kind`: 1 for the kind that is asked for, less for a note that may be of
    that kind; `asked_kind_then`: of the kind that is asked for, and of that time.
    `similarity` is that of meaning; `near_alone` is the same, the more the question lacks words of any observation.
    """

    words: float
    recency: float
    excess_length: float
    named: bool
    asked_kind: float
    asked_kind_then: float
    stated: bool
    only_asks: bool
    dated: bool
    soon_after_date: bool
    similarity: float
    near_alone: float
    similarity_before: float = 0.0  # the highest of what was kept shortly before it, and after
    similarity_after: float = 0.0
    answers_similar: float = 0.0  # `similarity_before` for what an agent said: often the answer to it
    prompt_words: float = 0.0  # how rare the question's words are that stand in the prompt which an answer answers
    gives_reason: bool = False
    settled: bool = False  # a failure that was mended later, where what is still open is asked for
    has_form: bool = False  # a number, a time, a version, where one is asked for


class _RankedPlace(NamedTuple):
    """A place with its score, and how sure it is that the observation answers."""

    score: float
    place: int
    confidence: float


def rankers() -> tuple[LinearRanker, LinearRanker]:
    """The committed weights of both stages."""
    return load_ranker(WEIGHTS_FILE, NearWords._fields), load_ranker(WEIGHTS_FILE, ObservationFeatures._fields)


class _Matches:
    """Which of the question's terms (bits) stand at which place, and what each term is worth."""

    def __init__(self, bits: Mapping[int, int], worth: Sequence[float], worth_absent: float) -> None:
        self.bits = bits
        self._worth = worth
        self._total = sum(worth) + worth_absent
        self._values: dict[int, float] = {0: 0.0}

    def value(self, mask: int) -> float:
        """What the terms of a mask are worth together."""
        value = self._values.get(mask)
        if value is None:
            value = sum(worth for number, worth in enumerate(self._worth) if mask >> number & 1)
            self._values[mask] = value
        return value

    def confidence(self, score: float) -> float:
        """How sure it is that an observation with this score answers: even odds where it has half of the question."""
        return 1 - 0.25 ** (max(0.0, score) / self._total) if self._total else 0.5

    def lacking(self) -> float:
        """How much of the question even the best observation has no words for: 0 for as much as usual, 1 for all."""
        best = max(map(self.value, set(self.bits.values())), default=0.0)
        share = 1 - best / self._total if self._total else 1.0
        return max(0.0, share - _USUALLY_LACKING) / (1 - _USUALLY_LACKING)

    def lacks_words(self) -> bool:
        """Whether no observation has every word of the question."""
        return max(map(self.value, set(self.bits.values())), default=0.0) < self._total or not self._total

    def best(self, count: int, allowed: Collection[int] | None = None) -> list[int]:
        """The places whose own terms are worth most, best first; of those that are allowed."""
        by_mask: dict[int, list[int]] = defaultdict(list)
        for place, mask in self.bits.items():
            if allowed is None or place in allowed:
                by_mask[mask].append(place)
        places: list[int] = []
        for mask in sorted(by_mask, key=self.value, reverse=True):
            places += by_mask[mask][: count - len(places)]
        return places


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
    """The best `limit` observations for a question, best first, by words and where known by meaning."""
    spans = asked_spans(text, now)
    question = parse_query(text, is_dated=bool(spans))
    searched = store.count(scope.project_keys)
    matches = _match(store, question, scope, searched)
    allowed = None if filters == NO_FILTERS else _allowed(store, scope, filters, searched)
    best = matches.best(_FIRST_STAGE, allowed)
    similarities = _within(store, scope, similarities)
    if similarities and allowed is not None:
        similarities = similarities.among(allowed)
    near = similarities.near(_NEAREST) if similarities else []
    candidates = _with_neighbours(best).union(_dated(store, scope, spans), near)
    if allowed is not None:
        candidates &= allowed
        searched = len(allowed)
    by_words, _ = rankers()
    near_words = _near_words(matches, candidates, best)
    words = {place: by_words.score(row) for place, row in near_words.items()}
    chosen = heapq.nlargest(_SECOND_STAGE, words, key=words.__getitem__)
    places = [*dict.fromkeys((*chosen, *near))]
    similar = similarities.raw([*dict.fromkeys((*places, *_around(places)))]) if similarities else {}
    lacking = matches.lacking()
    sketches = {each.place: each for each in store.sketches(places, head_characters=_HEAD_CHARACTERS)}
    mended = _mended_commands(sketches.values()) if question.asks_for_open else {}
    rows = {
        sketch.place: _features(
            sketch,
            question,
            spans,
            now=micros(now),
            words=words[sketch.place],
            similar=similar,
            lacking=lacking,
            has_words=bool(matches.bits.get(sketch.place)),
        )._replace(
            prompt_words=_prompt_words(sketch, sketches, matches),
            settled=bool(mended) and _is_settled(sketch, mended),
        )
        for sketch in sketches.values()
    }
    least = _least_similarity(question, matches)
    speaking = {place: row for place, row in rows.items() if matches.bits.get(place) or _speaks(row, least)}
    answering = _ranked(speaking, matches)
    if not question.asks_for_former:
        answering = _newest_measurement_first(answering, sketches.values())
    hits = _hits(store, answering[:limit], question, _wordless(near_words, words))
    return MemoryResults(hits, matching=len(answering), searched=searched, elsewhere=0)


def _least_similarity(question: MemoryQuery, matches: _Matches) -> float:
    """How near in meaning an observation without a word of the question has to be."""
    if not matches.lacks_words():
        return _LEAST_BESIDE_ALL_WORDS
    return _LEAST_FOR_ONE_WORD if len(question.terms) == 1 else _LEAST_SIMILARITY


def _ranked(rows: Mapping[int, ObservationFeatures], matches: _Matches) -> list[_RankedPlace]:
    """The places with anything that speaks for them, best first."""
    _, ranker = rankers()
    ranked = [
        # A cosine similarity is a fair guess of how sure meaning is; its weight is for the order alone.
        _RankedPlace(
            ranker.score(row),
            place,
            max(matches.confidence(ranker.score(_alone(row))), row.near_alone)
            if matches.bits.get(place)
            else row.similarity,
        )
        for place, row in rows.items()
    ]
    return sorted((each for each in ranked if each.score > 0), reverse=True)


def _alone(row: ObservationFeatures) -> ObservationFeatures:
    """What speaks for an observation by itself: what is near in meaning and beside it is for the order alone, as is a
    part of how near itself is."""
    similarity = row.similarity * _SIMILARITY_THAT_ASSURES
    return row._replace(
        similarity=similarity, near_alone=0.0, similarity_before=0.0, similarity_after=0.0, answers_similar=0.0
    )


def _newest_measurement_first(ranked: Sequence[_RankedPlace], sketches: Collection[Sketch]) -> list[_RankedPlace]:
    """The same order, but what one command measured several times stands in the order of time, the latest first."""
    written = {each.place: each.created_at for each in sketches}
    command = {each.place: each.head.partition("\n")[0] for each in sketches if each.head.startswith(MEASURED)}
    places: dict[str, list[int]] = defaultdict(list)
    for each in ranked:
        if each.place in command:
            places[command[each.place]].append(each.place)
    latest = {line: iter(sorted(same, key=written.__getitem__, reverse=True)) for line, same in places.items()}
    return [
        each._replace(place=next(latest[command[each.place]])) if each.place in command else each for each in ranked
    ]


def _speaks(row: ObservationFeatures, least_similarity: float) -> bool:
    """Whether anything but its words makes an observation a match; of what stands beside it only the prompt that it
    answers does."""
    return row.named or row.dated or row.prompt_words > 0 or row.similarity >= least_similarity


def snippet(text: str, terms: Iterable[Collection[str]], *, characters: int = SNIPPET_CHARACTERS) -> str:
    """At most `characters` of a text, around the place where most of the terms are."""
    flat = " ".join(text.split())
    if len(flat) <= characters:
        return flat
    starts = _term_positions(flat, terms)
    room = characters - 2
    start = max(starts, key=lambda at: (sum(at <= other < at + room for other in starts), -at), default=0)
    start = max(0, min(start - room // 4, len(flat) - room))
    if start and " " in flat[start : start + 20]:
        start = flat.index(" ", start) + 1
    piece = flat[start : start + room].rstrip()
    return ("…" if start else "") + piece + ("…" if start + room < len(flat) else "")


def _match(store: Observations, question: MemoryQuery, scope: MemoryScope, searched: int) -> _Matches:
    """Read the places of the rarest terms, as many as can be afforded."""
    projects = None if scope.everything else scope.project_keys
    bits: dict[int, int] = {}
    worth: list[float] = []
    budget = _MOST_PLACES
    found, absent = _rarest(store, question.terms, projects)
    for count, term in found:
        if worth and count > budget:
            break  # terms come rarest first: the others cost more and tell less
        places = store.places_with(term, at_most=min(_COUNT_UP_TO, budget), project_keys=projects)
        budget -= len(places)
        bit = 1 << len(worth)
        for place in places:
            bits[place] = bits.get(place, 0) | bit
        worth.append(idf(len(places), searched) if places else 0.0)
    return _Matches(bits, worth, absent * idf(0, searched))


def _rarest(
    store: Observations, terms: Iterable[tuple[str, ...]], projects: Sequence[int] | None
) -> tuple[list[tuple[int, tuple[str, ...]]], int]:
    """The terms that fewest observations have, with how many, rarest first; and how many terms none has."""
    absent = 0
    found: list[tuple[int, tuple[str, ...]]] = []
    for term in terms:
        # A term more common than those already chosen need not be counted to the end.
        enough = found[-1][0] + 1 if len(found) == _MOST_TERMS else _COUNT_UP_TO
        count = store.frequency(term, at_most=enough, project_keys=projects)
        if count:
            found = sorted([*found, (count, term)])[:_MOST_TERMS]
        else:
            absent += 1
    return found, absent


def _with_neighbours(places: Iterable[int]) -> set[int]:
    beside = {place + step for place in places for step in _BESIDE if session_of(place + step) == session_of(place)}
    return beside.union(places)


def _allowed(store: Observations, scope: MemoryScope, filters: Filters, searched: int) -> set[int]:
    """The places that pass the filters."""
    between = store.places_between(
        scope.project_keys, filters.since, filters.until, at_most=searched, kinds=filters.kinds
    )
    if not filters.tag:
        return set(between)
    passed = set(between)
    for term in parse_query(filters.tag).terms:  # the tag's words are indexed like any others
        passed &= set(store.places_with(term, at_most=_COUNT_UP_TO, project_keys=scope.project_keys))
    return {row.place for row in store.at_places(sorted(passed)) if has_tag(row.text, filters.tag)}


def _dated(store: Observations, scope: MemoryScope, spans: Sequence[TimeSpan]) -> list[int]:
    """Places from the times that the question speaks of, whatever their words."""
    places: list[int] = []
    for span in spans:
        if len(places) < _DATED_PLACES:
            places += store.places_between(
                scope.project_keys, span.start, span.end, at_most=_DATED_PLACES - len(places)
            )
    return places


def _near_words(matches: _Matches, candidates: Iterable[int], best: Sequence[int]) -> dict[int, NearWords]:
    """What the candidates are worth by words: their own, those beside them, and how well their session does."""
    sessions = _session_worth(matches, best)
    return {
        place: NearWords._make([*_worth_around(matches, place), sessions.get(session_of(place), 0.0)])
        for place in candidates
    }


def _worth_around(matches: _Matches, place: int) -> list[float]:
    """What a place's own words are worth, then those that each neighbour adds."""
    seen = matches.bits.get(place, 0)
    worth = [matches.value(seen)]
    for step in _BESIDE:
        is_near = session_of(place + step) == session_of(place)
        new = matches.bits.get(place + step, 0) & ~seen if is_near else 0
        worth.append(matches.value(new))
        seen |= new
    return worth


def _session_worth(matches: _Matches, best: Sequence[int]) -> dict[int, float]:
    """Per session, the mean of its best observations; `best` comes best first."""
    by_session: dict[int, list[float]] = defaultdict(list)
    for place in best:
        values = by_session[session_of(place)]
        if len(values) < _SESSION_BEST:
            values.append(matches.value(matches.bits[place]))
    return {session: sum(values) / _SESSION_BEST for session, values in by_session.items()}


def _within(store: Observations, scope: MemoryScope, similarities: Similarities | None) -> Similarities | None:
    """The similarities of what may be found."""
    if similarities is None or scope.everything:
        return similarities
    return similarities.in_groups(store.session_keys(scope.project_keys), bits=POSITION_BITS)


def _features(
    sketch: Sketch,
    question: MemoryQuery,
    spans: Sequence[TimeSpan],
    *,
    now: int,
    words: float,
    similar: Mapping[int, float],
    lacking: float,
    has_words: bool,
) -> ObservationFeatures:
    written = sketch.created_at
    similarity = max(0.0, similar.get(sketch.place, 0.0))
    before, after = (_most_similar(similar, sketch.place, reach) for reach in (_SHORTLY_BEFORE, _SHORTLY_AFTER))
    dated = any(span.start <= written < span.end for span in spans)
    soon_after = any(span.end <= written < span.end + _AFTER_DATE_MICROS for span in spans)
    return ObservationFeatures(
        words=words,
        recency=math.exp(-max(0, now - written) / _RECENCY_MICROS),
        excess_length=math.log(max(1.0, sketch.length / _USUAL_LENGTH)),
        named=_is_named(sketch, question),
        asked_kind=_asked_kind(sketch, question),
        asked_kind_then=_asked_kind(sketch, question) * (1.0 if has_words else _BESIDE_MATTER) if dated else 0.0,
        stated=sketch.kind in _STATED,
        only_asks=sketch.kind == "request" and sketch.tail.endswith(("?", "？")),
        dated=dated,
        soon_after_date=soon_after and not dated,
        similarity=similarity,
        near_alone=similarity * lacking,
        similarity_before=before,
        similarity_after=after,
        answers_similar=before if sketch.source == "agent" else 0.0,
        gives_reason=question.asks_why and sketch.kind in question.kinds and _has_reason(sketch.head),
        has_form=question.form is not None and _has_form(sketch, question.form),
    )


def _around(places: Iterable[int]) -> Iterator[int]:
    """What was kept shortly before and after some places, in the same sessions."""
    for place in places:
        for step in (*_SHORTLY_BEFORE, *_SHORTLY_AFTER):
            if session_of(place + step) == session_of(place):
                yield place + step


def _most_similar(similar: Mapping[int, float], place: int, steps: Iterable[int]) -> float:
    beside = (place + step for step in steps if session_of(place + step) == session_of(place))
    return max((similar.get(each, 0.0) for each in beside), default=0.0)


def _has_form(sketch: Sketch, form: AnswerForm) -> bool:
    """Whether an observation has what a question asks for by its form."""
    if sketch.head.startswith(_COMMITTED):
        return False  # git counts lines there
    lowered = sketch.head.lower()
    if form is AnswerForm.VERSION:
        return re.search(r"\d\.\d", lowered) is not None
    words = tokens(lowered)
    if form is AnswerForm.FREQUENCY:
        return not _FREQUENCIES.isdisjoint(words) or any(word in lowered for word in _UNSPACED_FREQUENCIES)
    has_number = any(word[0].isdecimal() or word in _NUMBER_WORDS for word in words)
    if form is AnswerForm.DURATION:
        return has_number and (not _DURATIONS.isdisjoint(words) or any(word in lowered for word in _UNSPACED_DURATIONS))
    return has_number


def _asked_kind(sketch: Sketch, question: MemoryQuery) -> float:
    if sketch.kind in question.kinds:
        return 1.0
    if sketch.source != "user" or question.kinds.isdisjoint(_STATED):
        return 0.0
    is_task = sketch.kind == "request" and not sketch.tail.endswith(("?", "？"))
    return _NOTE_SHARE if sketch.kind == NOTE else _REQUEST_SHARE if is_task else 0.0


def _has_reason(head: str) -> bool:
    lowered = head.lower()
    return any(word in lowered for word in _REASONS)


def _prompt_words(sketch: Sketch, sketches: Mapping[int, Sketch], matches: _Matches) -> float:
    """What the words are worth that only the prompt has which an agent's finding or note answers."""
    if sketch.kind not in ("finding", NOTE) or sketch.source != "agent":
        return 0.0
    for back in range(1, _PROMPT_REACH + 1):
        before = sketches.get(sketch.place - back)
        if before is not None and before.source == "user" and session_of(before.place) == session_of(sketch.place):
            new = matches.bits.get(before.place, 0) & ~matches.bits.get(sketch.place, 0)
            return matches.value(new)
    return 0.0


def _mended_commands(sketches: Iterable[Sketch]) -> dict[str, int]:
    """When each command worked at last that had failed before."""
    found: dict[str, int] = {}
    for each in sketches:
        if each.head.startswith("Fixed: `"):
            command = _command_in(each.head)
            found[command] = max(found.get(command, 0), each.created_at)
    return found


def _is_settled(sketch: Sketch, mended: Mapping[str, int]) -> bool:
    """Whether this is a failure that was mended later, or tells how one was."""
    if sketch.head.startswith("Fixed: `"):
        return True
    return sketch.kind == "error" and mended.get(_command_in(sketch.head), -1) >= sketch.created_at


def _command_in(head: str) -> str:
    return head.partition("`")[2].partition("`")[0][:_COMMAND_CHARACTERS]


def _is_named(sketch: Sketch, question: MemoryQuery) -> bool:
    """Whether the question names who said it, where it came from, or the code it is about."""
    label = label_of(sketch.head) - PROSE_STOP_WORDS
    if label and label <= question.words:
        return True
    if sketch.source and question.words.issuperset(tokens(sketch.source)):
        return True
    subjects = {name.lower() for path in sketch.files for name in (path, path.rsplit("/", 1)[-1])}
    subjects.update(symbol.lower() for symbol in sketch.symbols if not _is_plain_word(symbol))
    plain = {symbol.lower() for symbol in sketch.symbols if _is_plain_word(symbol)}
    return not subjects.isdisjoint(question.names | question.words) or not plain.isdisjoint(question.names)


def _is_plain_word(symbol: str) -> bool:
    """Whether a symbol is written like a word of prose, such as `Write`: a question with the word need not mean it."""
    return symbol.isalpha() and symbol[1:] == symbol[1:].lower()


def _wordless(near_words: Mapping[int, NearWords], places: Iterable[int]) -> set[int]:
    """The places that have no word of the question."""
    return {place for place in places if not near_words[place].own_words}


def _hits(
    store: Observations,
    top: Sequence[_RankedPlace],
    question: MemoryQuery,
    near: Collection[int],
) -> tuple[MemoryHit, ...]:
    by_place = {row.place: row for row in store.at_places([each.place for each in top])}
    best = top[0].score if top else 1.0
    return tuple(
        MemoryHit(
            row,
            round(each.score / best, 4),
            snippet(row.text, question.terms),
            round(each.confidence, 4),
            each.place in near,
        )
        for each in top
        if (row := by_place.get(each.place))
    )


def _term_positions(text: str, terms: Iterable[Collection[str]]) -> list[int]:
    """Where words of the question, or words that begin like them, stand in a text."""
    lowered = lower(text)
    stems = {word[: max(3, len(word) - 2)].lower() for term in terms for word in term}
    found = {at for stem in stems for at in islice(_beginnings(lowered, stem), _MOST_POSITIONS)}
    return sorted(found)[:_MOST_POSITIONS]


def _beginnings(lowered: str, stem: str) -> Iterator[int]:
    """Where words begin with a stem; anywhere, where words have no spaces between them."""
    is_unspaced = UNSPACED.match(stem) is not None
    for at in offsets(lowered, stem):
        if at == 0 or is_unspaced or not (lowered[at - 1].isalnum() or lowered[at - 1] == "_"):
            yield at
