"""Merge what the providers found into one list. Their own scores cannot be compared; how hits cover a question can."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from deltos.domains.code.paths import is_prose
from deltos.domains.history.words import SAME_CHANGE, named_changes, numbers_in, share_of_number
from deltos.ranking import load_ranker
from deltos.text.english import in_english
from deltos.text.identifiers import last_part
from deltos.text.mentions import has_word
from deltos.text.rarity import idf
from deltos.text.stop_words import QUESTION_WORDS
from deltos.text.words import plain_words, shared_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from deltos.federation.intent import Intent
    from deltos.federation.model import Hit, ProviderResults

    Compare = Callable[[str, Sequence[str]], list[float]]

WEIGHTS_FILE = Path(__file__).with_name("weights.json")
# A provider's order is kept, but a weak hit may profit from the strong ones right behind it.
_LOOK_AHEAD = 3
_WORD = re.compile(r"\w+")
_REQUEST = re.compile(r"\(#\d{1,9}\)$")  # which a merge adds to a subject
TRUE_MATCH = 0.5
_READ_CHARACTERS = 3_000
# A hit is noise when its score is below this share of the best and it covers less than this share of the question.
_NOISE_SCORE, _NOISE_COVERED = 0.25, 0.34
# Where the best hit lacks more than this share of the question, meaning counts as well.
_USUALLY_LACKING = 0.5
_LISTED_SCORE = 2.0  # of what is asked for as such: surely what is meant
_LACKING_VERSION = 0.25  # what is left of a chance without the version that is asked for
_LACKING_CHANGE = 0.5  # of one that does not name the change that is asked for
# How much what was done leans towards being asked for: where its subject is the question, and where it begins so. What
# stands in the middle of it is a thing, which code may be about.
_SAME_SUBJECT, _BEGUN_SUBJECT = 0.3, 0.1
_LEAST_SAME_WORDS, _LEAST_BEGUN_WORDS = 3, 4
_STEP = 0.99  # keeps scores strictly falling down a provider's list


class HitFeatures(NamedTuple):
    """What speaks for a hit of any kind. The question itself may be a name (`…_query`), or hold some (`…_name`);
    `near_alone` is the similarity of meaning, the more the question lacks words of any hit."""

    title_coverage: float
    coverage: float
    own_score: float
    defines_query: bool
    mentions_query: bool
    defines_name: bool
    mentions_name: bool
    leaning: float
    near_alone: float


@dataclass(frozen=True, slots=True)
class RankedHit:
    """A hit in the one list, with a score that compares across kinds; the share of the question that it covers, and how
    near it is in meaning, the more the question lacks words."""

    hit: Hit
    score: float
    covered: float
    near: float = 0.0
    of_version: float = 1.0
    lacks_change: bool = False

    @property
    def confidence(self) -> float:
        """The chance that the hit answers, in every list alike: benchmarks/calibration.py. What lacks the version that
        a question about the past names (`of_version` below 1) hardly does, and a commit of another change less."""
        chance = self._chance() * (_LACKING_VERSION + (1 - _LACKING_VERSION) * self.of_version)
        return chance * (_LACKING_CHANGE if self.lacks_change else 1.0)

    def _chance(self) -> float:
        fitted = _calibration()
        evidence = fitted["score"] * self.score + fitted["covered"] * self.covered + fitted["near"] * self.near
        return 1 / (1 + math.exp(-max(-30.0, min(30.0, fitted["intercept"] + evidence))))


@cache
def _calibration() -> dict[str, float]:
    """What turns a score into a chance: a logistic regression, in the same file as the weights."""
    stored: dict[str, float] = json.loads(WEIGHTS_FILE.read_text("utf-8"))["calibration"]
    return stored


def merge(
    found: Sequence[Sequence[Hit]], query: str, intent: Intent, *, limit: int, compare: Compare | None = None
) -> list[RankedHit]:
    """The best `limit` hits; providers keep their order, and each that truly matches is there."""
    return first_of(rank_all(found, query, intent, compare), limit)


def rank_all(
    found: Sequence[Sequence[Hit]], query: str, intent: Intent, compare: Compare | None = None
) -> list[RankedHit]:
    """All hits that have something to do with the question, best first; providers keep their order."""
    asked = _as_answered(query, [hit for hits in found for hit in hits], intent, compare)
    lists = (_in_own_order([_rank(hit, hits[0], asked, intent) for hit in hits]) for hits in found if hits)
    every = sorted(
        (ranked for hits in lists for ranked in hits), key=lambda ranked: (not ranked.of_version, -ranked.score)
    )
    return _without_noise(every)


def as_listed(results: ProviderResults) -> list[RankedHit]:
    """Hits that are asked for as such, in their order; those that stand in for what there is not answer nothing."""
    score, covered = (0.0, 0.0) if results.is_beside else (_LISTED_SCORE, 1.0)
    return [RankedHit(hit, score, covered) for hit in results.hits]


def in_order(hits: Sequence[Hit], query: str, intent: Intent, compare: Compare | None = None) -> list[RankedHit]:
    """One provider's hits in its own order, scored as all are."""
    asked = _as_answered(query, hits, intent, compare)
    return _in_own_order([_rank(hit, hits[0], asked, intent) for hit in hits])


def _without_noise(every: Sequence[RankedHit]) -> list[RankedHit]:
    """The hits that have something to do with the question, given how well the best one answers it."""
    return [
        ranked for ranked in every if ranked.score >= _NOISE_SCORE * every[0].score or ranked.covered >= _NOISE_COVERED
    ]


def _rank(hit: Hit, best: Hit, asked: _Question, intent: Intent) -> RankedHit:
    covered = asked.covered_by(hit)
    own = hit.own_score / best.own_score if best.own_score > 0 else 1.0
    defines = any(_defines(hit, name) for name in intent.names)
    mentions = not defines and any(has_word(hit.text, name) for name in intent.names)
    is_name = bool(intent.name)
    features = HitFeatures(
        title_coverage=asked.covered_by_title(hit),
        coverage=covered,
        own_score=min(1.0, max(0.0, own)),
        defines_query=defines and is_name,
        mentions_query=mentions and is_name,
        defines_name=defines and not is_name,
        mentions_name=mentions and not is_name,
        leaning=max(intent.towards(_nature(hit)), asked.subject_leaning(hit)) * (1 + covered) / 2,
        near_alone=asked.nearness(hit),
    )
    score = load_ranker(WEIGHTS_FILE, HitFeatures._fields).score(features)
    covered = 1.0 if is_name and (defines or mentions) else covered
    return RankedHit(
        hit,
        score,
        covered,
        features.near_alone,
        of_version=asked.of_version(hit),
        lacks_change=asked.lacks_change(hit),
    )


def _nature(hit: Hit) -> str:
    """What a hit is good for: prose that lies among code is documentation."""
    return "doc" if hit.kind == "code" and is_prose(hit.path) else hit.kind


def _defines(hit: Hit, name: str) -> bool:
    """Whether a hit defines the very name that is asked for."""
    return any(name in (own, last_part(own)) or own.endswith(f".{name}") for own in hit.names)


def _in_own_order(ranked: Sequence[RankedHit]) -> list[RankedHit]:
    """Scores that never rise down the list: each is the best of the few that follow, and no better than the last."""
    ordered: list[RankedHit] = []
    ceiling = math.inf
    for position, each in enumerate(ranked):
        best = max(other.score for other in ranked[position : position + _LOOK_AHEAD])
        ceiling = min(ceiling, best)
        ordered.append(replace(each, score=ceiling * _STEP**position))
    return ordered


def first_of(every: Sequence[RankedHit], limit: int) -> list[RankedHit]:
    """The first `limit`, where the last of a kind that has several give way to kinds that would be missing."""
    chosen = list(every[:limit])
    kinds = {ranked.hit.kind for ranked in chosen}
    for ranked in every[limit:]:
        if ranked.hit.kind in kinds or ranked.covered < TRUE_MATCH:
            continue
        counts = Counter(other.hit.kind for other in chosen)
        spare = [position for position, other in enumerate(chosen) if counts[other.hit.kind] > 1]
        if spare:
            chosen.pop(spare[-1])
            chosen.append(ranked)
            kinds.add(ranked.hit.kind)
    return chosen


def _as_answered(query: str, candidates: Sequence[Hit], intent: Intent, compare: Compare | None) -> _Question:
    """A question, in English where more of that stands in what was found than of its own words."""
    asked = _Question(query, candidates, intent, compare)
    english = in_english(query)
    if not english:
        return asked
    return max(_Question(english, candidates, intent, compare), asked, key=lambda each: each.best)


def _in_words(hit: Hit) -> str:
    return _with_english(hit, f"{hit.title} {hit.text[:_READ_CHARACTERS]}")


def _with_english(hit: Hit, text: str) -> str:
    """A text, and the same in English where it was remembered in another language."""
    english = in_english(text) if hit.kind == "obs" else None
    return f"{text} {english}" if english else text


class _Question:
    """The words of a question, each weighed by how few of the candidates have it, and how near they are in meaning
    where words are lacking."""

    def __init__(self, query: str, candidates: Sequence[Hit], intent: Intent, compare: Compare | None = None) -> None:
        asked = [word for word in plain_words(query) if word.lower() not in QUESTION_WORDS] or plain_words(query)
        self._terms = dict.fromkeys(shared_words().of(" ".join(asked)).split())
        self._numbers = numbers_in(query) if intent.towards("commit") > 0 else []
        self._changes = named_changes(query, self._terms)
        self._said_words = _plain(query)
        self._said = {hit.id: self._terms_in(hit, _in_words(hit)) for hit in candidates}
        counts = Counter(term for terms in self._said.values() for term in terms)
        known = {term: idf(count, len(candidates), added=1, against_rest=False) for term, count in counts.items()}
        # A word that no candidate has does not order them, but lowers what all of them cover: it gets the mean weight.
        usual = sum(known.values()) / len(known) if known else 1.0
        self._weights = {term: known.get(term, usual) for term in self._terms}
        self._total = sum(self._weights.values()) or 1.0
        self.best = max((self._weigh(terms) for terms in self._said.values()), default=0.0)
        lacking = max(0.0, 1 - self.best - _USUALLY_LACKING) / (1 - _USUALLY_LACKING)
        self._nearness: dict[str, float] = {}
        if compare and lacking:
            texts = [_in_words(hit) for hit in candidates]
            similar = zip(candidates, compare(query, texts), strict=True)
            self._nearness = {hit.id: lacking * max(0.0, value) for hit, value in similar}

    def nearness(self, hit: Hit) -> float:
        """How similar a candidate is to the question, as far as words are lacking."""
        return self._nearness.get(hit.id, 0.0)

    def covered_by(self, hit: Hit) -> float:
        """The share of the question that a candidate has words for."""
        return self._weigh(self._said[hit.id])

    def covered_by_title(self, hit: Hit) -> float:
        """The share of the question that its title alone has words for."""
        return self._weigh(self._terms_in(hit, _with_english(hit, hit.title)))

    def of_version(self, hit: Hit) -> float:
        """How far a candidate speaks of the version that a question about the past names; 1 where it names none."""
        said = hit.text[:_READ_CHARACTERS]
        return min((share_of_number(said, number) for number in self._numbers), default=1.0)

    def lacks_change(self, hit: Hit) -> bool:
        """Whether a commit does not name the change that the question asks for the time of."""
        if hit.kind != "commit" or not self._changes:
            return False
        said = set(shared_words().of(hit.text[:_READ_CHARACTERS]).split())
        return any(said.isdisjoint(change) for change in self._changes)

    def subject_leaning(self, hit: Hit) -> float:
        """How much a commit is asked for as its subject says what is asked, word for word; nothing is so of another."""
        said = self._said_words
        if hit.kind != "commit" or len(said) < _LEAST_SAME_WORDS:
            return -math.inf
        told = _REQUEST.sub("", hit.text.partition("\n")[0])
        subjects = [_plain(told), _plain(told.partition(": ")[2])]  # with what it is about in front, and without
        if said in subjects:
            return _SAME_SUBJECT
        begins = len(said) >= _LEAST_BEGUN_WORDS and any(each[: len(said)] == said for each in subjects)
        return _BEGUN_SUBJECT if begins else -math.inf

    def _terms_in(self, hit: Hit, text: str) -> set[str]:
        said = set(shared_words().of(text).split())
        if hit.kind != "commit":
            return self._terms.keys() & said
        return {term for term in self._terms if not said.isdisjoint(SAME_CHANGE.get(term, (term,)))}

    def _weigh(self, terms: Iterable[str]) -> float:
        return sum(self._weights[term] for term in terms) / self._total


def _plain(text: str) -> list[str]:
    """The words and numbers of a text, in small letters."""
    return _WORD.findall(text.lower())
