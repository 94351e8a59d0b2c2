"""Compare questions with stored things by meaning: keeps their vectors in step with a model, searches them exactly.

Words never wait for it: what has no vector yet, or cannot have one now, is simply not found by meaning.
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

FIRST_BATCH_TEXTS = 8  # more and more while that is quick: encoders take seconds for a hundred, tables for thousands
EMBED_BATCH_TEXTS = 500
_QUICK_SECONDS = 0.5
_SLOW_SECONDS = 0.3  # of a question, or at a time in the background, for vectors that better ones stand in for
CATCH_UP_SECONDS = 2.0  # a search waits no longer for vectors of what was written since; the next one goes on
# What is near a question is at least so similar to it, and at least this share as similar as what is nearest.
MIN_COSINE_SIMILARITY = 0.1
_SHARE_OF_NEAREST = 0.3


@dataclass(frozen=True, slots=True)
class Similarities:
    """The cosine similarity of every stored text to one question."""

    keys: npt.NDArray[np.int64]
    values: Vectors

    def near(self, count: int, *, least: float = MIN_COSINE_SIMILARITY) -> list[int]:
        """The keys of the most similar texts, best first; none where all are far: less similar than `least`."""
        highest = float(self.values.max(initial=0.0))
        return self.nearest(count, at_least=max(least, _SHARE_OF_NEAREST * highest))

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

    def among(self, keys: Collection[int]) -> Similarities:
        """Those of some texts."""
        kept = np.isin(self.keys, np.fromiter(keys, np.int64, len(keys)))
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
        vectors = self._model.of_words([query_words(question), *map(words, texts)])
        similarities: list[float] = (vectors[1:] @ vectors[0]).tolist()
        return similarities


@dataclass(frozen=True, slots=True)
class _TextRows(VectorRows):
    """Vectors of texts, with the keys of these."""

    keys: npt.NDArray[np.int64]


class _ModelRows:
    """The vectors that one model has made."""

    def __init__(self, model: str, store: VectorRecords) -> None:
        self._model = model
        self._store = store
        self._rows: SynchronisedRows[_TextRows] = SynchronisedRows()

    def now(self) -> _TextRows:
        """Those that are stored now."""
        store, model = self._store, self._model
        return self._rows.refreshed(self._since, lambda: store.count(model), lambda: store.numbers(model))

    def _since(self, number: int) -> _TextRows:
        new = self._store.since(self._model, number)
        data = np.frombuffer(b"".join(vector.data for vector in new), np.int8)
        vectors = data.reshape(len(new), len(data) // max(1, len(new)))
        keys = np.array([vector.key for vector in new], np.int64)
        return _TextRows(np.array([vector.number for vector in new], np.int64), vectors, lengths_of(vectors), keys)


class Meaning:
    """The vectors of one kind of text, in memory as int8, and the model that makes them.

    With `at_once`, a faster model whose similarities mean about the same, what waits for the model has a vector of that
    one meanwhile, and the rest is made in the background, until `stop`. In a process that `ends_soon`, questions wait
    longer for it.
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
        """Give a vector to everything that has none of this model, or to so many; returns how many. Stops when asked
        to."""
        return self._embed(self._embedder, stopping, at_most=at_most)

    def _embed(
        self, embedder: Embedder, stopping: Callable[[], bool], *, instead: str = "", at_most: int = sys.maxsize
    ) -> int:
        """The same for a model; what has a vector of the model `instead` needs none."""
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
        """Whether texts are left that have no vector at all yet."""
        model, instead = (self._at_once or self._embedder).identity, self._embedder.identity
        return bool(self._store.unembedded(model, after=0, limit=1, instead=instead))

    def keep_up(self, stopping: Callable[[], bool]) -> None:
        """Give a vector to everything that has none: that of the faster model where there is one; the rest follows in
        the background."""
        if self._at_once is None:
            self.catch_up(stopping)
        else:
            self._embed(self._at_once, stopping, instead=self._embedder.identity)
            self._go_on()

    def wait(self, seconds: float) -> bool:
        """Wait for what goes on in the background, no longer than that; whether it has ended."""
        if self._background is not None:
            self._background.join(seconds)
        return self._background is None or not self._background.is_alive()

    @property
    def count(self) -> int:
        """How many texts have a vector of the model."""
        return self._store.count(self._embedder.identity)

    def read_keys(self) -> list[int]:
        """The keys of the texts that have a vector of the model, not only one that stands in for it."""
        _, rows = self._rows[0]
        keys: list[int] = rows.now().keys.tolist()
        return keys

    def compare(self, question: str) -> Similarities | None:
        """The similarity of every text to a question; what was written since the last one gets its vector first."""
        until = time.monotonic() + CATCH_UP_SECONDS
        with suppress(StoreError):  # nothing can be written now: what has a vector is compared all the same
            self.keep_up(lambda: time.monotonic() > until)
        question = translate_to_english(question) or question
        return self.similarities(TextToEmbed(question, query_words(question)))

    def _passage(self, text: str, words: str) -> TextToEmbed:
        """A text as models read it: in English."""
        if english := translate_to_english(text):
            return TextToEmbed(english, shared_words().of(english))
        return TextToEmbed(text, words or shared_words().of(text))

    def _go_on(self) -> None:
        """Make what is left in the background, at half of one core's time; wait a moment for it: few are soon made."""
        is_running = self._background is not None and self._background.is_alive()
        if self._stopped.is_set() or not self._store.unembedded(self._embedder.identity, after=0, limit=1):
            return
        if not is_running:
            self._background = threading.Thread(target=self._catch_up_slowly, name="meaning", daemon=True)
            self._background.start()
            self._background.join(CATCH_UP_SECONDS if self._ends_soon else _SLOW_SECONDS)

    def _catch_up_slowly(self) -> None:
        with suppress(StoreError), self._store.try_lock() as is_held:  # the next question begins anew
            while is_held and not self._stopped.is_set():
                began = time.monotonic()
                if not self.catch_up(partial(self._is_late, began + _SLOW_SECONDS)):
                    return
                if not self._ends_soon:
                    self._stopped.wait(time.monotonic() - began)

    def _is_late(self, until: float) -> bool:
        return self._stopped.is_set() or time.monotonic() > until

    def stop(self) -> None:
        """End what goes on in the background."""
        self._stopped.set()
        if self._background is not None:
            self._background.join()

    def similarities(self, question: TextToEmbed) -> Similarities | None:
        """The similarity of every text to a question; None when there is nothing to compare.

        Raises `EmbedderUnavailable` when the model cannot be asked.
        """
        found = [(model, rows) for model, each in self._rows if len(rows := each.now())]
        if not found and not self.is_behind:
            return None
        if not self._embedder.question(question).any() or not found:
            return None
        cosines = [rows.cosines(model.question(question)) for model, rows in found]
        return Similarities(np.concatenate([rows.keys for _, rows in found]), np.concatenate(cosines))
