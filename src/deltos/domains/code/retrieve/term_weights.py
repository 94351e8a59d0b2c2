"""Weight query terms by rarity, and find the terms in texts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.text.idf import idf

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from deltos.domains.code.query.parse import CodeQuery

_MAX_NAMES_PER_TERM = 100  # limit for files that define thousands of names with the same word


def _raw_weights(query: CodeQuery, frequencies: Mapping[str, int], chunk_count: int) -> dict[str, float]:
    """Return the inverse document frequency of each query term."""
    return {
        term: idf(frequencies.get(term, 0), chunk_count, added=0, smoothing=1, against_rest=False)
        for term in query.terms
    }


def total_weight(query: CodeQuery, frequencies: Mapping[str, int], chunk_count: int) -> float:
    """Return the sum of the weights of all query terms. It is the score of a file that contains all of them."""
    return sum(_raw_weights(query, frequencies, chunk_count).values()) or 1.0


class TermWeights:
    """Inverse document frequencies of the query terms, normalised to a sum of 1.

    Texts are passed as index terms, each surrounded by spaces. Sets of query terms are bit masks with one bit per term.
    """

    def __init__(self, query: CodeQuery, frequencies: Mapping[str, int], chunk_count: int) -> None:
        raw = _raw_weights(query, frequencies, chunk_count)
        self.total = sum(raw.values()) or 1.0
        self.by_term = {term: value / self.total for term, value in raw.items()}
        self._needles = tuple((f" {term} ", 1 << n) for n, term in enumerate(self.by_term))
        self._shares: dict[int, float] = {}
        self._found: dict[str, int] = {}

    def mask_of_text(self, text: str) -> int:
        """Return a bit mask of the query terms that occur in the text."""
        bits = 0
        for needle, bit in self._needles:
            if needle in text:
                bits |= bit
        return bits

    def mask_of_words(self, words: str) -> int:
        """Return a bit mask of the query terms that are among `words`; cached."""
        bits = self._found.get(words)
        if bits is None:
            bits = self._found[words] = self.mask_of_text(f" {words} ") if words else 0
        return bits

    def substring_share(self, text: str) -> float:
        """Return the total weight of the query terms that are substrings of a lower-case text."""
        return sum(weight for term, weight in self.by_term.items() if term in text)

    def share(self, bits: int) -> float:
        """Return the total weight of a set of query terms, given as a bit mask."""
        known = self._shares.get(bits)
        if known is None:
            known = sum(weight for n, weight in enumerate(self.by_term.values()) if bits >> n & 1)
            self._shares[bits] = known
        return known

    def offsets(self, text: str, bits: int) -> Iterator[int]:
        """Yield the offsets in the text of the query terms in a bit mask, at most `_MAX_NAMES_PER_TERM` per term."""
        for needle, bit in self._needles:
            at = text.find(needle) if bits & bit else -1
            for _ in range(_MAX_NAMES_PER_TERM):
                if at < 0:
                    break
                yield at
                at = text.find(needle, at + 1)
