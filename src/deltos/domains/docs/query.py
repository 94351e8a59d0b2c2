"""Parse a documentation query into weighted terms and code names."""

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
# A query with at most the first number of words is ranked as keywords, one with at least the second as a sentence.
MAX_KEYWORD_WORDS, MIN_SENTENCE_WORDS = 4, 8
# Terms that occur in a larger share of the chunks are not looked up, because almost every chunk would be a candidate.
MAX_COMMON_SHARE = 0.3


@dataclass(frozen=True, slots=True)
class WeightedQuery:
    """A parsed query: terms with weights, pairs of adjacent terms, and code names."""

    weights: Mapping[str, float]
    adjacent_terms: tuple[tuple[str, str], ...]
    identifiers: frozenset[str]
    name_like_words: frozenset[str]  # query words that are spelled like names, such as `Depends`
    lowercase_words: frozenset[str]  # words of the query in lower case, not stemmed
    is_one_word: bool
    total_weight: float  # sum of `weights`, or 1 if there are none
    unknown_weight: float = 0.0  # total weight of the query terms that occur in no source
    sentence_degree: float = 0.0  # how much the query is like a sentence: 0 for keywords, 1 for a sentence


def parse_query(query: str, terms: Sequence[str], frequencies: Mapping[str, int], chunks: int) -> WeightedQuery:
    """Parse a query and weight its `terms` by inverse document frequency. `chunks` is the number of chunks."""
    weights = {term: idf(frequencies[term], chunks) for term in terms if term in frequencies}
    return WeightedQuery(
        weights=weights,
        adjacent_terms=tuple(pairwise(terms)),
        identifiers=names_in_question(query),
        name_like_words=words_as_names(query),
        lowercase_words=frozenset(word.lower() for word in plain_words(query)),
        is_one_word=len(query.split()) == 1,
        total_weight=sum(weights.values()) or 1.0,
        unknown_weight=idf(0, chunks) * sum(term not in frequencies for term in terms),
        sentence_degree=_sentence_degree(len(query.split())),
    )


def _sentence_degree(words: int) -> float:
    """Return a number from 0 (keywords) to 1 (a sentence), depending on the length of a query."""
    return min(1.0, max(0.0, (words - MAX_KEYWORD_WORDS) / (MIN_SENTENCE_WORDS - MAX_KEYWORD_WORDS)))


def query_terms(words: str) -> list[str]:
    """Return the distinct terms of a query without question words, or all terms if no others remain."""
    terms = list(dict.fromkeys(words.split()))
    return [term for term in terms if term not in _interrogatives()] or terms


@cache
def _interrogatives() -> frozenset[str]:
    """Return the stems of question words such as "how"."""
    return frozenset(shared_words().of(" ".join(INTERROGATIVES)).split())


def mentioned_names(query: str, names: Iterable[str]) -> frozenset[str]:
    """Return the product names that a query mentions.

    An ordinary word such as `express` counts only if it is the first word, is capitalised, or follows a word such as
    `in`, `with` or `using`.
    """
    asked = tokens(query)
    capitalised = {word.lower() for word in capitalised_words(query)}

    def is_mention(words: Sequence[str], at: int) -> bool:
        """Whether the words at position `at` of a query are used as a name."""
        if asked[at : at + len(words)] != words:
            return False
        is_ordinary = len(words) == 1 and words[0] in common_english_words()
        return not is_ordinary or not at or asked[at - 1] in _WORDS_BEFORE_NAMES or words[0] in capitalised

    parts = ((name, tokens(name)) for name in names)
    return frozenset(name for name, words in parts if words and any(is_mention(words, at) for at in range(len(asked))))


def terms_to_look_up(frequencies: Mapping[str, int], total: int) -> list[str]:
    """Return the rarest terms, at most MAX_TERMS. Terms that occur in many chunks are omitted."""
    rarest = sorted(frequencies, key=lambda term: frequencies[term])[:MAX_TERMS]
    useful = [term for term in rarest if frequencies[term] <= total * MAX_COMMON_SHARE]
    return useful or rarest[:1]
