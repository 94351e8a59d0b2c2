"""What a question to documentation asks for: its words by how rare they are, and the names in it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

from deltos.text.identifiers import names_in_question, words_as_names
from deltos.text.rarity import idf
from deltos.text.stop_words import INTERROGATIVES
from deltos.text.words import plain_words, shared_words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MOST_TERMS = 12
# Of so many words at most a question is a term or a name, of so many at least a sentence; between them, partly.
FEW_WORDS, WORDS_OF_SENTENCE = 4, 8
COMMON_SHARE = 0.3  # terms of more chunks than this would make nearly everything a candidate


@dataclass(frozen=True, slots=True)
class WeightedQuery:
    """A question as ranking sees it: weighted words, neighbours among them, names of code."""

    weights: Mapping[str, float]
    neighbours: tuple[tuple[str, str], ...]
    identifiers: frozenset[str]
    as_names: frozenset[str]  # words that could be names as they are spelled: `Depends`
    plain: frozenset[str]
    is_one_word: bool
    total: float  # the weight of all words together
    unknown: float = 0.0  # the weight of words that nothing has
    as_sentence: float = 0.0  # 0 for a few words, as an index has them, 1 for a sentence


def parse_query(query: str, terms: Sequence[str], frequencies: Mapping[str, int], chunks: int) -> WeightedQuery:
    """Weigh the words of a question, its `terms`, by how rare they are among `chunks`."""
    weights = {term: idf(frequencies[term], chunks) for term in terms if term in frequencies}
    return WeightedQuery(
        weights=weights,
        neighbours=tuple(pairwise(terms)),
        identifiers=names_in_question(query),
        as_names=words_as_names(query),
        plain=frozenset(word.lower() for word in plain_words(query)),
        is_one_word=len(query.split()) == 1,
        total=sum(weights.values()) or 1.0,
        unknown=idf(0, chunks) * sum(term not in frequencies for term in terms),
        as_sentence=_as_sentence(len(query.split())),
    )


def _as_sentence(words: int) -> float:
    """How much a question of so many words is told as a sentence."""
    return min(1.0, max(0.0, (words - FEW_WORDS) / (WORDS_OF_SENTENCE - FEW_WORDS)))


def asked_terms(words: str) -> list[str]:
    """The different words of a question without those that only make it one; all of them where nothing else is said."""
    terms = list(dict.fromkeys(words.split()))
    return [term for term in terms if term not in _interrogatives()] or terms


@cache
def _interrogatives() -> frozenset[str]:
    """As index words: `why` is stemmed like any other."""
    return frozenset(shared_words().of(" ".join(INTERROGATIVES)).split())


def choose_terms(frequencies: Mapping[str, int], total: int) -> list[str]:
    """The words worth looking up: the rarest few, leaving out what almost every chunk has."""
    rarest = sorted(frequencies, key=lambda term: frequencies[term])[:MOST_TERMS]
    useful = [term for term in rarest if frequencies[term] <= total * COMMON_SHARE]
    return useful or rarest[:1]
