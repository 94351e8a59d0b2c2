"""Rank candidate passages for a query by weighted features, without access to the database.

benchmarks/docs_train.py computes the weights in weights.json: one set for short queries, for which headings and anchors
matter most, and one for sentences, for which semantic similarity matters most.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from deltos.budget import CHARACTERS_PER_TOKEN
from deltos.markup.model import Trait
from deltos.ranking import load_ranker

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from deltos.domains.docs.query import WeightedQuery
    from deltos.ranking import LinearRanker
    from deltos.store.documents import CandidateChunk

WEIGHTS_FILE = Path(__file__).with_name("weights.json")
WEIGHTS = ("few_words", "sentence")  # names of the weight sets for short queries and sentences

# Inputs of the model that predicts the answer probability, trained by benchmarks/docs_confidence.py.
ANSWER_FEATURES = ("words", "known", "meaning", "covered", "sentence", "bias")
_K1 = 1.2  # usual value of the BM25 parameter k1

# The feature `near_alone` is 0 if a candidate contains at least half of the query's terms by weight.
_MIN_MISSING_SHARE_FOR_SIMILARITY = 0.5
# Score penalties for properties of definitions, tuned on the development questions in questions/packages.jsonl.
_TRAIT_PENALTIES = {
    Trait.TYPE: 1.5,
    Trait.DEEP_IMPORT: 1.5,
    Trait.INTERNAL: 3.0,
    Trait.DEPRECATED: 2.0,
    Trait.ERROR: 1.5,
    Trait.UNDOCUMENTED: 3.0,
}
_NAME_BONUS = 3.0  # added to the score if the query is the definition's name; tuned on sqlalchemy and rich

# Stems of words in queries about errors.
_ERROR_TERMS = frozenset("error except exception rais throw catch caught fail failur".split())
_OLD_MAJOR_PENALTY = 1.5  # penalty for a page of an older major version
_MAJOR_VERSION_PATH = re.compile(r"/v(\d{1,3})(?:[.][\d.]{1,20})?/")
# Matches pages such as release notes and indexes, which mention many terms without explaining them.
_SECONDARY_PAGE = re.compile(
    r"/blog/|what.?s.?new|\breleases?\b|release.?notes|change.?log|\bchanges\b|\bhistory\b|\bnews\b|deprecat|\bupgrad|\bmigrat"
    r"|gen(?:eral.)?index|mod(?:ule)?.?index|book.?index|keyword.?index|table.of.contents|site.?map",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class _FieldNormalisation:
    """BM25 length normalisation for one field: the typical length in words and the parameter `b`."""

    typical_words: float
    b: float

    def term_weight(self, count: int, length: int) -> float:
        """Return the BM25 weight of a term that occurs `count` times in a field of `length` words."""
        return count * (_K1 + 1) / (count + _K1 * (1 - self.b + self.b * length / self.typical_words))


_HEADING, _TRAIL, _ANCHORS = _FieldNormalisation(4, 0.5), _FieldNormalisation(8, 0.5), _FieldNormalisation(6, 0.5)
_LINKS, _BODY = _FieldNormalisation(5, 0.5), _FieldNormalisation(110, 0.6)


class DocsFeatures(NamedTuple):
    """Features of a candidate passage. A matching term adds its share of the query's total weight.

    `trail` is the match with the enclosing headings, and `links` the match with the texts of links to the passage.
    `meaning` is the cosine similarity to the query, standardised among the candidates. `near_alone` is the cosine
    similarity, multiplied by the share of the query's terms that no candidate contains.
    """

    heading: float
    trail: float
    anchors: float
    links: float
    body: float
    page: float
    covered: float
    covered_with_trail: float
    covered_by_anchors: float
    heading_answered: float
    phrases: float
    exact_name: float
    source_named: float
    links_in: float
    page_links_in: float
    length: float
    definition: float
    first: float
    depth: float
    meaning: float
    secondary: float
    near_alone: float = 0.0


class RankedPassage(NamedTuple):
    """A candidate with its score and confidence; `is_semantic_match` marks a match without shared terms.

    `answer_probability` is correct on average if half of the queries have an answer.
    """

    score: float
    candidate: CandidateChunk
    confidence: float
    is_semantic_match: bool
    answer_probability: float


@dataclass(frozen=True, slots=True)
class PassageSimilarities:
    """Cosine similarities of the candidates to the query, and the same values after standardisation."""

    cosines: Sequence[float]
    standardised: Sequence[float]


def rank_candidates(
    query: WeightedQuery,
    candidates: Sequence[CandidateChunk],
    page_scores: Mapping[int, float],
    similarities: PassageSimilarities | None = None,
) -> list[RankedPassage]:
    """Rank the candidates, best first. Without similarities, only terms are used."""
    rows = describe_candidates(query, candidates, page_scores, similarities)
    ranker = ranker_for(query)
    known = known_share(query, candidates)
    cosines = similarities.cosines if similarities else [None] * len(candidates)
    newest = _newest_major_versions(candidates)
    ranked = []
    for candidate, row, cosine in zip(candidates, rows, cosines, strict=True):
        is_old = _major_version(candidate) < newest[candidate.source]
        bonus = kind_bonus(query, candidate) - _OLD_MAJOR_PENALTY * is_old
        ranked.append(
            _rank_candidate(ranker, candidate, row, _AnswerInputs(known, cosine, query.sentence_degree, bonus))
        )
    ranked.sort(key=lambda each: (-each.score, each.candidate.chunk_id))
    return ranked


def describe_candidates(
    query: WeightedQuery,
    candidates: Sequence[CandidateChunk],
    page_scores: Mapping[int, float],
    similarities: PassageSimilarities | None,
) -> list[DocsFeatures]:
    """Return the features of each candidate, in the given order."""
    best_page = max(page_scores.values(), default=1.0)
    unknown = [0.0] * len(candidates)
    similar = similarities or PassageSimilarities(unknown, unknown)
    rows = [
        features(query, candidate, page_scores.get(candidate.page_id, 0.0) / best_page, meaning)
        for candidate, meaning in zip(candidates, similar.standardised, strict=True)
    ]
    uncovered = _missing_share(query, rows)
    return [
        row._replace(near_alone=uncovered * max(0.0, cosine)) for row, cosine in zip(rows, similar.cosines, strict=True)
    ]


def ranker_for(query: WeightedQuery) -> LinearRanker:
    """Return the ranker for a query, interpolated between the rankers for short queries and sentences."""
    few_words, sentence = (load_ranker(WEIGHTS_FILE, DocsFeatures._fields, which) for which in WEIGHTS)
    return few_words.towards(sentence, query.sentence_degree)


def _major_version(candidate: CandidateChunk) -> float:
    """Return the major version in the URL of a page, such as 3 for `/v3/types`, or infinity if it has none."""
    found = _MAJOR_VERSION_PATH.search(candidate.url)
    return float(found[1]) if found else math.inf


def _newest_major_versions(candidates: Sequence[CandidateChunk]) -> dict[str, float]:
    """Return the newest major version that occurs in the candidates' URLs, by source."""
    newest = dict.fromkeys((candidate.source for candidate in candidates), 0.0)
    for candidate in candidates:
        if (major := _major_version(candidate)) != math.inf:
            newest[candidate.source] = max(newest[candidate.source], major)
    return newest


def kind_bonus(query: WeightedQuery, candidate: CandidateChunk) -> float:
    """Return the number added to the score of a definition for properties such as "deprecated".

    A definition named in the query has no penalty. If the query is only its name, the number is positive.
    """
    if not candidate.is_definition:
        return 0.0
    if query.is_one_word and _contains_exact_name(query, candidate):
        return _NAME_BONUS / max(1, min(name.count(".") for name in candidate.anchors.split()))
    if not candidate.traits or asks_for_name(query, candidate):
        return 0.0
    traits = Trait(candidate.traits)
    if Trait.ERROR in traits and not _ERROR_TERMS.isdisjoint(query.weights):
        traits &= ~Trait.ERROR
    return -sum(_TRAIT_PENALTIES[trait] for trait in traits)


def asks_for_name(query: WeightedQuery, candidate: CandidateChunk) -> bool:
    """Whether the query contains the name of a definition, in the same spelling or as separate words."""
    if _contains_exact_name(query, candidate):
        return True
    if query.identifiers or any(word[0].isupper() for word in query.name_like_words):
        return False
    return query.weights.keys() <= {*candidate.heading_words.split(), *candidate.anchor_words.split()}


def known_share(query: WeightedQuery, candidates: Sequence[CandidateChunk]) -> float:
    """Return the share (by weight) of the query terms that occur in the searched sources."""
    absent = sum(query.weights[word] for word in missing_terms(query, candidates))
    known = (query.total_weight if query.weights else 0.0) - absent
    return known / (known + absent + query.unknown_weight) if known > 0 else 0.0


def missing_terms(query: WeightedQuery, candidates: Sequence[CandidateChunk]) -> set[str]:
    """Return the query terms that no candidate contains."""
    absent = set(query.weights)
    for each in candidates:
        if not absent:
            break
        fields = (each.body_words, each.heading_words, each.trail_words, each.anchor_words, each.link_words)
        absent.difference_update(*(field.split() for field in fields))
    return absent


@dataclass(frozen=True, slots=True)
class _AnswerInputs:
    """Values besides the features from which a candidate's score and answer probability are computed.

    `known_share` is the share (by weight) of the query terms that occur in the sources. `cosine` is None if unknown.
    """

    known_share: float
    cosine: float | None
    sentence_degree: float
    kind_bonus: float

    def answer_probability(self, ranker: LinearRanker, by_words: float, found: DocsFeatures) -> float:
        """Return the probability that the candidate answers the query."""
        if self.cosine is None:
            return ranker.confidence(by_words) * self.known_share
        row = (by_words, self.known_share, self.cosine, found.covered_with_trail, self.sentence_degree, 1.0)
        score = load_ranker(WEIGHTS_FILE, ANSWER_FEATURES, "answers").score(row)
        return 1 / (1 + math.exp(-score))


def _rank_candidate(
    ranker: LinearRanker, candidate: CandidateChunk, found: DocsFeatures, inputs: _AnswerInputs
) -> RankedPassage:
    """Return a candidate with its score, confidence and answer probability."""
    by_words = ranker.score(found._replace(near_alone=0.0))
    return RankedPassage(
        ranker.score(found) + inputs.kind_bonus,
        candidate,
        # The cosine similarity is used without its learned weight, because the weighted value is not a confidence.
        confidence=max(ranker.confidence(by_words), found.near_alone),
        is_semantic_match=not (found.covered_with_trail or found.covered_by_anchors or found.links),
        answer_probability=inputs.answer_probability(ranker, by_words, found),
    )


def _missing_share(query: WeightedQuery, rows: Sequence[DocsFeatures]) -> float:
    """Return how much of the query no candidate contains: 0 if at most half is missing, 1 if all is missing."""
    known = query.total_weight if query.weights else 0.0
    best = max((row.covered_with_trail for row in rows), default=0.0)
    share = 1 - best * known / (known + query.unknown_weight) if known else 1.0
    return max(0.0, share - _MIN_MISSING_SHARE_FOR_SIMILARITY) / (1 - _MIN_MISSING_SHARE_FOR_SIMILARITY)


def features(query: WeightedQuery, candidate: CandidateChunk, page_score: float, meaning: float = 0.0) -> DocsFeatures:
    """Return the ranking features of one candidate."""
    heading, trail = _TermCounts.of(query, candidate.heading_words), _TermCounts.of(query, candidate.trail_words)
    anchors, links = _TermCounts.of(query, candidate.anchor_words), _TermCounts.of(query, candidate.link_words)
    body = _TermCounts.of(query, candidate.body_words)
    found = {*heading.counts, *body.counts}
    return DocsFeatures(
        heading=_bm25(query, heading, _HEADING),
        trail=_bm25(query, trail, _TRAIL),
        anchors=_bm25(query, anchors, _ANCHORS),
        links=_bm25(query, links, _LINKS),
        body=_bm25(query, body, _BODY),
        page=page_score,
        covered=_covered_share(query, found),
        covered_with_trail=_covered_share(query, found | trail.counts.keys()),
        covered_by_anchors=_covered_share(query, anchors.counts),
        heading_answered=sum(heading.counts.values()) / heading.length if heading.length else 0.0,
        phrases=_adjacent_share(query, candidate.body_words),
        exact_name=float(_contains_exact_name(query, candidate)),
        source_named=float(candidate.source.lower() in query.lowercase_words),
        links_in=math.log1p(candidate.links_in),
        page_links_in=math.log1p(candidate.page_links_in),
        length=math.log1p(candidate.text_length / CHARACTERS_PER_TOKEN),
        definition=float(candidate.is_definition),
        first=float(candidate.position == 0),
        depth=float(candidate.section.count(" > ")),
        meaning=meaning,
        secondary=float(_SECONDARY_PAGE.search(f"{candidate.url} {candidate.title}") is not None),
    )


@dataclass(frozen=True, slots=True)
class _TermCounts:
    """The number of occurrences of each query term in a field of a passage, and the length of the field in words."""

    counts: dict[str, int]
    length: int

    @classmethod
    def of(cls, query: WeightedQuery, text: str) -> _TermCounts:
        """Count the query terms in a field."""
        words = text.split()
        return cls({word: count for word in query.weights if (count := words.count(word))}, len(words))


def _bm25(query: WeightedQuery, words: _TermCounts, field: _FieldNormalisation) -> float:
    """Return the BM25 score of one field, divided by the query's total weight."""
    total = sum(query.weights[word] * field.term_weight(count, words.length) for word, count in words.counts.items())
    return total / query.total_weight


def _covered_share(query: WeightedQuery, words: Iterable[str]) -> float:
    """Return the share (by weight) of the query terms that are in `words`."""
    return sum(query.weights[word] for word in words) / query.total_weight


def _adjacent_share(query: WeightedQuery, body_words: str) -> float:
    """Return the share of the pairs of adjacent query terms that are also adjacent in the text of a passage."""
    if not query.adjacent_terms:
        return 0.0
    body = f" {body_words} "
    return sum(f" {first} {second} " in body for first, second in query.adjacent_terms) / len(query.adjacent_terms)


def _contains_exact_name(query: WeightedQuery, candidate: CandidateChunk) -> bool:
    """Whether the query contains the name of a candidate with the same spelling."""
    if not query.identifiers and not (query.name_like_words and candidate.is_definition):
        return False
    for name in candidate.anchors.split():
        last = name.rpartition(".")[2]
        if name.lower() in query.identifiers or last.lower() in query.identifiers:
            return True
        if candidate.is_definition and last in query.name_like_words:
            return True
    return False
