"""Compare questions with stored things by meaning: keeps their vectors in step with a model, searches them exactly.

Words never wait for it: what has no vector yet, or cannot have one now, is simply not found by meaning.
"""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from deltos.embed.protocol import TextToEmbed
from deltos.errors import StoreError
from deltos.text.words import asked_words, shared_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import numpy.typing as npt

    from deltos.embed.protocol import Embedder, Vectors
    from deltos.embed.static import StaticModel
    from deltos.store.vectors import StoredVector, VectorRecords

EMBED_BATCH_TEXTS = 500
CATCH_UP_SECONDS = 2.0  # a search waits no longer for vectors of what was written since; the next one goes on
# What is near a question is at least so similar to it, and at least this share as similar as what is nearest.
_MIN_COSINE_SIMILARITY = 0.1
_SHARE_OF_NEAREST = 0.3
_LARGEST_INT8 = 127
# Rows are converted from int8 to float32 in batches: the whole matrix would be four times as large in memory.
COMPARE_BATCH_ROWS = 1_024


@dataclass(frozen=True, slots=True)
class Similarities:
    """The cosine similarity of every stored text to one question."""

    keys: npt.NDArray[np.int64]
    values: Vectors

    def near(self, count: int) -> list[int]:
        """The keys of the most similar texts, best first; none where all are far."""
        highest = float(self.values.max(initial=0.0))
        return self.nearest(count, at_least=max(_MIN_COSINE_SIMILARITY, _SHARE_OF_NEAREST * highest))

    def nearest(self, count: int, *, at_least: float = -1.0) -> list[int]:
        """The keys of the most similar texts, best first, none below `at_least`."""
        most = min(count, len(self.keys))
        if not most:
            return []
        some = np.argpartition(-self.values, most - 1)[:most]
        some = some[self.values[some] >= at_least]
        ordered: list[int] = self.keys[some[np.argsort(-self.values[some], kind="stable")]].tolist()
        return ordered

    def in_groups(self, groups: Iterable[int], *, bits: int) -> Similarities:
        """Those of some groups, where a key is the number of its group, followed by so many bits."""
        kept = np.isin(self.keys >> bits, np.fromiter(groups, np.int64))
        return Similarities(self.keys[kept], self.values[kept])

    def raw(self, keys: Sequence[int]) -> dict[int, float]:
        """The cosine similarities of some texts, as far as they have vectors."""
        some = np.flatnonzero(np.isin(self.keys, keys))
        return dict(zip(self.keys[some].tolist(), self.values[some].tolist(), strict=True))

    def of(self, keys: Sequence[int]) -> list[float]:
        """The similarities of some texts, standardised among each other; a text without a vector gets the mean."""
        known = self.raw(keys)
        return standardised(np.array([known.get(key, np.nan) for key in keys], np.float32))


def standardised(values: Vectors) -> list[float]:
    """Scaled to mean 0 and standard deviation 1; NaN becomes 0."""
    known = values[~np.isnan(values)]
    if len(known) < 2 or known.std() < 1e-6:
        return [0.0] * len(values)
    scaled: list[float] = np.nan_to_num((values - known.mean()) / known.std()).tolist()
    return scaled


class Comparison:
    """Compares a question with a few texts without storing vectors; for the static model, which is fast enough."""

    def __init__(self, model: StaticModel) -> None:
        self._model = model

    def __call__(self, question: str, texts: Sequence[str]) -> list[float]:
        """The cosine similarity of each text to the question."""
        words = shared_words().of
        vectors = self._model.of_words([asked_words(question), *map(words, texts)])
        similarities: list[float] = (vectors[1:] @ vectors[0]).tolist()
        return similarities


class Meaning:
    """The vectors of one kind of text, in memory as int8, and the model that makes them."""

    def __init__(self, embedder: Embedder, store: VectorRecords) -> None:
        self._embedder = embedder
        self._store = store
        self._guard = threading.Lock()
        self._numbers = np.zeros(0, np.int64)
        self._keys = np.zeros(0, np.int64)
        self._rows: npt.NDArray[np.int8] = np.zeros((0, 0), np.int8)
        self._lengths = np.zeros(0, np.float32)

    def catch_up(self, stopping: Callable[[], bool] = lambda: False) -> int:
        """Give a vector to everything that has none of this model; returns how many. Stops when asked to."""
        written = last = 0
        model, words = self._embedder.identity, shared_words().of
        while not stopping() and (found := self._store.unembedded(model, after=last, limit=EMBED_BATCH_TEXTS)):
            vectors = self._embedder.texts(
                [TextToEmbed(thing.text, thing.words or words(thing.text)) for thing in found]
            )
            rows = zip((thing.key for thing in found), map(np.ndarray.tobytes, quantised(vectors)), strict=True)
            self._store.write(model, rows)
            written += len(found)
            last = found[-1].key
        return written

    @property
    def is_behind(self) -> bool:
        """Whether texts are left that have no vector of this model yet."""
        return bool(self._store.unembedded(self._embedder.identity, after=0, limit=1))

    def compare(self, question: str) -> Similarities | None:
        """The similarity of every text to a question; what was written since the last one gets its vector first."""
        until = time.monotonic() + CATCH_UP_SECONDS
        with suppress(StoreError):  # nothing can be written now: what has a vector is compared all the same
            self.catch_up(lambda: time.monotonic() > until)
        return self.similarities(TextToEmbed(question, asked_words(question)))

    def order_of(self, question: str, texts: Sequence[str]) -> list[float]:
        """The similarity of a few texts to a question, standardised; embedded on the spot."""
        words = shared_words().of
        vectors = self._embedder.texts([TextToEmbed(text, words(text)) for text in (question, *texts)])
        return standardised(vectors[1:] @ vectors[0])

    def similarities(self, question: TextToEmbed) -> Similarities | None:
        """The similarity of every text to a question; None when there is nothing to compare.

        Raises `EmbedderUnavailable` when the model cannot be asked.
        """
        vector = self._embedder.question(question)
        with self._guard:
            self._refresh()
            keys, rows, lengths = self._keys, self._rows, self._lengths
        if not len(keys) or not vector.any():
            return None
        # int8 rows times a unit vector, divided by the rows' lengths, is the cosine: exact search without an index.
        return Similarities(keys, products(rows, vector) / lengths)

    def _refresh(self) -> None:
        """Take in what was written since, drop what is gone."""
        model = self._embedder.identity
        last = int(self._numbers[-1]) if len(self._numbers) else 0
        if new := self._store.since(model, last):
            self._append(new)
        # Numbers only grow, so what is new comes after the last one; a different count means that rows were deleted.
        if self._store.count(model) != len(self._numbers):
            left = np.fromiter(self._store.numbers(model), np.int64)
            self._keep(np.isin(self._numbers, left))

    def _append(self, new: list[StoredVector]) -> None:
        rows = np.frombuffer(b"".join(vector.data for vector in new), np.int8).reshape(len(new), -1)
        self._rows = np.concatenate([self._rows, rows]) if len(self._rows) else rows
        self._numbers = np.append(self._numbers, [vector.number for vector in new])
        self._keys = np.append(self._keys, [vector.key for vector in new])
        self._lengths = np.append(self._lengths, lengths_of(rows))

    def _keep(self, kept: npt.NDArray[np.bool_]) -> None:
        self._rows, self._numbers = self._rows[kept], self._numbers[kept]
        self._keys, self._lengths = self._keys[kept], self._lengths[kept]


def products(rows: npt.NDArray[np.int8], vector: Vectors) -> Vectors:
    """The dot product of each row with a vector."""
    out = np.empty(len(rows), np.float32)
    for start in range(0, len(rows), COMPARE_BATCH_ROWS):
        out[start : start + COMPARE_BATCH_ROWS] = rows[start : start + COMPARE_BATCH_ROWS].astype(np.float32) @ vector
    return out


def lengths_of(rows: npt.NDArray[np.int8]) -> Vectors:
    """The length of each row; never quite 0, so that one can divide by it."""
    out = np.empty(len(rows), np.float32)
    for start in range(0, len(rows), COMPARE_BATCH_ROWS):
        part = rows[start : start + COMPARE_BATCH_ROWS].astype(np.float32)
        out[start : start + COMPARE_BATCH_ROWS] = np.linalg.norm(part, axis=1)
    return out + np.float32(1e-9)


def quantised(vectors: Vectors) -> npt.NDArray[np.int8]:
    """Each row scaled to int8; cosine similarity depends on its direction alone."""
    largest = np.abs(vectors).max(axis=1, keepdims=True) + np.float32(1e-9)
    rows: npt.NDArray[np.int8] = np.round(vectors / largest * _LARGEST_INT8).astype(np.int8)
    return rows
