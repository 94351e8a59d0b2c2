"""The model in the wheel: a table of word vectors, made by training/. Leaves splitting text into words to others."""

from __future__ import annotations

import json
from functools import cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy.typing as npt

    from pinakes.embed.protocol import Passage, Vectors

MODEL_FOLDER = Path(__file__).with_name("model")
# More words than that say little new about a text, and cost time.
MOST_WORDS = 160
# So many texts at a time stay within the processor's cache.
_TEXTS_AT_ONCE = 64


class StaticModel:
    """Each text is the sum of its different words' vectors, made one long; weights are inside the vectors."""

    def __init__(self, identity: str, words: Sequence[str], rows: npt.NDArray[np.int8], scales: Vectors) -> None:
        self.identity = identity
        self._numbers = {word: number for number, word in enumerate(words)}
        self._rows = rows
        self._scales = scales

    @classmethod
    def load(cls, folder: Path = MODEL_FOLDER) -> StaticModel:
        """Open the files of a model; the table stays on disk until it is looked at."""
        about = json.loads((folder / "model.json").read_text("utf-8"))
        words = (folder / "words.txt").read_text("utf-8").split("\n")
        rows = np.load(folder / "rows.npy", mmap_mode="r")
        return cls(about["identity"], words, rows, np.load(folder / "scales.npy"))

    @property
    def dimensions(self) -> int:
        """How long a vector is."""
        return int(self._rows.shape[1])

    def texts(self, passages: Sequence[Passage]) -> Vectors:
        """Unit vectors; zeros for a text without a known word."""
        return self.of_words([passage.words for passage in passages])

    def question(self, passage: Passage) -> Vectors:
        """The vector of a question."""
        vector: Vectors = self.of_words([passage.words])[0]
        return vector

    def of_words(self, texts: Sequence[str]) -> Vectors:
        """Unit vectors of texts that are index words already, with spaces between them."""
        out = np.zeros((len(texts), self.dimensions), np.float32)
        for start in range(0, len(texts), _TEXTS_AT_ONCE):
            self._fill(out[start : start + _TEXTS_AT_ONCE], texts[start : start + _TEXTS_AT_ONCE])
        return out

    def _fill(self, out: Vectors, texts: Sequence[str]) -> None:
        known = [self._known(text.split()) for text in texts]
        lengths = [len(numbers) for numbers in known]
        filled = [place for place, length in enumerate(lengths) if length]
        if not filled:
            return
        numbers = np.fromiter(chain.from_iterable(known), np.intp, sum(lengths))
        vectors = self._rows[numbers].astype(np.float32)
        vectors *= self._scales[numbers, None]
        ends = np.cumsum([lengths[place] for place in filled])
        sums = np.add.reduceat(vectors, [0, *ends[:-1]], axis=0)
        out[filled] = sums / (np.linalg.norm(sums, axis=1, keepdims=True) + np.float32(1e-9))

    def _known(self, words: Iterable[str]) -> list[int]:
        found = dict.fromkeys(map(self._numbers.get, words))
        return [number for number in found if number is not None][:MOST_WORDS]


@cache
def shared_model() -> StaticModel:
    """The model in the wheel, opened once per process."""
    return StaticModel.load()
