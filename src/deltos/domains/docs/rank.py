"""Order candidates for a question: what each has in common with it, weighed by what was learned elsewhere.

Knows words and facts of candidates, never storage. The weights come from benchmarks/docs_train.py.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from deltos.budget import CHARACTERS_PER_TOKEN
from deltos.domains.docs.weights import WEIGHTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from deltos.store.documents import CandidateChunk

_K1 = 1.2
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*(?:(?:\.|::)\w+)*(?:\(\)?)?")
_CODE_LIKE = re.compile(r"[_.(:]|[a-z][A-Z]")
# Release notes tell of everything once, indexes name everything: both match what they do not explain.
_SECONDARY = re.compile(
    r"what.?s.?new|\breleases?\b|release.?notes|change.?log|\bchanges\b|\bhistory\b|\bnews\b|deprecat|\bupgrad|\bmigrat"
    r"|gen(?:eral.)?index|mod(?:ule)?.?index|book.?index|keyword.?index|table.of.contents|site.?map",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class _Field:
    """How a field's length counts: `usual_words` is a typical length, `b` how much more words weigh against it."""

    usual_words: float
    b: float

    def saturated(self, count: int, length: int) -> float:
        """What `count` occurrences among `length` words are worth, between 0 and k1 + 1."""
        return count * (_K1 + 1) / (count + _K1 * (1 - self.b + self.b * length / self.usual_words))


_HEADING, _TRAIL, _ANCHORS = _Field(4, 0.5), _Field(8, 0.5), _Field(6, 0.5)
_LINKS, _BODY = _Field(5, 0.5), _Field(110, 0.6)


@dataclass(frozen=True, slots=True)
class WeightedQuery:
    """A question as ranking sees it: weighted words, neighbours among them, names of code."""

    weights: Mapping[str, float]
    neighbours: tuple[tuple[str, str], ...]
    identifiers: frozenset[str]
    plain: frozenset[str]
    total: float  # the weight of all words together


def parse_query(query: str, terms: Sequence[str], frequencies: Mapping[str, int], chunks: int) -> WeightedQuery:
    """Weigh the words of a question, its `terms`, by how rare they are among `chunks`."""
    weights = {
        term: math.log(1 + (chunks - frequencies[term] + 0.5) / (frequencies[term] + 0.5))
        for term in terms
        if term in frequencies
    }
    return WeightedQuery(
        weights=weights,
        neighbours=tuple(pairwise(terms)),
        identifiers=_identifiers(query),
        plain=frozenset(word.lower() for word in re.findall(r"\w+", query)),
        total=sum(weights.values()) or 1.0,
    )


def _identifiers(query: str) -> frozenset[str]:
    """Names in the question that are written as code, whole and by their last part, in lower case."""
    found = set()
    for name in _IDENTIFIER.findall(query):
        if _CODE_LIKE.search(name):
            bare = name.rstrip("().:").lower()
            found |= {bare, re.split(r"\.|::", bare)[-1]}
    return frozenset(found - {""})


def order(
    asked: WeightedQuery,
    candidates: Sequence[CandidateChunk],
    page_scores: Mapping[int, float],
    meanings: Sequence[float] = (),
) -> list[tuple[float, CandidateChunk]]:
    """The candidates with their scores, best first; `meanings` says how alike each is to the question, if anything."""
    best_page = max(page_scores.values(), default=1.0)
    scored = [
        (score(features(asked, candidate, page_scores.get(candidate.page_id, 0.0) / best_page, meaning)), candidate)
        for candidate, meaning in zip(candidates, meanings or [0.0] * len(candidates), strict=True)
    ]
    scored.sort(key=lambda pair: (-pair[0], pair[1].chunk_id))
    return scored


def score(values: Mapping[str, float]) -> float:
    """The weighted sum of features."""
    return sum(WEIGHTS[name] * value for name, value in values.items())


def features(
    asked: WeightedQuery, candidate: CandidateChunk, page_score: float, meaning: float = 0.0
) -> dict[str, float]:
    """Everything that speaks for or against a candidate; words count by their share of the question's weight."""
    heading, trail = _WeightedWords.of(asked, candidate.heading_words), _WeightedWords.of(asked, candidate.trail_words)
    anchors, links = _WeightedWords.of(asked, candidate.anchor_words), _WeightedWords.of(asked, candidate.link_words)
    body = _WeightedWords.of(asked, candidate.body_words)
    found = {*heading.counts, *body.counts}
    return {
        "heading": _bm25(asked, heading, _HEADING),
        "trail": _bm25(asked, trail, _TRAIL),
        "anchors": _bm25(asked, anchors, _ANCHORS),
        "links": _bm25(asked, links, _LINKS),
        "body": _bm25(asked, body, _BODY),
        "page": page_score,
        "covered": _covered(asked, found),
        "covered_with_trail": _covered(asked, found | trail.counts.keys()),
        "covered_by_anchors": _covered(asked, anchors.counts),
        "heading_answered": sum(heading.counts.values()) / heading.length if heading.length else 0.0,
        "phrases": _phrases(asked, candidate.body_words),
        "exact_name": float(_names_exactly(asked, candidate.anchors)),
        "source_named": float(candidate.source.lower() in asked.plain),
        "links_in": math.log1p(candidate.links_in),
        "page_links_in": math.log1p(candidate.page_links_in),
        "length": math.log1p(candidate.text_length / CHARACTERS_PER_TOKEN),
        "definition": float(candidate.is_definition),
        "first": float(candidate.position == 0),
        "depth": float(candidate.section.count(" > ")),
        "meaning": meaning,
        "secondary": float(_SECONDARY.search(f"{candidate.url} {candidate.title}") is not None),
    }


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
