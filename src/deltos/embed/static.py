"""The model in the wheel: a table of word vectors, made by training/. Leaves splitting text into words to others."""

from __future__ import annotations

import json
from collections import Counter
from copy import copy
from dataclasses import dataclass
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from deltos.embed.identity import APIS_FOLDER, MODEL_FOLDER

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

    import numpy.typing as npt

    from deltos.embed.protocol import TextToEmbed, Vectors

# Distinct words of a text that count: later ones add little and cost time.
MOST_WORDS = 160
# Batch size that fits the CPU cache.
BATCH_TEXTS = 64


@dataclass(frozen=True, slots=True)
class ChangedWords:
    """Words that have another vector where one kind of text is compared: their numbers, ascending, and vectors."""

    numbers: npt.NDArray[np.int32]
    vectors: Vectors

    @classmethod
    def read(cls, folder: Path) -> ChangedWords:
        """The files that training wrote."""
        rows, scales = np.load(folder / "rows.npy"), np.load(folder / "scales.npy")
        return cls(np.load(folder / "numbers.npy"), rows * scales[:, None])

    def put_into(self, vectors: Vectors, numbers: npt.NDArray[np.intp]) -> None:
        """Replace the vectors of those words that are changed."""
        places = np.minimum(np.searchsorted(self.numbers, numbers), len(self.numbers) - 1)
        is_changed = self.numbers[places] == numbers
        vectors[is_changed] = self.vectors[places[is_changed]]


class StaticModel:
    """Each text is the sum of its words' vectors, normalised to unit length; a word's weight is its vector's length.

    A word counts as often as it occurs: what a text is about, it repeats.
    """

    def __init__(self, identity: str, words: Sequence[str], rows: npt.NDArray[np.int8], scales: Vectors) -> None:
        self.identity = identity
        self._numbers = {word: number for number, word in enumerate(words)}
        self._rows = rows
        self._scales = scales
        self._changed: ChangedWords | None = None

    @classmethod
    def load(cls, folder: Path = MODEL_FOLDER) -> StaticModel:
        """Open the files of a model; the table is memory-mapped."""
        about = json.loads((folder / "model.json").read_text("utf-8"))
        words = (folder / "words.txt").read_text("utf-8").split("\n")
        rows = np.load(folder / "rows.npy", mmap_mode="r")
        return cls(about["identity"], words, rows, np.load(folder / "scales.npy"))

    def changed_by(self, folder: Path) -> StaticModel:
        """The same model, with other vectors for some words."""
        model = copy(self)
        model.identity = json.loads((folder / "model.json").read_text("utf-8"))["identity"]
        model._changed = ChangedWords.read(folder)  # noqa: SLF001 (a copy of its own)
        return model

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
            out[places] = self.vectors(np.array(numbers, np.intp))
        return out

    def numbers_of(self, words: str) -> list[int]:
        """The numbers of the known ones among index words, each once, in their order."""
        known = (self._numbers.get(word) for word in words.split())
        return list(dict.fromkeys(number for number in known if number is not None))

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
        return self.vectors(numbers) * counts[:, None]

    def vectors(self, numbers: npt.NDArray[np.intp]) -> Vectors:
        """The vectors of words by their numbers."""
        vectors: Vectors = self._rows[numbers] * self._scales[numbers][:, None]
        if self._changed:
            self._changed.put_into(vectors, numbers)
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


@cache
def api_model() -> StaticModel:
    """The same, with what words mean to those who ask for an operation of an API ("throw away", "who is on call")."""
    return shared_model().changed_by(APIS_FOLDER)
