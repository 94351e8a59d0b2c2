"""How much a word tells about the texts that hold it: inverse document frequency."""

from math import log


def idf(with_word: int, texts: int, *, added: float = 0.5, smoothing: float = 0.5, against_rest: bool = True) -> float:
    """The inverse document frequency of a word that `with_word` of `texts` hold; never negative.

    The defaults are BM25's, which documentation and memory use. The weights of code, APIs and the federated search were
    tuned with other smoothing: they say so by name, because their scores and thresholds depend on it.
    """
    rest = max(texts, with_word) - with_word if against_rest else texts
    return log(1 + (rest + added) / (with_word + smoothing))
