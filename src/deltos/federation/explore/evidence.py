"""Ranking features of code blocks that may answer a question, and scoring by a linear model."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from deltos.federation.explore.units import CALLABLE_KINDS, CONTAINER_KINDS
from deltos.ranking import load_ranker
from deltos.text.idf import idf
from deltos.text.stop_words import QUESTION_WORDS, STOP_WORDS
from deltos.text.words import WORD, plain_words, shared_words, unique
from deltos.workspace.file_purpose import is_test

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from deltos.federation.explore.units import Unit

WEIGHTS_FILE = Path(__file__).with_name("weights.json")
FEATURES = tuple(
    "file_score file_first file_rank deviations deviations_relative name_share name_exact container_share body_share"
    " body_share_relative bm25 bm25_relative is_hit hit_rank is_callable is_container is_text is_test is_unasked_test"
    " is_dunder is_short length".split()
)
# The model receives each of these features twice: as it is, and relative to the maximum over all candidates.
_RELATIVE_FEATURES = ("deviations", "body_share", "bm25")
_BM25_K1, _BM25_B, _AVERAGE_WORDS = 1.2, 0.6, 60
_MAX_SHORT_UNIT_LINES = 3  # maximum number of lines of a short code block
_MAX_ABSENT_SHARE = 0.3  # if a larger share of the question's words is in no file, the project may not answer it


@dataclass(frozen=True, slots=True)
class QuestionTerms:
    """Search terms of a question, with weights that add up to 1.

    `weights_by_word` contains the weight of each word of the question, and `absent` the words that are in no file.
    """

    weights: Mapping[str, float]
    weights_by_word: Mapping[str, float]
    absent: tuple[str, ...] = ()

    @classmethod
    def of(cls, question: str, frequencies: Mapping[str, int], chunk_count: int) -> QuestionTerms:
        """Weight the search terms of a question by rarity. `frequencies` counts the chunks with each term."""
        raw = {
            term: idf(frequencies[term], chunk_count, added=0, smoothing=1, against_rest=False)
            for term in question_terms(question)
            if frequencies.get(term)
        }
        total = sum(raw.values()) or 1.0
        weights = {term: value / total for term, value in raw.items()}
        words = unique(word.lower() for word in _content_words(question))
        by_word = {word: weights[term] for word in words if (term := whole_term(word)) in weights}
        absent = [word for word in words if (term := whole_term(word)) and term not in weights]
        return cls(weights, by_word, tuple(absent))

    @property
    def is_mostly_absent(self) -> bool:
        """Whether a large share of the words of the question is in no file, so the project may not answer it."""
        return len(self.absent) > _MAX_ABSENT_SHARE * (len(self.absent) + len(self.weights_by_word))

    def share(self, terms: Iterable[str]) -> float:
        """Return the total weight of the question's search terms that occur in `terms`."""
        return sum(self.weights.get(term, 0.0) for term in set(terms))


def question_terms(question: str) -> list[str]:
    """Return the search terms of a question, without stop words and question words."""
    return unique(shared_words().of(" ".join(_content_words(question))).split())


def _content_words(question: str) -> list[str]:
    return [word for word in plain_words(question) if word.lower() not in STOP_WORDS | QUESTION_WORDS]


def whole_term(word: str) -> str:
    """Return the search term for a word that is not split, such as `oauth` for `OAuth`. It may be empty."""
    return shared_words().of(word).rpartition(" ")[2]


class TermFinder:
    """Finder of the search terms of a question in lines of code. Results are cached by word."""

    def __init__(self, question: QuestionTerms) -> None:
        self._question = question
        self._terms_by_word: dict[str, tuple[str, ...]] = {}

    def find(self, line: str) -> tuple[list[str], int]:
        """Return the question's search terms in a line, with repetitions, and the number of words in the line."""
        known = self._terms_by_word
        terms: list[str] = []
        words = WORD.findall(line)
        for word in words:
            if (of_word := known.get(word)) is None:
                every = shared_words().of(word).split()
                of_word = known[word] = tuple(term for term in every if term in self._question.weights)
            terms += of_word
        return terms, len(words)


@dataclass(slots=True)
class Candidate:
    """A code block with ranking features. `score` is the probability that the code block belongs to the answer."""

    unit: Unit
    file_rank: int
    file_score: float
    terms: Sequence[str] = ()  # search terms of the question in the code block, with repetitions
    words: int = 0  # number of words in the code block
    deviations: float = 0.0  # similarity of the code block's most similar chunk, in standard deviations above the mean
    hit_rank: int = 0  # rank among the code search hits, from 1, or 0 if the code block is not a hit
    project: int = 0  # index in `Gathered.projects`
    features: dict[str, float] = field(default_factory=dict)
    score: float = 0.0
    own_score: float = 0.0  # score without the influence of callers and callees


def score(candidates: Sequence[Candidate], question: QuestionTerms, *, about_tests: bool) -> None:
    """Compute the ranking features and the score of each candidate."""
    for each in candidates:
        each.features = _features(each, question, about_tests=about_tests)
    for name in _RELATIVE_FEATURES:
        best = max((each.features[name] for each in candidates), default=0.0)
        for each in candidates:
            each.features[f"{name}_relative"] = each.features[name] / best if best > 0 else 0.0
    ranker = load_ranker(WEIGHTS_FILE, FEATURES)
    for each in candidates:
        each.score = ranker.confidence(ranker.score([each.features[name] for name in FEATURES]))


def _features(candidate: Candidate, question: QuestionTerms, *, about_tests: bool) -> dict[str, float]:
    unit, words = candidate.unit, shared_words()
    container, _, name = unit.symbol.rpartition(".")
    own_terms = words.of(name).split()
    lines, in_test = unit.end - unit.start + 1, is_test(unit.path)
    return {
        "file_score": candidate.file_score,
        "file_first": float(candidate.file_rank == 0),
        "file_rank": 1 / (1 + candidate.file_rank),
        "deviations": candidate.deviations,
        "name_share": question.share(own_terms),
        "name_exact": sum(term in question.weights for term in own_terms) / len(own_terms) if own_terms else 0.0,
        "container_share": question.share(words.of(container).split()),
        "body_share": question.share(candidate.terms),
        "bm25": _bm25(candidate, question),
        "is_hit": float(candidate.hit_rank > 0),
        "hit_rank": 1 / candidate.hit_rank if candidate.hit_rank else 0.0,
        "is_callable": float(unit.kind in CALLABLE_KINDS),
        "is_container": float(unit.kind in CONTAINER_KINDS),
        "is_text": float(not unit.symbol),
        "is_test": float(in_test),
        "is_unasked_test": float(in_test and not about_tests),
        "is_dunder": float(name.startswith("__")),
        "is_short": float(lines <= _MAX_SHORT_UNIT_LINES),
        "length": math.log(1 + lines),
    }


def _bm25(candidate: Candidate, question: QuestionTerms) -> float:
    norm = _BM25_K1 * (1 - _BM25_B + _BM25_B * candidate.words / _AVERAGE_WORDS)
    counts: dict[str, int] = {}
    for term in candidate.terms:
        counts[term] = counts.get(term, 0) + 1
    return sum(question.weights[term] * count * (_BM25_K1 + 1) / (count + norm) for term, count in counts.items())
