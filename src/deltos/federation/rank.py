"""Merging of the results of all providers into one list.

Scores of different providers are not comparable. The share of the query terms that a hit contains is comparable.
"""

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
from deltos.domains.history.terms import SAME_CHANGE, named_changes, numbers_in, version_match_share
from deltos.ranking import load_ranker
from deltos.text.identifiers import last_part
from deltos.text.idf import idf
from deltos.text.mentions import has_word
from deltos.text.stop_words import QUESTION_WORDS
from deltos.text.translation import translate_to_english
from deltos.text.words import plain_words, shared_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from deltos.federation.intent import Intent
    from deltos.federation.model import Hit, ProviderResults

    Compare = Callable[[str, Sequence[str]], list[float]]

WEIGHTS_FILE = Path(__file__).with_name("weights.json")
# The score of a hit is the maximum of its own score and the scores of the hits after it, up to this number of hits in
# total. The provider's order is therefore kept.
_LOOKAHEAD_HITS = 3
_WORD = re.compile(r"\w+")
_PULL_REQUEST_SUFFIX = re.compile(r"\(#\d{1,9}\)$")  # GitHub appends this suffix to the subject of a squash merge
TRUE_MATCH = 0.5  # minimum share of the query terms in a hit that is kept as the only result of its kind
_MAX_TEXT_CHARACTERS = 3_000
# A hit is dropped if its score is below the first value, as a share of the best score, and the share of query terms in
# the hit is below the second value.
_MIN_SCORE_SHARE, _MIN_QUERY_COVERAGE = 0.25, 0.34
# Semantic similarity is used if the best hit lacks more than this share of the query terms.
_EXPECTED_UNCOVERED_SHARE = 0.5
_LISTED_SCORE = 2.0  # score of hits in a list that the query explicitly requests, such as recent commits
_OTHER_VERSION_FACTOR = 0.25  # confidence factor of a hit that does not mention the version in the query
# Confidence factor of a commit about another kind of change than the query, such as a removal instead of a fix.
_OTHER_CHANGE_FACTOR = 0.5
# Score increase of a commit whose subject equals the query or starts with it. Other subjects do not count, because
# words in the middle of a subject often name code.
_SUBJECT_EQUALS_QUERY, _SUBJECT_STARTS_WITH_QUERY = 0.3, 0.1
_MIN_SUBJECT_WORDS, _MIN_PREFIX_WORDS = 3, 4
_DECAY_FACTOR = 0.99  # factor per rank, which makes the scores of one provider strictly decreasing


class HitFeatures(NamedTuple):
    """Inputs of the ranking model for a hit of any kind.

    The `…_query` features apply if the whole query is a name, and the `…_name` features if the query contains a name.
    `near_alone` is the semantic similarity, weighted by the share of the query terms that no hit contains.
    """

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
    """A hit with a score that is comparable with hits of other kinds. `coverage` is the share of query terms in it."""

    hit: Hit
    score: float
    coverage: float
    semantic_similarity: float = 0.0
    version_score: float = 1.0
    is_other_change: bool = False

    @property
    def confidence(self) -> float:
        """Calibrated probability that the hit answers the query (benchmarks/calibration.py).

        The confidence is reduced for a hit that does not mention the version in the query, and for a commit about
        another kind of change.
        """
        chance = self._probability() * (_OTHER_VERSION_FACTOR + (1 - _OTHER_VERSION_FACTOR) * self.version_score)
        return chance * (_OTHER_CHANGE_FACTOR if self.is_other_change else 1.0)

    def _probability(self) -> float:
        fitted = _calibration()
        evidence = (
            fitted["score"] * self.score + fitted["covered"] * self.coverage + fitted["near"] * self.semantic_similarity
        )
        return 1 / (1 + math.exp(-max(-30.0, min(30.0, fitted["intercept"] + evidence))))


@cache
def _calibration() -> dict[str, float]:
    """Return the stored parameters of the logistic regression that converts scores to probabilities."""
    stored: dict[str, float] = json.loads(WEIGHTS_FILE.read_text("utf-8"))["calibration"]
    return stored


def merge(
    found: Sequence[Sequence[Hit]], query: str, intent: Intent, *, limit: int, compare: Compare | None = None
) -> list[RankedHit]:
    """Return the best `limit` hits, including the best hit of each kind that contains enough query terms."""
    return take_with_every_kind(rank_all(found, query, intent, compare), limit)


def rank_all(
    found: Sequence[Sequence[Hit]], query: str, intent: Intent, compare: Compare | None = None
) -> list[RankedHit]:
    """Return all relevant hits, best first. The order within a provider is kept."""
    asked = _best_question(query, [hit for hits in found for hit in hits], intent, compare)
    lists = (_make_scores_decrease([_rank(hit, hits[0], asked, intent) for hit in hits]) for hits in found if hits)
    every = sorted(
        (ranked for hits in lists for ranked in hits), key=lambda ranked: (not ranked.version_score, -ranked.score)
    )
    return _drop_noise(every)


def listed_hits(results: ProviderResults) -> list[RankedHit]:
    """Return the hits of an explicitly requested list in the given order. Substitutes have a score of zero."""
    score, coverage = (0.0, 0.0) if results.is_substitute else (_LISTED_SCORE, 1.0)
    return [RankedHit(hit, score, coverage) for hit in results.hits]


def rank_one_provider(
    hits: Sequence[Hit], query: str, intent: Intent, compare: Compare | None = None
) -> list[RankedHit]:
    """Score the hits of one provider without changing the order."""
    asked = _best_question(query, hits, intent, compare)
    return _make_scores_decrease([_rank(hit, hits[0], asked, intent) for hit in hits])


def _drop_noise(every: Sequence[RankedHit]) -> list[RankedHit]:
    """Drop hits that are much less relevant than the best hit."""
    return [
        ranked
        for ranked in every
        if ranked.score >= _MIN_SCORE_SHARE * every[0].score or ranked.coverage >= _MIN_QUERY_COVERAGE
    ]


def _rank(hit: Hit, best: Hit, asked: _Question, intent: Intent) -> RankedHit:
    coverage = asked.coverage_by(hit)
    own = hit.own_score / best.own_score if best.own_score > 0 else 1.0
    defines = any(_defines_exactly(hit, name) for name in intent.names)
    mentions = not defines and any(has_word(hit.text, name) for name in intent.names)
    is_name = bool(intent.name)
    features = HitFeatures(
        title_coverage=asked.title_coverage_by(hit),
        coverage=coverage,
        own_score=min(1.0, max(0.0, own)),
        defines_query=defines and is_name,
        mentions_query=mentions and is_name,
        defines_name=defines and not is_name,
        mentions_name=mentions and not is_name,
        leaning=max(intent.leaning_to(_effective_kind(hit)), asked.subject_leaning(hit)) * (1 + coverage) / 2,
        near_alone=asked.similarity_to(hit),
    )
    score = load_ranker(WEIGHTS_FILE, HitFeatures._fields).score(features)
    coverage = 1.0 if is_name and (defines or mentions) else coverage
    return RankedHit(
        hit,
        score,
        coverage,
        features.near_alone,
        version_score=asked.version_score(hit),
        is_other_change=asked.is_other_change(hit),
    )


def _effective_kind(hit: Hit) -> str:
    """Return the kind of a hit. Prose files among code count as documentation."""
    return "doc" if hit.kind == "code" and is_prose(hit.path) else hit.kind


def _defines_exactly(hit: Hit, name: str) -> bool:
    """Whether a hit defines exactly the given name."""
    return any(name in (own, last_part(own)) or own.endswith(f".{name}") for own in hit.names)


def _make_scores_decrease(ranked: Sequence[RankedHit]) -> list[RankedHit]:
    """Return the hits with strictly decreasing scores, which are limited by the maximum of the next few scores."""
    ordered: list[RankedHit] = []
    ceiling = math.inf
    for position, each in enumerate(ranked):
        best = max(other.score for other in ranked[position : position + _LOOKAHEAD_HITS])
        ceiling = min(ceiling, best)
        ordered.append(replace(each, score=ceiling * _DECAY_FACTOR**position))
    return ordered


def take_with_every_kind(every: Sequence[RankedHit], limit: int) -> list[RankedHit]:
    """Return the first `limit` hits. Surplus hits of one kind are replaced by the best hit of each missing kind."""
    chosen = list(every[:limit])
    kinds = {ranked.hit.kind for ranked in chosen}
    for ranked in every[limit:]:
        if ranked.hit.kind in kinds or ranked.coverage < TRUE_MATCH:
            continue
        counts = Counter(other.hit.kind for other in chosen)
        spare = [position for position, other in enumerate(chosen) if counts[other.hit.kind] > 1]
        if spare:
            chosen.pop(spare[-1])
            chosen.append(ranked)
            kinds.add(ranked.hit.kind)
    return chosen


def _best_question(query: str, candidates: Sequence[Hit], intent: Intent, compare: Compare | None) -> _Question:
    """Return the query or its English translation, depending on which has more terms in the candidates."""
    asked = _Question(query, candidates, intent, compare)
    english = translate_to_english(query)
    if not english:
        return asked
    return max(_Question(english, candidates, intent, compare), asked, key=lambda each: each.best_coverage)


def _searchable_text(hit: Hit) -> str:
    return _append_english(hit, f"{hit.title} {hit.text[:_MAX_TEXT_CHARACTERS]}")


def _append_english(hit: Hit, text: str) -> str:
    """Append the English translation to an observation written in another language."""
    english = translate_to_english(text) if hit.kind == "obs" else None
    return f"{text} {english}" if english else text


class _Question:
    """Query terms weighted by rarity among the candidates, and semantic similarities for terms without a match."""

    def __init__(self, query: str, candidates: Sequence[Hit], intent: Intent, compare: Compare | None = None) -> None:
        asked = [word for word in plain_words(query) if word.lower() not in QUESTION_WORDS] or plain_words(query)
        self._terms = dict.fromkeys(shared_words().of(" ".join(asked)).split())
        self._numbers = numbers_in(query) if intent.leaning_to("commit") > 0 else []
        self._changes = named_changes(query, self._terms)
        self._query_words = _plain_words(query)
        self._terms_by_hit = {hit.id: self._terms_in(hit, _searchable_text(hit)) for hit in candidates}
        counts = Counter(term for terms in self._terms_by_hit.values() for term in terms)
        known = {term: idf(count, len(candidates), added=1, against_rest=False) for term, count in counts.items()}
        # A term without a match lowers the coverage of all candidates equally, so the term gets the mean weight.
        mean_weight = sum(known.values()) / len(known) if known else 1.0
        self._weights = {term: known.get(term, mean_weight) for term in self._terms}
        self._total = sum(self._weights.values()) or 1.0
        self.best_coverage = max((self._weighted_share(terms) for terms in self._terms_by_hit.values()), default=0.0)
        uncovered = max(0.0, 1 - self.best_coverage - _EXPECTED_UNCOVERED_SHARE) / (1 - _EXPECTED_UNCOVERED_SHARE)
        self._similarities: dict[str, float] = {}
        if compare and uncovered:
            texts = [_searchable_text(hit) for hit in candidates]
            similar = zip(candidates, compare(query, texts), strict=True)
            self._similarities = {hit.id: uncovered * max(0.0, value) for hit, value in similar}

    def similarity_to(self, hit: Hit) -> float:
        """Return the semantic similarity of a candidate, weighted by the share of query terms without a match."""
        return self._similarities.get(hit.id, 0.0)

    def coverage_by(self, hit: Hit) -> float:
        """Return the share of the query terms, by weight, that a candidate contains."""
        return self._weighted_share(self._terms_by_hit[hit.id])

    def title_coverage_by(self, hit: Hit) -> float:
        """Return the share of the query terms, by weight, that a candidate's title contains."""
        return self._weighted_share(self._terms_in(hit, _append_english(hit, hit.title)))

    def version_score(self, hit: Hit) -> float:
        """Return how well a candidate matches the versions in the query, or 1 if the query contains no version."""
        found_terms = hit.text[:_MAX_TEXT_CHARACTERS]
        return min((version_match_share(found_terms, number) for number in self._numbers), default=1.0)

    def is_other_change(self, hit: Hit) -> bool:
        """Whether a commit is about another kind of change than the query, such as a removal instead of a fix."""
        if hit.kind != "commit" or not self._changes:
            return False
        found_terms = set(shared_words().of(hit.text[:_MAX_TEXT_CHARACTERS]).split())
        return any(found_terms.isdisjoint(change) for change in self._changes)

    def subject_leaning(self, hit: Hit) -> float:
        """Return the score increase for a commit whose subject starts with the query, or minus infinity."""
        found_terms = self._query_words
        if hit.kind != "commit" or len(found_terms) < _MIN_SUBJECT_WORDS:
            return -math.inf
        subject_text = _PULL_REQUEST_SUFFIX.sub("", hit.text.partition("\n")[0])
        subjects = [
            _plain_words(subject_text),
            _plain_words(subject_text.partition(": ")[2]),
        ]  # with and without a prefix such as "area: "
        if found_terms in subjects:
            return _SUBJECT_EQUALS_QUERY
        begins = len(found_terms) >= _MIN_PREFIX_WORDS and any(
            each[: len(found_terms)] == found_terms for each in subjects
        )
        return _SUBJECT_STARTS_WITH_QUERY if begins else -math.inf

    def _terms_in(self, hit: Hit, text: str) -> set[str]:
        found_terms = set(shared_words().of(text).split())
        if hit.kind != "commit":
            return self._terms.keys() & found_terms
        return {term for term in self._terms if not found_terms.isdisjoint(SAME_CHANGE.get(term, (term,)))}

    def _weighted_share(self, terms: Iterable[str]) -> float:
        return sum(self._weights[term] for term in terms) / self._total


def _plain_words(text: str) -> list[str]:
    """Return the words and numbers of a text in lower case."""
    return _WORD.findall(text.lower())
