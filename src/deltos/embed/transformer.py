"""Forward pass of a BERT-like encoder in numpy."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import numpy.typing as npt

    from deltos.embed.protocol import Vectors

# Maximum number of word pieces per batch; larger batches exceed the CPU cache and take 1.5 times as long
BATCH_PIECES = 256


class PieceVectors(Protocol):
    """Interface of a table of word-piece vectors, such as an array."""

    def __getitem__(self, numbers: npt.NDArray[np.intp], /) -> Vectors:
        """Return the vectors with the given numbers."""


@dataclass(frozen=True, slots=True)
class Shape:
    """Architecture of an encoder: numbers of layers, attention heads and positions, and the normalisation constant."""

    layers: int
    heads: int
    epsilon: float
    positions: int


class Transformer:
    """Encoder that represents a text by the mean of its transformed word pieces."""

    def __init__(self, shape: Shape, pieces: PieceVectors, weights: Mapping[str, Vectors]) -> None:
        self.shape = shape
        self._pieces = pieces
        self._weights = weights

    @property
    def dimensions(self) -> int:
        """Number of dimensions of the vectors."""
        return int(self._weights["places"].shape[1])

    def encoded(self, rows: Sequence[Sequence[int]]) -> Vectors:
        """Return the vectors of texts, each given as a row of word-piece numbers."""
        longest = max(map(len, rows))
        numbers = np.zeros((len(rows), longest), np.intp)
        is_real = np.zeros((len(rows), longest), np.float32)
        for index, row in enumerate(rows):
            numbers[index, : len(row)] = row
            is_real[index, : len(row)] = 1.0
        weights, shape = self._weights, self.shape
        state = self._pieces[numbers] + weights["places"][:longest] + weights["kind"]
        state = _normalised(state, weights, "first", shape.epsilon)
        attention_bias = (1.0 - is_real)[:, None, None, :] * np.float32(-1e9)
        for layer in range(shape.layers):
            state = self._apply_layer(state, attention_bias, f"{layer}.")
        pooled: Vectors = (state * is_real[:, :, None]).sum(axis=1) / is_real.sum(axis=1, keepdims=True)
        return pooled

    def encoded_in_batches(self, rows: Sequence[Sequence[int]]) -> Vectors:
        """Return the vectors of many texts, in the order of the texts."""
        # Texts of similar length are batched to reduce padding.
        order = sorted(range(len(rows)), key=lambda index: len(rows[index]))
        out = np.zeros((len(rows), self.dimensions), np.float32)
        start = 0
        while start < len(order):
            end = start + 1
            while end < len(order) and (end + 1 - start) * len(rows[order[end]]) <= BATCH_PIECES:
                end += 1
            batch = order[start:end]
            out[batch] = self.encoded([rows[index] for index in batch])
            start = end
        return out

    def _apply_layer(self, state: Vectors, attention_bias: Vectors, name: str) -> Vectors:
        """Apply a layer: self-attention, then the feed-forward network."""
        weights, heads, epsilon = self._weights, self.shape.heads, self.shape.epsilon
        count, length, width = state.shape
        projected = self._linear(state.reshape(-1, width), name + "qkv")
        query, key, value = projected.reshape(count, length, 3, heads, width // heads).transpose(2, 0, 3, 1, 4)
        scores = query @ key.transpose(0, 1, 3, 2) / np.float32(math.sqrt(width // heads)) + attention_bias
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        scores /= scores.sum(axis=-1, keepdims=True)
        attended = (scores @ value).transpose(0, 2, 1, 3).reshape(-1, width)
        added = self._linear(attended, name + "out").reshape(state.shape)
        state = _normalised(state + added, weights, name + "after", epsilon)
        inner = _gelu(self._linear(state.reshape(-1, width), name + "up"))
        transformed = self._linear(inner, name + "down").reshape(state.shape)
        return _normalised(state + transformed, weights, name + "end", epsilon)

    def _linear(self, rows: Vectors, name: str) -> Vectors:
        """Multiply rows by a weight matrix and add its bias."""
        product: Vectors = rows @ self._weights[name] + self._weights[f"{name}.bias"]
        return product


def unit(vectors: Vectors) -> Vectors:
    """Scale each row to unit length. Zero rows remain zero."""
    scaled: Vectors = vectors / (np.linalg.norm(vectors, axis=1, keepdims=True) + np.float32(1e-9))
    return scaled


def read_weights(path: Path) -> dict[str, Vectors]:
    """Load the weights written by training: integers with a scale per column, or half-precision floats."""
    weights: dict[str, Vectors] = {}
    with np.load(path) as arrays:
        for name in arrays.files:
            if not name.endswith(".scales"):
                values = arrays[name].astype(np.float32)
                weights[name] = values * arrays[f"{name}.scales"] if f"{name}.scales" in arrays.files else values
    return weights


def _normalised(state: Vectors, weights: Mapping[str, Vectors], name: str, epsilon: float) -> Vectors:
    centred = state - state.mean(axis=-1, keepdims=True)
    spread = np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + np.float32(epsilon))
    result: Vectors = centred / spread * weights[name] + weights[f"{name}.bias"]
    return result


def _gelu(values: Vectors) -> Vectors:
    """Compute x·Φ(x) with an approximation of erf (Abramowitz and Stegun, 7.1.26; error below 1.5e-7)."""
    size: Vectors = np.abs(values)
    scaled = size * np.float32(math.sqrt(0.5))
    part = scaled * np.float32(0.3275911)
    part += np.float32(1)
    np.reciprocal(part, out=part)
    series = part * np.float32(1.061405429)
    for coefficient in (-1.453152027, 1.421413741, -0.284496736, 0.254829592):
        series += np.float32(coefficient)
        series *= part
    np.multiply(scaled, scaled, out=scaled)
    np.negative(scaled, out=scaled)
    series *= np.exp(scaled, out=scaled)  # `series` is now 1 - erf(|x| / √2)
    series *= size
    series *= np.float32(0.5)
    result: Vectors = np.maximum(values, np.float32(0))
    result -= series
    return result
