"""Semantic search: keeps vectors of stored texts up to date with a model, and searches them exactly.

Search by words never waits for it; texts without a vector are not found by similarity.
"""

from __future__ import annotations

import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
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

FIRST_BATCH_TEXTS = (
    8  # batches grow while they are fast: encoders need a second for dozens, static vectors for thousands
)
EMBED_BATCH_TEXTS = 500
_QUICK_SECONDS = 0.5
_SLOW_SECONDS = 0.3  # of slow embedding during a query, or at a time in the background
CATCH_UP_SECONDS = 2.0  # for embedding new texts during a search; the next search continues
# Semantic matches exceed this similarity and this fraction of the best one.
MIN_COSINE_SIMILARITY = 0.1
_MIN_FRACTION_OF_BEST = 0.3


@dataclass(frozen=True, slots=True)
class Similarities:
    """The cosine similarity of every stored text to one query."""

    keys: npt.NDArray[np.int64]
    values: Vectors

    def semantic_matches(self, count: int, *, min_similarity: float = MIN_COSINE_SIMILARITY) -> list[int]:
        """Return the keys of the most similar texts above the thresholds, best first."""
        highest = float(self.values.max(initial=0.0))
        return self.nearest(count, at_least=max(min_similarity, _MIN_FRACTION_OF_BEST * highest))

    def nearest(self, count: int, *, at_least: float = -1.0) -> list[int]:
        """Return the keys of the most similar texts, best first, without those below `at_least`."""
        most = min(count, len(self.keys))
        if not most:
            return []
        some = np.argpartition(-self.values, most - 1)[:most]
        some = some[self.values[some] >= at_least]
        ordered: list[int] = self.keys[some[np.argsort(-self.values[some], kind="stable")]].tolist()
        return ordered

    def in_groups(self, groups: Iterable[int], *, bits: int) -> Similarities:
        """Select texts of some groups; a key is the number of its group, followed by `bits` bits."""
        kept = np.isin(self.keys >> bits, np.fromiter(groups, np.int64))
        return Similarities(self.keys[kept], self.values[kept])

    def among(self, keys: Collection[int]) -> Similarities:
        """Select some texts."""
        kept = np.isin(self.keys, np.fromiter(keys, np.int64, len(keys)))
        return Similarities(self.keys[kept], self.values[kept])

    def raw(self, keys: Sequence[int]) -> dict[int, float]:
        """Return the cosine similarities of the texts that have a vector."""
        some = np.flatnonzero(np.isin(self.keys, keys))
        return dict(zip(self.keys[some].tolist(), self.values[some].tolist(), strict=True))

    def of(self, keys: Sequence[int]) -> list[float]:
        """Return standardised similarities of some texts; texts without a vector get the mean."""
        known = self.raw(keys)
        return standardised(np.array([known.get(key, np.nan) for key in keys], np.float32))


def standardised(values: Vectors) -> list[float]:
    """Scale to mean 0 and standard deviation 1; NaN becomes 0."""
    known = values[~np.isnan(values)]
    if len(known) < 2 or known.std() < 1e-6:
        return [0.0] * len(values)
    scaled: list[float] = np.nan_to_num((values - known.mean()) / known.std()).tolist()
    return scaled


class Comparison:
    """Compares a query with a few texts by static vectors, without storing vectors."""

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
    """Vectors of texts, with their keys."""

    keys: npt.NDArray[np.int64]


class _ModelRows:
    """The stored vectors of one model."""

    def __init__(self, model: str, store: VectorRecords) -> None:
        self._model = model
        self._store = store
        self._rows: SynchronisedRows[_TextRows] = SynchronisedRows()

    def now(self) -> _TextRows:
        """Return the vectors that are stored now."""
        store, model = self._store, self._model
        return self._rows.refreshed(self._since, lambda: store.count(model), lambda: store.numbers(model))

    def _since(self, number: int) -> _TextRows:
        new = self._store.since(self._model, number)
        data = np.frombuffer(b"".join(vector.data for vector in new), np.int8)
        vectors = data.reshape(len(new), len(data) // max(1, len(new)))
        keys = np.array([vector.key for vector in new], np.int64)
        return _TextRows(np.array([vector.number for vector in new], np.int64), vectors, lengths_of(vectors), keys)


class SemanticIndex:
    """The vectors of one kind of text, in memory as int8, and the model that makes them.

    `at_once` is a faster model with comparable similarities. Its vectors are used until a background thread has made
    those of the main model. With `ends_soon`, as in a command, queries wait longer for the main model.
    """

    def __init__(
        self, embedder: Embedder, store: VectorRecords, at_once: Embedder | None = None, *, ends_soon: bool = False
    ) -> None:
        self._embedder = embedder
        self._at_once = at_once
        self._store = store
        self._ends_soon = ends_soon
        self._rows = [(each, _ModelRows(each.identity, store)) for each in (embedder, at_once) if each]
        self._stopped = threading.Event()
        self._background: threading.Thread | None = None

    def catch_up(self, stopping: Callable[[], bool] = lambda: False, *, at_most: int = sys.maxsize) -> int:
        """Embed texts that lack a vector of the main model, at most `at_most`; return their number. Ends when
        `stopping` is true.
        """
        return self._embed(self._embedder, stopping, at_most=at_most)

    def _embed(
        self, embedder: Embedder, stopping: Callable[[], bool], *, instead: str = "", at_most: int = sys.maxsize
    ) -> int:
        """Embed texts that lack a vector of `embedder`; those with a vector of the model `instead` are skipped."""
        written = last = 0
        model = embedder.identity
        batch = min(at_most, FIRST_BATCH_TEXTS)
        while (
            batch
            and not stopping()
            and (found := self._store.unembedded(model, after=last, limit=batch, instead=instead))
        ):
            began = time.monotonic()
            vectors = embedder.texts([self._passage(thing.text, thing.words) for thing in found])
            rows = zip((thing.key for thing in found), map(np.ndarray.tobytes, quantised(vectors)), strict=True)
            self._store.write(model, rows)
            written += len(found)
            last = found[-1].key
            if time.monotonic() - began < _QUICK_SECONDS / 4:
                batch = min(4 * batch, EMBED_BATCH_TEXTS)
            batch = min(batch, at_most - written)
        return written

    @property
    def is_behind(self) -> bool:
        """Whether some texts have no vector at all."""
        model, instead = (self._at_once or self._embedder).identity, self._embedder.identity
        return bool(self._store.unembedded(model, after=0, limit=1, instead=instead))

    def keep_up(self, stopping: Callable[[], bool]) -> None:
        """Embed all new texts, with the faster model if there is one; the main model follows in the background."""
        if self._at_once is None:
            self.catch_up(stopping)
        else:
            self._embed(self._at_once, stopping, instead=self._embedder.identity)
            self._start_background()

    def wait(self, seconds: float) -> bool:
        """Wait for the background thread, at most `seconds`; return whether it has ended."""
        if self._background is not None:
            self._background.join(seconds)
        return self._background is None or not self._background.is_alive()

    @property
    def count(self) -> int:
        """The number of texts with a vector of the main model."""
        return self._store.count(self._embedder.identity)

    def embedded_keys(self) -> list[int]:
        """Return the keys of the texts with a vector of the main model."""
        _, rows = self._rows[0]
        keys: list[int] = rows.now().keys.tolist()
        return keys

    def compare(self, question: str) -> Similarities | None:
        """Return the similarity of every text to a query, after embedding new texts."""
        until = time.monotonic() + CATCH_UP_SECONDS
        with suppress(StoreError):  # the store is read-only; existing vectors are compared
            self.keep_up(lambda: time.monotonic() > until)
        question = translate_to_english(question) or question
        return self.similarities(TextToEmbed(question, query_words(question)))

    def _passage(self, text: str, words: str) -> TextToEmbed:
        """Return a text as models read it: in English."""
        if english := translate_to_english(text):
            return TextToEmbed(english, shared_words().of(english))
        return TextToEmbed(text, words or shared_words().of(text))

    def _start_background(self) -> None:
        """Start a background thread that makes the remaining vectors with half of one core, and wait shortly for it."""
        is_running = self._background is not None and self._background.is_alive()
        if self._stopped.is_set() or not self._store.unembedded(self._embedder.identity, after=0, limit=1):
            return
        if not is_running:
            self._background = threading.Thread(target=self._catch_up_slowly, name="meaning", daemon=True)
            self._background.start()
            self._background.join(CATCH_UP_SECONDS if self._ends_soon else _SLOW_SECONDS)

    def _catch_up_slowly(self) -> None:
        with suppress(StoreError), self._store.try_lock() as is_held:  # the next query tries again
            while is_held and not self._stopped.is_set():
                began = time.monotonic()
                if not self.catch_up(partial(self._is_late, began + _SLOW_SECONDS)):
                    return
                if not self._ends_soon:
                    self._stopped.wait(time.monotonic() - began)

    def _is_late(self, until: float) -> bool:
        return self._stopped.is_set() or time.monotonic() > until

    def stop(self) -> None:
        """Stop the background thread."""
        self._stopped.set()
        if self._background is not None:
            self._background.join()

    def similarities(self, question: TextToEmbed) -> Similarities | None:
        """Return the similarity of every text to a query; None if there is nothing to compare.

        Raises `EmbedderUnavailable` if the model cannot be reached.
        """
        found = [(model, rows) for model, each in self._rows if len(rows := each.now())]
        if not found and not self.is_behind:
            return None
        if not self._embedder.question(question).any() or not found:
            return None
        cosines = [rows.cosines(model.question(question)) for model, rows in found]
        return Similarities(np.concatenate([rows.keys for _, rows in found]), np.concatenate(cosines))
