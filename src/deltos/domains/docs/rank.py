"""Order candidates for a question: what each has in common with it, weighed by what was learned elsewhere.

Knows words and facts of candidates, never storage. The weights in weights.json come from benchmarks/docs_train.py: one
set for a few words, where headings and anchors tell most, and one for sentences, where meaning does.
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
WEIGHTS = ("few_words", "sentence")
ANSWER_FEATURES = ("words", "known", "meaning", "covered", "sentence", "bias")  # benchmarks/docs_confidence.py
_K1 = 1.2  # BM25's usual value
# Where the best candidate lacks more than this share of the question, meaning counts for much more.
_USUALLY_LACKING = 0.5
# Less for a declaration that nobody wrote a word about: it has names, and explains none. By trial on axios and zod.
BARE = 3.0
# How far a trait puts a definition of a package back, by trial on the open half of questions/packages.jsonl.
_BEHIND = {
    Trait.TYPE: 1.5,
    Trait.ELSEWHERE: 1.5,
    Trait.INTERNAL: 3.0,
    Trait.DEPRECATED: 2.0,
    Trait.ERROR: 1.5,
    Trait.BARE: BARE,
}
_NAMED_ALONE = 3.0  # by trial: more than what speaks for members of the same name in sqlalchemy and rich
_ABOUT_ERRORS = frozenset("error except exception rais throw catch caught fail failur".split())
# Release notes tell of everything once, indexes name everything: both match what they do not explain.
_SECONDARY = re.compile(
    r"what.?s.?new|\breleases?\b|release.?notes|change.?log|\bchanges\b|\bhistory\b|\bnews\b|deprecat|\bupgrad|\bmigrat"
    r"|gen(?:eral.)?index|mod(?:ule)?.?index|book.?index|keyword.?index|table.of.contents|site.?map",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class _Field:
    """BM25's length normalisation for one field: `usual_words` is a typical length, `b` its strength."""

    usual_words: float
    b: float

    def saturated(self, count: int, length: int) -> float:
        """What `count` occurrences among `length` words are worth, between 0 and k1 + 1."""
        return count * (_K1 + 1) / (count + _K1 * (1 - self.b + self.b * length / self.usual_words))


_HEADING, _TRAIL, _ANCHORS = _Field(4, 0.5), _Field(8, 0.5), _Field(6, 0.5)
_LINKS, _BODY = _Field(5, 0.5), _Field(110, 0.6)


class DocsFeatures(NamedTuple):
    """Everything that speaks for or against a candidate; words count by their share of the question's weight.

    `meaning` is the similarity among candidates, standardised; `near_alone` is the cosine similarity itself, the more
    the question lacks words of any candidate.
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


class RankedChunk(NamedTuple):
    """A candidate with its score and how sure it is that it answers; `is_near` when it shares no word with the
    question. `chance` is how often such a passage answers where as many questions have an answer as have none."""

    score: float
    candidate: CandidateChunk
    confidence: float
    is_near: bool
    chance: float


@dataclass(frozen=True, slots=True)
class ChunkSimilarities:
    """Of each candidate: its cosine similarity to the question, and the same standardised among them."""

    cosines: Sequence[float]
    standardised: Sequence[float]


def order(
    asked: WeightedQuery,
    candidates: Sequence[CandidateChunk],
    page_scores: Mapping[int, float],
    similarities: ChunkSimilarities | None = None,
) -> list[RankedChunk]:
    """The candidates with their scores, best first; by words alone where their similarities are not known."""
    rows = described(asked, candidates, page_scores, similarities)
    ranker = ranker_for(asked)
    known = known_share(asked, candidates)
    cosines = similarities.cosines if similarities else [None] * len(candidates)
    ranked = [
        _ranked(ranker, candidate, row, _Evidence(known, cosine, asked.as_sentence, placed(asked, candidate)))
        for candidate, row, cosine in zip(candidates, rows, cosines, strict=True)
    ]
    ranked.sort(key=lambda each: (-each.score, each.candidate.chunk_id))
    return _head_before_parts(asked, _section_before_opening(ranked, ranker))


def described(
    asked: WeightedQuery,
    candidates: Sequence[CandidateChunk],
    page_scores: Mapping[int, float],
    similarities: ChunkSimilarities | None,
) -> list[DocsFeatures]:
    """The features of all candidates, in their order."""
    best_page = max(page_scores.values(), default=1.0)
    unknown = [0.0] * len(candidates)
    similar = similarities or ChunkSimilarities(unknown, unknown)
    rows = [
        features(asked, candidate, page_scores.get(candidate.page_id, 0.0) / best_page, meaning)
        for candidate, meaning in zip(candidates, similar.standardised, strict=True)
    ]
    lacking = _lacking(asked, rows)
    return [
        row._replace(near_alone=lacking * max(0.0, cosine)) for row, cosine in zip(rows, similar.cosines, strict=True)
    ]


def ranker_for(asked: WeightedQuery) -> LinearRanker:
    """What weighs the features of candidates for a question."""
    few_words, sentence = (load_ranker(WEIGHTS_FILE, DocsFeatures._fields, which) for which in WEIGHTS)
    return few_words.towards(sentence, asked.as_sentence)


def placed(asked: WeightedQuery, candidate: CandidateChunk) -> float:
    """How far a definition stands before others, or behind what users call first, by what it is; one that is asked for
    by its name does not stand behind, and where the name is all of the question, leads the members of that name."""
    if not candidate.is_definition:
        return 0.0
    if asked.is_one_word and _names_exactly(asked, candidate):
        return _NAMED_ALONE / max(1, min(name.count(".") for name in candidate.anchors.split()))
    if not candidate.traits or asks_for_name(asked, candidate):
        return 0.0
    traits = Trait(candidate.traits)
    if Trait.ERROR in traits and not _ABOUT_ERRORS.isdisjoint(asked.weights):
        traits &= ~Trait.ERROR
    return -sum(_BEHIND[trait] for trait in traits)


def asks_for_name(asked: WeightedQuery, candidate: CandidateChunk) -> bool:
    """Whether a definition is asked for by its name, as it is written or as its words."""
    if _names_exactly(asked, candidate):
        return True
    if asked.identifiers or any(word[0].isupper() for word in asked.as_names):
        return False
    return asked.weights.keys() <= {*candidate.heading_words.split(), *candidate.anchor_words.split()}


def _head_before_parts(asked: WeightedQuery, ranked: list[RankedChunk]) -> list[RankedChunk]:
    """Of a definition that is in several parts, and all that is asked for, the first leads: it has the signature."""
    heads: dict[tuple[int, str], RankedChunk] = {}
    for each in ranked:
        part = (each.candidate.page_id, each.candidate.section)
        if part not in heads or each.candidate.position < heads[part].candidate.position:
            heads[part] = each
    ordered: list[RankedChunk] = []
    led: set[int] = set()  # the heads that stand already
    for each in ranked:
        head = heads[each.candidate.page_id, each.candidate.section]
        if head is not each and head.candidate.chunk_id not in led and _asks_only_for(asked, each.candidate):
            ordered.append(head._replace(score=each.score))
            led.add(head.candidate.chunk_id)
        if each.candidate.chunk_id not in led:
            ordered.append(each)
            led.add(each.candidate.chunk_id)
    return ordered


def _asks_only_for(asked: WeightedQuery, candidate: CandidateChunk) -> bool:
    """Whether a question is no more than the name of a definition."""
    fields = (candidate.heading_words, candidate.anchor_words, candidate.trail_words)
    words = {word for field in fields for word in field.split()}
    return candidate.is_definition and asked.weights.keys() <= words and asks_for_name(asked, candidate)


def _section_before_opening(ranked: list[RankedChunk], ranker: LinearRanker) -> list[RankedChunk]:
    """What speaks for the opening of a page helps to find the page; of the first page, the section that answers leads.

    It does where the opening is ahead by no more than that it is the opening.
    """
    if not ranked or ranked[0].candidate.position:
        return ranked
    opening, *others = ranked
    least = opening.score - ranker.weights[DocsFeatures._fields.index("first")]
    for at, each in enumerate(others):
        if each.score <= least:
            break
        if each.candidate.page_id == opening.candidate.page_id:
            leading, following = each._replace(score=opening.score), opening._replace(score=each.score)
            return [leading, *others[:at], following, *others[at + 1 :]]
    return ranked


def known_share(asked: WeightedQuery, candidates: Sequence[CandidateChunk]) -> float:
    """How much of the question the sources that are asked have words for."""
    absent = sum(asked.weights[word] for word in absent_terms(asked, candidates))
    known = (asked.total if asked.weights else 0.0) - absent
    return known / (known + absent + asked.unknown) if known > 0 else 0.0


def absent_terms(asked: WeightedQuery, candidates: Sequence[CandidateChunk]) -> set[str]:
    """The words of the question that other sources have and none of the candidates, which are of those asked."""
    absent = set(asked.weights)
    for each in candidates:
        if not absent:
            break
        fields = (each.body_words, each.heading_words, each.trail_words, each.anchor_words, each.link_words)
        absent.difference_update(*(field.split() for field in fields))
    return absent


@dataclass(frozen=True, slots=True)
class _Evidence:
    """What tells whether a candidate answers, besides its words: how much of the question is known at all, its cosine
    similarity where that is known, how much the question is a sentence, and where the candidate is placed by what it
    is."""

    known_share: float
    cosine: float | None
    as_sentence: float
    placed: float

    def chance(self, ranker: LinearRanker, by_words: float, found: DocsFeatures) -> float:
        """How likely the candidate answers; by words alone where its meaning is not known."""
        if self.cosine is None:
            return ranker.confidence(by_words) * self.known_share
        row = (by_words, self.known_share, self.cosine, found.covered_with_trail, self.as_sentence, 1.0)
        told = load_ranker(WEIGHTS_FILE, ANSWER_FEATURES, "answers").score(row)
        return 1 / (1 + math.exp(-told))


def _ranked(ranker: LinearRanker, candidate: CandidateChunk, found: DocsFeatures, evidence: _Evidence) -> RankedChunk:
    by_words = ranker.score(found._replace(near_alone=0.0))
    return RankedChunk(
        ranker.score(found) + evidence.placed,
        candidate,
        # A cosine similarity is a fair guess of how sure meaning is; its weight is for the order alone.
        confidence=max(ranker.confidence(by_words), found.near_alone),
        is_near=not (found.covered_with_trail or found.covered_by_anchors or found.links),
        chance=evidence.chance(ranker, by_words, found),
    )


def _lacking(asked: WeightedQuery, rows: Sequence[DocsFeatures]) -> float:
    """How much of the question even the best candidate has no words for: 0 for as much as usual, 1 for all."""
    known = asked.total if asked.weights else 0.0
    best = max((row.covered_with_trail for row in rows), default=0.0)
    share = 1 - best * known / (known + asked.unknown) if known else 1.0
    return max(0.0, share - _USUALLY_LACKING) / (1 - _USUALLY_LACKING)


def features(asked: WeightedQuery, candidate: CandidateChunk, page_score: float, meaning: float = 0.0) -> DocsFeatures:
    """Describe one candidate."""
    heading, trail = _WeightedWords.of(asked, candidate.heading_words), _WeightedWords.of(asked, candidate.trail_words)
    anchors, links = _WeightedWords.of(asked, candidate.anchor_words), _WeightedWords.of(asked, candidate.link_words)
    body = _WeightedWords.of(asked, candidate.body_words)
    found = {*heading.counts, *body.counts}
    return DocsFeatures(
        heading=_bm25(asked, heading, _HEADING),
        trail=_bm25(asked, trail, _TRAIL),
        anchors=_bm25(asked, anchors, _ANCHORS),
        links=_bm25(asked, links, _LINKS),
        body=_bm25(asked, body, _BODY),
        page=page_score,
        covered=_covered(asked, found),
        covered_with_trail=_covered(asked, found | trail.counts.keys()),
        covered_by_anchors=_covered(asked, anchors.counts),
        heading_answered=sum(heading.counts.values()) / heading.length if heading.length else 0.0,
        phrases=_phrases(asked, candidate.body_words),
        exact_name=float(_names_exactly(asked, candidate)),
        source_named=float(candidate.source.lower() in asked.plain),
        links_in=math.log1p(candidate.links_in),
        page_links_in=math.log1p(candidate.page_links_in),
        length=math.log1p(candidate.text_length / CHARACTERS_PER_TOKEN),
        definition=float(candidate.is_definition),
        first=float(candidate.position == 0),
        depth=float(candidate.section.count(" > ")),
        meaning=meaning,
        secondary=float(_SECONDARY.search(f"{candidate.url} {candidate.title}") is not None),
    )


@dataclass(frozen=True, slots=True)
class _WeightedWords:
    """How often the question's words occur in a field, and how many words that has."""

    counts: dict[str, int]
    length: int

    @classmethod
    def of(cls, asked: WeightedQuery, text: str) -> _WeightedWords:
        words = text.split()
        return cls({word: count for word in asked.weights if (count := words.count(word))}, len(words))


def _bm25(asked: WeightedQuery, words: _WeightedWords, field: _Field) -> float:
    total = sum(asked.weights[word] * field.saturated(count, words.length) for word, count in words.counts.items())
    return total / asked.total


def _covered(asked: WeightedQuery, words: Iterable[str]) -> float:
    return sum(asked.weights[word] for word in words) / asked.total


def _phrases(asked: WeightedQuery, body_words: str) -> float:
    """The share of the question's neighbouring words that are neighbours in the text as well."""
    if not asked.neighbours:
        return 0.0
    body = f" {body_words} "
    return sum(f" {first} {second} " in body for first, second in asked.neighbours) / len(asked.neighbours)


def _names_exactly(asked: WeightedQuery, candidate: CandidateChunk) -> bool:
    """Whether the question has a candidate's name: as only code is written, or a word that is spelled as it is."""
    if not asked.identifiers and not (asked.as_names and candidate.is_definition):
        return False
    for name in candidate.anchors.split():
        last = name.rpartition(".")[2]
        if name.lower() in asked.identifiers or last.lower() in asked.identifiers:
            return True
        if candidate.is_definition and last in asked.as_names:
            return True
    return False
