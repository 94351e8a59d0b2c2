"""Parse a documentation query: its terms with weights, and the names of code in it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

from deltos.embed.bundled_encoder import common_english_words
from deltos.text.identifiers import capitalised_words, names_in_question, words_as_names
from deltos.text.idf import idf
from deltos.text.stop_words import INTERROGATIVES
from deltos.text.words import plain_words, shared_words, tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

MAX_TERMS = 12
_WORDS_BEFORE_NAMES = frozenset("in with using via".split())
# Queries of up to FEW_WORDS words count as terms or names, from WORDS_OF_SENTENCE words as sentences.
MAX_KEYWORD_WORDS, MIN_SENTENCE_WORDS = 4, 8
MAX_COMMON_SHARE = 0.3  # terms in a larger share of chunks would make almost everything a candidate


@dataclass(frozen=True, slots=True)
class WeightedQuery:
    """A query as ranking uses it: weighted terms, adjacent terms, and names of code."""

    weights: Mapping[str, float]
    adjacent_terms: tuple[tuple[str, str], ...]
    identifiers: frozenset[str]
    as_names: frozenset[str]  # words whose spelling suggests a name: `Depends`
    plain: frozenset[str]
    is_one_word: bool
    total: float  # weight of all terms
    unknown: float = 0.0  # weight of the terms that occur in no source
    as_sentence: float = 0.0  # 0 for a few words, 1 for a sentence


def parse_query(query: str, terms: Sequence[str], frequencies: Mapping[str, int], chunks: int) -> WeightedQuery:
    """Weight the `terms` of a query by how rare they are among `chunks`."""
    weights = {term: idf(frequencies[term], chunks) for term in terms if term in frequencies}
    return WeightedQuery(
        weights=weights,
        adjacent_terms=tuple(pairwise(terms)),
        identifiers=names_in_question(query),
        as_names=words_as_names(query),
        plain=frozenset(word.lower() for word in plain_words(query)),
        is_one_word=len(query.split()) == 1,
        total=sum(weights.values()) or 1.0,
        unknown=idf(0, chunks) * sum(term not in frequencies for term in terms),
        as_sentence=_as_sentence(len(query.split())),
    )


def _as_sentence(words: int) -> float:
    """Return to what degree a query with this number of words counts as a sentence."""
    return min(1.0, max(0.0, (words - MAX_KEYWORD_WORDS) / (MIN_SENTENCE_WORDS - MAX_KEYWORD_WORDS)))


def query_terms(words: str) -> list[str]:
    """Return the distinct terms of a question without interrogatives, or all terms if there are no others."""
    terms = list(dict.fromkeys(words.split()))
    return [term for term in terms if term not in _interrogatives()] or terms


@cache
def _interrogatives() -> frozenset[str]:
    """Return the interrogatives as index terms: `why` is stemmed like other words."""
    return frozenset(shared_words().of(" ".join(INTERROGATIVES)).split())


def mentioned_names(query: str, names: Iterable[str]) -> frozenset[str]:
    """Return the names of products that a query mentions.

    An ordinary word (`express`) counts only where it is used as a name: at the beginning, capitalised, or after `in`,
    `with` or `using`.
    """
    asked = tokens(query)
    capitalised = {word.lower() for word in capitalised_words(query)}

    def is_mention(words: Sequence[str], at: int) -> bool:
        if asked[at : at + len(words)] != words:
            return False
        is_ordinary = len(words) == 1 and words[0] in common_english_words()
        return not is_ordinary or not at or asked[at - 1] in _WORDS_BEFORE_NAMES or words[0] in capitalised

    parts = ((name, tokens(name)) for name in names)
    return frozenset(name for name, words in parts if words and any(is_mention(words, at) for at in range(len(asked))))


def terms_to_look_up(frequencies: Mapping[str, int], total: int) -> list[str]:
    """Return the terms to look up: the rarest ones, without terms that occur in most chunks."""
    rarest = sorted(frequencies, key=lambda term: frequencies[term])[:MAX_TERMS]
    useful = [term for term in rarest if frequencies[term] <= total * MAX_COMMON_SHARE]
    return useful or rarest[:1]
