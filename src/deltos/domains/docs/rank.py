"""Order candidates for a question: what each has in common with it, weighed by what was learned elsewhere.

Knows words and facts of candidates, never storage. The weights in weights.json come from benchmarks/docs_train.py.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from deltos.budget import CHARACTERS_PER_TOKEN
from deltos.ranking import load_ranker

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from deltos.domains.docs.query import WeightedQuery
    from deltos.store.documents import CandidateChunk

WEIGHTS_FILE = Path(__file__).with_name("weights.json")
_K1 = 1.2  # BM25's usual value
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
    """Everything that speaks for or against a candidate; words count by their share of the question's weight."""

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


def order(
    asked: WeightedQuery,
    candidates: Sequence[CandidateChunk],
    page_scores: Mapping[int, float],
    meanings: Sequence[float] = (),
) -> list[tuple[float, CandidateChunk]]:
    """The candidates with their scores, best first; `meanings` are their standardised similarities, where known."""
    best_page = max(page_scores.values(), default=1.0)
    rows = [
        features(asked, candidate, page_scores.get(candidate.page_id, 0.0) / best_page, meaning)
        for candidate, meaning in zip(candidates, meanings or [0.0] * len(candidates), strict=True)
    ]
    scores = load_ranker(WEIGHTS_FILE, DocsFeatures._fields).scores(rows)
    scored = list(zip(scores, candidates, strict=True))
    scored.sort(key=lambda pair: (-pair[0], pair[1].chunk_id))
    return scored


def confidence(score: float) -> float:
    """How sure it is that a candidate with this score answers, from 0 to 1."""
    return load_ranker(WEIGHTS_FILE, DocsFeatures._fields).confidence(score)


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
        exact_name=float(_names_exactly(asked, candidate.anchors)),
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


def _names_exactly(asked: WeightedQuery, anchors: str) -> bool:
    if not asked.identifiers:
        return False
    names = anchors.lower().split()
    return any(name in asked.identifiers or name.rpartition(".")[2] in asked.identifiers for name in names)
