"""The model in the wheel: a table of word vectors, made by training/. Leaves splitting text into words to others."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from deltos.embed.identity import MODEL_FOLDER

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

    import numpy.typing as npt

    from deltos.embed.protocol import TextToEmbed, Vectors

# Distinct words of a text that count: later ones add little and cost time.
MOST_WORDS = 160
# Batch size that fits the CPU cache.
BATCH_TEXTS = 64


class StaticModel:
    """Each text is the sum of its words' vectors, normalised to unit length; a word's weight is its vector's length.

    A word counts as often as it occurs: what a text is about, it repeats.
    """

    def __init__(self, identity: str, words: Sequence[str], rows: npt.NDArray[np.int8], scales: Vectors) -> None:
        self.identity = identity
        self._numbers = {word: number for number, word in enumerate(words)}
        self._rows = rows
        self._scales = scales

    @classmethod
    def load(cls, folder: Path = MODEL_FOLDER) -> StaticModel:
        """Open the files of a model; the table is memory-mapped."""
        about = json.loads((folder / "model.json").read_text("utf-8"))
        words = (folder / "words.txt").read_text("utf-8").split("\n")
        rows = np.load(folder / "rows.npy", mmap_mode="r")
        return cls(about["identity"], words, rows, np.load(folder / "scales.npy"))

    @property
    def dimensions(self) -> int:
        """The number of dimensions."""
        return int(self._rows.shape[1])

    def texts(self, passages: Sequence[TextToEmbed]) -> Vectors:
        """Unit vectors; zeros for a text without a known word."""
        return self.of_words([passage.words for passage in passages])

    def question(self, passage: TextToEmbed) -> Vectors:
        """The vector of a question."""
        vector: Vectors = self.of_words([passage.words])[0]
        return vector

    def word_vectors(self, words: Sequence[str]) -> Vectors:
        """The vector of each index word, as long as the word weighs; zeros for one that is not known."""
        out = np.zeros((len(words), self.dimensions), np.float32)
        known = [(place, self._numbers[word]) for place, word in enumerate(words) if word in self._numbers]
        if known:
            places, numbers = map(list, zip(*known, strict=True))
            out[places] = self._rows[numbers].astype(np.float32) * self._scales[numbers][:, None]
        return out

    def of_words(self, texts: Sequence[str], *, after: str = "") -> Vectors:
        """Unit vectors of texts that are index words already, with spaces between them; all begin with `after`."""
        common = self._known(after)
        out = np.zeros((len(texts), self.dimensions), np.float32)
        if common:
            out += self._weighted([common]).sum(axis=0)
        for start in range(0, len(texts), BATCH_TEXTS):
            self._fill(out[start : start + BATCH_TEXTS], texts[start : start + BATCH_TEXTS], common)
        return out

    def _fill(self, out: Vectors, texts: Sequence[str], common: dict[int, int]) -> None:
        """Add the texts' words to what they begin with, and normalise."""
        known = [self._known(text, common) for text in texts]
        filled = [place for place, counts in enumerate(known) if counts]
        if filled:
            lengths = [len(known[place]) for place in filled]
            out[filled] += np.add.reduceat(self._weighted(known), np.cumsum([0, *lengths[:-1]]), axis=0)
        out /= np.linalg.norm(out, axis=1, keepdims=True) + np.float32(1e-9)

    def _weighted(self, known: Sequence[dict[int, int]]) -> Vectors:
        """The vectors of words, one text after the other, times how often each occurs there."""
        numbers = np.fromiter(chain.from_iterable(known), np.intp)
        counts = np.fromiter(chain.from_iterable(counts.values() for counts in known), np.float32, len(numbers))
        vectors = self._rows[numbers].astype(np.float32)
        vectors *= (self._scales[numbers] * counts)[:, None]
        return vectors

    def _known(self, text: str, before: Collection[int] = ()) -> dict[int, int]:
        """How often each known word occurs in a text; of those that are not `before` it, only as many as count."""
        numbers = self._numbers
        counts = {numbers[word]: count for word, count in Counter(text.split()).items() if word in numbers}
        if len(counts) + len(before) <= MOST_WORDS:
            return counts
        new = [number for number in counts if number not in before]
        left_out = set(new[max(0, MOST_WORDS - len(before)) :])
        return {number: count for number, count in counts.items() if number not in left_out}


@cache
def shared_model() -> StaticModel:
    """The model in the wheel, opened once per process."""
    return StaticModel.load()
