"""Inverse document frequency, which weights a word by its rarity."""

from math import log


def idf(with_word: int, texts: int, *, added: float = 0.5, smoothing: float = 0.5, against_rest: bool = True) -> float:
    """Return the inverse document frequency (at least 0) of a word that occurs in `with_word` of `texts` texts.

    The defaults give the BM25 formula, which is used for documentation and memory. Code, APIs and federated search use
    other values, with which their weights and thresholds were tuned.
    """
    rest = max(texts, with_word) - with_word if against_rest else texts
    return log(1 + (rest + added) / (with_word + smoothing))
