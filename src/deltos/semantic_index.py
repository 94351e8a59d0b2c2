"""Semantic search: embedding of stored texts, and comparison of queries with the vectors of all texts."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from deltos.embed.protocol import TextToEmbed
from deltos.embed.vector_rows import SynchronisedRows, VectorRows, lengths_of, quantised
from deltos.errors import StoreError
from deltos.text.translation import translate_to_english
from deltos.text.words import query_words, shared_words

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    import numpy.typing as npt

    from deltos.embed.protocol import Embedder, Vectors
    from deltos.embed.static import StaticModel
    from deltos.store.vectors import VectorRecords

EMBED_BATCH_TEXTS = 200  # number of texts embedded at once
CATCH_UP_SECONDS = 2.0  # maximum time for embedding new texts during a search
# Minimum similarity of a semantic match, absolute and as a fraction of the best similarity.
MIN_COSINE_SIMILARITY = 0.1
_MIN_FRACTION_OF_BEST = 0.3


@dataclass(frozen=True, slots=True)
class Similarities:
    """Cosine similarities of stored texts to a query, by key."""

    keys: npt.NDArray[np.int64]
    values: Vectors

    def semantic_matches(self, count: int, *, min_similarity: float = MIN_COSINE_SIMILARITY) -> list[int]:
        """Return the keys of the most similar texts above the thresholds, best first."""
        highest = float(self.values.max(initial=0.0))
        return self.nearest(count, at_least=max(min_similarity, _MIN_FRACTION_OF_BEST * highest))

    def nearest(self, count: int, *, at_least: float = -1.0) -> list[int]:
        """Return the keys of the most similar texts, best first. Similarities below `at_least` are omitted."""
        most = min(count, len(self.keys))
        if not most:
            return []
        some = np.argpartition(-self.values, most - 1)[:most]
        some = some[self.values[some] >= at_least]
        ordered: list[int] = self.keys[some[np.argsort(-self.values[some], kind="stable")]].tolist()
        return ordered

    def in_groups(self, groups: Iterable[int], *, bits: int) -> Similarities:
        """Return only the similarities of texts in `groups`. A key is the group number followed by `bits` bits."""
        kept = np.isin(self.keys >> bits, np.fromiter(groups, np.int64))
        return Similarities(self.keys[kept], self.values[kept])

    def limited_to(self, keys: Collection[int]) -> Similarities:
        """Return only the similarities of the texts with the given keys."""
        kept = np.isin(self.keys, np.fromiter(keys, np.int64, len(keys)))
        return Similarities(self.keys[kept], self.values[kept])

    def cosines(self, keys: Sequence[int]) -> dict[int, float]:
        """Return the cosine similarities of the given texts by key. Texts without a vector are omitted."""
        some = np.flatnonzero(np.isin(self.keys, keys))
        return dict(zip(self.keys[some].tolist(), self.values[some].tolist(), strict=True))

    def standardised_cosines(self, keys: Sequence[int]) -> list[float]:
        """Return the similarities of the given texts, scaled to mean 0 and standard deviation 1.

        Texts without a vector get the mean.
        """
        known = self.cosines(keys)
        return standardised(np.array([known.get(key, np.nan) for key in keys], np.float32))


def standardised(values: Vectors) -> list[float]:
    """Scale values to mean 0 and standard deviation 1. NaN becomes 0."""
    known = values[~np.isnan(values)]
    if len(known) < 2 or known.std() < 1e-6:
        return [0.0] * len(values)
    scaled: list[float] = np.nan_to_num((values - known.mean()) / known.std()).tolist()
    return scaled


class Comparison:
    """Comparison of a query with a few texts, whose vectors are computed on demand and not stored."""

    def __init__(self, model: StaticModel) -> None:
        self._model = model

    def __call__(self, question: str, texts: Sequence[str]) -> list[float]:
        """Return the cosine similarity of each text to the query."""
        words = shared_words().of
        vectors = self._model.of_words([query_words(question), *map(words, texts)])
        similarities: list[float] = (vectors[1:] @ vectors[0]).tolist()
        return similarities


@dataclass(frozen=True, slots=True)
class _TextRows(VectorRows):
    """Matrix of text vectors, and the key of each row."""

    keys: npt.NDArray[np.int64]


class _ModelRows:
    """In-memory copy of the stored vectors of one model."""

    def __init__(self, model: str, store: VectorRecords) -> None:
        self._model = model
        self._store = store
        self._rows: SynchronisedRows[_TextRows] = SynchronisedRows()

    def refreshed(self) -> _TextRows:
        """Load the vectors stored since the last call, and return all vectors."""
        store, model = self._store, self._model
        return self._rows.refreshed(self._load_since, lambda: store.count(model), lambda: store.numbers(model))

    def _load_since(self, number: int) -> _TextRows:
        new = self._store.since(self._model, number)
        data = np.frombuffer(b"".join(vector.data for vector in new), np.int8)
        vectors = data.reshape(len(new), len(data) // max(1, len(new)))
        keys = np.array([vector.key for vector in new], np.int64)
        return _TextRows(np.array([vector.number for vector in new], np.int64), vectors, lengths_of(vectors), keys)


class SemanticIndex:
    """The vectors of one kind of text, and the embedding model that computes them."""

    def __init__(self, embedder: Embedder, store: VectorRecords) -> None:
        self._embedder = embedder
        self._store = store
        self._rows = _ModelRows(embedder.identity, store)

    def embed_new(self, stopping: Callable[[], bool] = lambda: False) -> int:
        """Embed texts without a vector until `stopping` returns true. Return the number of embedded texts."""
        written = last = 0
        model = self._embedder.identity
        while not stopping() and (found := self._store.unembedded(model, after=last, limit=EMBED_BATCH_TEXTS)):
            vectors = self._embedder.texts([self._to_embed(each.text, each.words) for each in found])
            rows = zip((each.key for each in found), map(np.ndarray.tobytes, quantised(vectors)), strict=True)
            self._store.write(model, rows)
            written += len(found)
            last = found[-1].key
        return written

    def compare(self, question: str) -> Similarities | None:
        """Embed new texts for a limited time, then return the similarities of all texts to a query."""
        until = time.monotonic() + CATCH_UP_SECONDS
        with suppress(StoreError):  # the store may be read-only, but vectors can be compared
            self.embed_new(lambda: time.monotonic() > until)
        question = translate_to_english(question) or question
        return self.similarities(TextToEmbed(question, query_words(question)))

    def _to_embed(self, text: str, words: str) -> TextToEmbed:
        """Return a text as it is passed to the model: translated to English, if possible."""
        if english := translate_to_english(text):
            return TextToEmbed(english, shared_words().of(english))
        return TextToEmbed(text, words or shared_words().of(text))

    def similarities(self, question: TextToEmbed) -> Similarities | None:
        """Return the similarities of all texts to a query, or None if there is nothing to compare.

        Raises `EmbedderUnavailable` if the model cannot be reached.
        """
        rows = self._rows.refreshed()
        if not len(rows) and not self._store.unembedded(self._embedder.identity, after=0, limit=1):
            return None
        vector = self._embedder.question(question)
        return Similarities(rows.keys, rows.cosines(vector)) if len(rows) and vector.any() else None
