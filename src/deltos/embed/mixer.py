"""Forward pass of a small transformer in numpy, with self-attention and ReLU layers."""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import numpy.typing as npt

    from deltos.embed.protocol import Vectors

HEAD_WIDTH = 32  # number of dimensions of an attention head
BATCH_ROWS = 512  # maximum number of inputs per batch; larger batches exceed the CPU cache
_EPSILON = np.float32(1e-6)


class InputVectors(Protocol):
    """Interface of a table of input vectors, such as an array."""

    def __len__(self) -> int:
        """Return the number of vectors."""

    def __getitem__(self, numbers: npt.NDArray[np.intp], /) -> Vectors:
        """Return the vectors with the given numbers."""


@dataclass(frozen=True, slots=True)
class FourBitRows:
    """Vectors of integers from -8 to 7, each with a scaling factor.

    A byte holds a number of the first half of a vector in its low bits, and one of the second half in its high bits.
    """

    rows: npt.NDArray[np.uint8]
    scales: Vectors

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, numbers: npt.NDArray[np.intp], /) -> Vectors:
        """Return the vectors with the given numbers."""
        packed = self.rows[numbers]
        vectors = np.concatenate([packed & 15, packed >> 4], axis=-1).astype(np.float32)
        vectors -= np.float32(8)
        vectors *= self.scales[numbers][..., None]
        return vectors

    @classmethod
    def load(cls, folder: Path) -> FourBitRows:
        """Load the vectors of word pieces in `folder`."""
        return cls(np.load(folder / "pieces.npy", mmap_mode="r"), np.load(folder / "piece_scales.npy"))


class ProjectedInputs:
    """Input vectors that are multiplied by a matrix. Each vector is multiplied only once per process."""

    def __init__(self, inputs: InputVectors, matrix: Vectors) -> None:
        self._inputs = inputs
        self._matrix = matrix
        # Rows are filled from the start, so that unused rows at the end occupy no memory.
        self._projected = np.empty((len(inputs), matrix.shape[1]), np.float32)
        self._projected_rows = np.full(len(inputs), -1, np.int32)
        self._projected_count = 0
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._inputs)

    def __getitem__(self, numbers: npt.NDArray[np.intp], /) -> Vectors:
        """Return the multiplied vectors with the given numbers."""
        if (self._projected_rows[numbers] < 0).any():
            with self._lock:
                new = np.unique(numbers[self._projected_rows[numbers] < 0])
                start, self._projected_count = self._projected_count, self._projected_count + len(new)
                self._projected[start : self._projected_count] = self._inputs[new] @ self._matrix
                self._projected_rows[new] = np.arange(start, self._projected_count)
        projected: Vectors = self._projected[self._projected_rows[numbers]]
        return projected


class Mixer:
    """Small transformer that encodes a sequence of inputs as the mean of the transformed input vectors."""

    def __init__(self, inputs: InputVectors, weights: Mapping[str, Vectors]) -> None:
        """Create the encoder.

        `weights` contains `places` (positions), and the matrices `qkv`, `out`, `up` and `down` of each layer.
        """
        self._inputs = inputs
        self._weights = weights
        self._layers = sum(name.endswith("_qkv") for name in weights)

    @property
    def max_inputs(self) -> int:
        """Maximum number of inputs in a sequence."""
        return len(self._weights["places"])

    def encode(self, rows: Sequence[Sequence[int]], shift: Vectors | float = 0.0) -> Vectors:
        """Return one vector for each sequence of input numbers. `shift` is added to every input vector."""
        # Sequences of similar length are batched to reduce padding.
        order = sorted(range(len(rows)), key=lambda index: len(rows[index]))
        out = np.zeros((len(rows), self._weights["places"].shape[1]), np.float32)
        start = 0
        while start < len(order):
            end = start + 1
            while end < len(order) and (end + 1 - start) * len(rows[order[end]]) <= BATCH_ROWS:
                end += 1
            batch = order[start:end]
            out[batch] = self._encode_batch([rows[index] for index in batch], shift)
            start = end
        return out

    def _encode_batch(self, rows: Sequence[Sequence[int]], shift: Vectors | float) -> Vectors:
        longest = max(map(len, rows))
        numbers = np.zeros((len(rows), longest), np.intp)
        is_real = np.zeros((len(rows), longest), np.float32)
        for index, row in enumerate(rows):
            numbers[index, : len(row)] = row
            is_real[index, : len(row)] = 1.0
        weights = self._weights
        state = self._inputs[numbers] + (weights["places"][:longest] + shift)
        attention_bias = None if is_real.all() else (1.0 - is_real)[:, None, None, :] * np.float32(-1e9)
        for layer in range(self._layers):
            self._apply_layer(state, attention_bias, f"{layer}_")
        shares = is_real / is_real.sum(axis=1, keepdims=True)
        pooled: Vectors = np.einsum("nlw,nl->nw", _normalised(state), shares)
        return pooled

    def _apply_layer(self, state: Vectors, attention_bias: Vectors | None, name: str) -> None:
        """Apply self-attention and the feed-forward network to `state` in place."""
        count, length, width = state.shape
        flat = state.reshape(-1, width)
        projected = self._linear(_normalised(flat), name + "qkv")
        query, key, value = projected.reshape(count, length, 3, -1, HEAD_WIDTH).transpose(2, 0, 3, 1, 4)
        scores = query @ key.transpose(0, 1, 3, 2)
        scores *= np.float32(1 / math.sqrt(HEAD_WIDTH))
        if attention_bias is not None:
            scores += attention_bias
        scores -= scores.max(axis=-1, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(axis=-1, keepdims=True)
        attended = (scores @ value).transpose(0, 2, 1, 3).reshape(-1, width)
        flat += self._linear(attended, name + "out")
        inner = self._linear(_normalised(flat), name + "up")
        np.maximum(inner, np.float32(0), out=inner)
        flat += self._linear(inner, name + "down")

    def _linear(self, rows: Vectors, name: str) -> Vectors:
        product: Vectors = rows @ self._weights[name]
        product += self._weights[f"{name}_bias"]
        return product


def _normalised(state: Vectors) -> Vectors:
    """Scale each row to a mean square of 1."""
    mean_squares = np.einsum("...w,...w->...", state, state)[..., None] * np.float32(1 / state.shape[-1])
    scaled: Vectors = state / np.sqrt(mean_squares + _EPSILON)
    return scaled
