"""Inverse document frequency, which weights a word by its rarity."""

from math import log


def idf(with_word: int, texts: int, *, added: float = 0.5, smoothing: float = 0.5, against_rest: bool = True) -> float:
    """Return the inverse document frequency, never negative, of a word that occurs in `with_word` of `texts` texts.

    The defaults are those of BM25, used by documentation and memory. Code, APIs and federated search pass other
    smoothing, because their weights and thresholds were tuned with it.
    """
    rest = max(texts, with_word) - with_word if against_rest else texts
    return log(1 + (rest + added) / (with_word + smoothing))
