"""Static word vectors of the bundled model, which the programs in training/ computed.

Callers split texts into words.
"""

from __future__ import annotations

import json
from collections import Counter
from copy import copy
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, chain, islice
from typing import TYPE_CHECKING, cast

import numpy as np

from deltos.embed.identity import APIS_FOLDER, MODEL_FOLDER

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import numpy.typing as npt

    from deltos.embed.protocol import TextToEmbed, Vectors

# Maximum number of distinct words per text. Later words add little and take time.
MAX_WORDS = 160
# Number of texts per batch, chosen so that a batch fits into the CPU cache.
BATCH_TEXTS = 64


@dataclass(frozen=True, slots=True)
class WordOverrides:
    """Replacements of word vectors for one kind of text.

    `numbers` are the numbers of the replaced words in the vocabulary, in ascending order.
    """

    numbers: npt.NDArray[np.int32]
    vectors: Vectors

    @classmethod
    def read(cls, folder: Path) -> WordOverrides:
        """Load the overrides from the files written by training."""
        rows, scales = np.load(folder / "rows.npy"), np.load(folder / "scales.npy")
        return cls(np.load(folder / "numbers.npy"), rows * scales[:, None])

    def apply(self, vectors: Vectors, numbers: npt.NDArray[np.intp]) -> None:
        """Replace the vectors of overridden words in place, given the word number of each vector."""
        positions = np.minimum(np.searchsorted(self.numbers, numbers), len(self.numbers) - 1)
        is_overridden = self.numbers[positions] == numbers
        vectors[is_overridden] = self.vectors[positions[is_overridden]]


class StaticModel:
    """Embedder that represents a text by the normalised sum of its word vectors.

    The length of a word vector is the weight of the word. A repeated word counts each time.
    """

    def __init__(self, identity: str, words: Sequence[str], rows: npt.NDArray[np.int8], scales: Vectors) -> None:
        self.identity = identity
        self._numbers = {word: number for number, word in enumerate(words)}
        self._rows = rows
        self._scales = scales
        self._overrides: WordOverrides | None = None

    @classmethod
    def load(cls, folder: Path = MODEL_FOLDER) -> StaticModel:
        """Load a model. The table of vectors is memory-mapped."""
        about = json.loads((folder / "model.json").read_text("utf-8"))
        words = (folder / "words.txt").read_text("utf-8").split("\n")
        # Converted to an array, which is faster to index than a memmap
        rows = np.asarray(np.load(folder / "rows.npy", mmap_mode="r"))
        return cls(about["identity"], words, rows, np.load(folder / "scales.npy"))

    def with_overrides(self, folder: Path) -> StaticModel:
        """Return a copy of the model with the word overrides in `folder`."""
        model = copy(self)
        model.identity = json.loads((folder / "model.json").read_text("utf-8"))["identity"]
        model._overrides = WordOverrides.read(folder)  # noqa: SLF001 (a copy of its own)
        return model

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def dimensions(self) -> int:
        """Number of dimensions of the vectors."""
        return int(self._rows.shape[1])

    def texts(self, passages: Sequence[TextToEmbed]) -> Vectors:
        """Return unit vectors of texts, and zeros for texts without a known word."""
        return self.of_words([passage.words for passage in passages])

    def question(self, passage: TextToEmbed) -> Vectors:
        """Return the unit vector of a question."""
        vector: Vectors = self.of_words([passage.words])[0]
        return vector

    def word_vectors(self, words: Sequence[str]) -> Vectors:
        """Return the vector of each index word, or zeros for an unknown word.

        The length of a vector is the weight of the word.
        """
        out = np.zeros((len(words), self.dimensions), np.float32)
        known = [(position, self._numbers[word]) for position, word in enumerate(words) if word in self._numbers]
        if known:
            positions, numbers = map(list, zip(*known, strict=True))
            out[positions] = self.vectors(np.array(numbers, np.intp))
        return out

    def word_numbers(self, words: str) -> list[int]:
        """Return the vocabulary numbers of the known index words, in order and without duplicates."""
        numbers = dict.fromkeys(map(self._numbers.get, words.split()))
        numbers.pop(None, None)
        return cast("list[int]", list(numbers))

    def of_words(self, texts: Sequence[str]) -> Vectors:
        """Return unit vectors of texts that are given as index words."""
        out = np.zeros((len(texts), self.dimensions), np.float32)
        for start in range(0, len(texts), BATCH_TEXTS):
            self._add_and_normalise(out[start : start + BATCH_TEXTS], texts[start : start + BATCH_TEXTS])
        return out

    def sums(self, rows: Sequence[Sequence[int]]) -> Vectors:
        """Return the normalised sum of word vectors for each row of word numbers. Rows must not be empty."""
        numbers = np.fromiter(chain.from_iterable(rows), np.intp)
        sums = _sum_groups(self.vectors(numbers), [len(row) for row in rows])
        unit_sums: Vectors = sums / (np.linalg.norm(sums, axis=1, keepdims=True) + np.float32(1e-9))
        return unit_sums

    def _add_and_normalise(self, out: Vectors, texts: Sequence[str]) -> None:
        """Add the word vectors of each text to its row of `out`, and normalise the rows."""
        known = [self._count_known(text) for text in texts]
        filled = [position for position, counts in enumerate(known) if counts]
        if filled:
            out[filled] += _sum_groups(self._weighted_vectors(known), [len(known[position]) for position in filled])
        out /= np.linalg.norm(out, axis=1, keepdims=True) + np.float32(1e-9)

    def _weighted_vectors(self, known: Sequence[dict[int, int]]) -> Vectors:
        """Return the concatenated word vectors of all texts, multiplied by the word counts."""
        numbers = np.fromiter(chain.from_iterable(known), np.intp)
        counts = np.fromiter(chain.from_iterable(counts.values() for counts in known), np.float32, len(numbers))
        return self.vectors(numbers) * counts[:, None]

    def vectors(self, numbers: npt.NDArray[np.intp]) -> Vectors:
        """Return the word vectors for the given vocabulary indexes."""
        vectors: Vectors = self._rows[numbers] * self._scales[numbers][:, None]
        if self._overrides:
            self._overrides.apply(vectors, numbers)
        return vectors

    def _count_known(self, text: str) -> dict[int, int]:
        """Count the first MAX_WORDS known words of a text."""
        counted = Counter(map(self._numbers.get, text.split()))
        counted.pop(None, None)
        return dict(islice(cast("dict[int, int]", counted).items(), MAX_WORDS))


def _sum_groups(vectors: Vectors, lengths: Sequence[int]) -> Vectors:
    """Return the sum of each group of consecutive vectors, given the lengths of the groups."""
    # This is several times faster than `np.add.reduceat` on rows.
    ends = accumulate(lengths)
    return np.stack([vectors[end - length : end].sum(axis=0) for end, length in zip(ends, lengths, strict=True)])


class ScaledWordVectors:
    """Word vectors multiplied by a scaling factor, as input of an encoder."""

    def __init__(self, table: StaticModel, scale: float) -> None:
        self._table = table
        self._scale = np.float32(scale)

    def __len__(self) -> int:
        return len(self._table)

    def __getitem__(self, numbers: npt.NDArray[np.intp], /) -> Vectors:
        """Return the vectors with the given numbers, in the shape of `numbers`."""
        vectors: Vectors = self._table.vectors(numbers.reshape(-1)).reshape(*numbers.shape, -1) * self._scale
        return vectors


@cache
def shared_model() -> StaticModel:
    """Return the bundled model, loaded once per process."""
    return StaticModel.load()


@cache
def api_model() -> StaticModel:
    """Return the bundled model with overrides for queries about operations, such as "who is on call"."""
    return shared_model().with_overrides(APIS_FOLDER)
