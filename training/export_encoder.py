"""Write the output of encoder.py into the model folder of Deltos, quantised to int8.

    python -m training.export_encoder LEARNED_FOLDER ENCODER_FOLDER src/deltos/embed/model

LEARNED_FOLDER is the output of encoder.py, ENCODER_FOLDER has the published files of all-MiniLM-L6-v2.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from deltos.embed.bundled_encoder import MAX_TEXT_PIECES
from deltos.embed.transformer import Shape
from training.table import Table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deltos.embed.protocol import Vectors

API_MODEL_IDENTITY = "deltos-static-4/apis-4"
READER_LAYERS, READER_HEADS, READER_WORDS, READER_WORDS_OF_CODE = 2, 4, 40, 80
MAX_CHANGED_WORDS = 9_000  # only the words whose vectors changed most get a separate vector for APIs
_MAX_INT8 = 127
_EPSILON = 1e-12


def read_weights(path: Path) -> dict[str, Vectors]:
    """Read the weights of encoder.py. Integers have a scale for each row, stored under the same name plus `#`."""
    with np.load(path) as arrays:
        return {
            name: arrays[name].astype(np.float32) * (arrays[f"{name}#"][:, None] if f"{name}#" in arrays.files else 1)
            for name in arrays.files
            if not name.endswith("#")
        }


def write_weights(weights: Mapping[str, Vectors], path: Path) -> None:
    """Write matrices as integers with a scale for each column, and other weights in half precision."""
    arrays: dict[str, Any] = {}
    for name, values in weights.items():
        if values.ndim == 2 and name != "places":
            scales = np.abs(values).max(axis=0) / _MAX_INT8 + 1e-12
            arrays[name] = np.round(values / scales).astype(np.int8)
            arrays[f"{name}.scales"] = scales.astype(np.float32)
        else:
            arrays[name] = values.astype(np.float16)
    np.savez(path, allow_pickle=False, **arrays)


def convert_weights(given: Mapping[str, Vectors], shape: Shape) -> dict[str, Vectors]:
    """Convert the weights of a published model to the names and layout of `deltos.embed.transformer`."""
    short = {name.removeprefix("bert."): value for name, value in given.items()}
    found = {
        "places": short["embeddings.position_embeddings.weight"],
        "kind": short["embeddings.token_type_embeddings.weight"][0],
        "first": short["embeddings.LayerNorm.weight"],
        "first.bias": short["embeddings.LayerNorm.bias"],
    }
    for layer in range(shape.layers):
        prefix, name = f"encoder.layer.{layer}.", f"{layer}."
        parts = [f"{prefix}attention.self.{part}" for part in ("query", "key", "value")]
        found[name + "qkv"] = np.ascontiguousarray(np.concatenate([short[f"{part}.weight"] for part in parts]).T)
        found[name + "qkv.bias"] = np.concatenate([short[f"{part}.bias"] for part in parts])
        for ours, theirs in (
            ("out", "attention.output.dense"),
            ("up", "intermediate.dense"),
            ("down", "output.dense"),
        ):
            found[name + ours] = np.ascontiguousarray(short[f"{prefix}{theirs}.weight"].T)
            found[f"{name}{ours}.bias"] = short[f"{prefix}{theirs}.bias"]
        for ours, theirs in (("after", "attention.output.LayerNorm"), ("end", "output.LayerNorm")):
            found[name + ours] = short[f"{prefix}{theirs}.weight"]
            found[f"{name}{ours}.bias"] = short[f"{prefix}{theirs}.bias"]
    return found


def write_encoder(learned: Path, published: Path, folder: Path) -> None:
    """Write the encoder without the word pieces that never occur in English text."""
    folder.mkdir(parents=True, exist_ok=True)
    config = json.loads((published / "config.json").read_text("utf-8"))
    about = {
        "layers": config["num_hidden_layers"],
        "attention_heads": config["num_attention_heads"],
        "epsilon": config["layer_norm_eps"],
    }
    given = read_weights(learned / "enc_weights.npz")
    heads = {name: given[name] for name in ("head.texts", "head.words", "head.words.bias")}
    shape = Shape(about["layers"], about["attention_heads"], about["epsilon"], config["max_position_embeddings"])
    weights = {**convert_weights(given, shape), **heads}
    weights["places"] = weights["places"][:MAX_TEXT_PIECES]
    write_weights(weights, folder / "weights.npz")
    vocabulary = (published / "vocab.txt").read_text("utf-8").split("\n")[: config["vocab_size"]]
    kept = [n for n, piece in enumerate(vocabulary) if piece.isascii() and not piece.startswith("[unused")]
    with np.load(learned / "enc_pieces.npz") as pieces:
        np.save(folder / "pieces.npy", pieces["rows"][kept])
        np.save(folder / "piece_scales.npy", pieces["scales"][kept].astype(np.float32))
    (folder / "pieces.txt").write_text("\n".join(vocabulary[n] for n in kept), "utf-8")
    (folder / "model.json").write_text(json.dumps(about, indent=1) + "\n", "utf-8")


def write_apis(learned: Path, table: Path, folder: Path) -> None:
    """Write the word vectors that differ for APIs, and the transformer that uses them."""
    folder.mkdir(parents=True, exist_ok=True)
    stored = Table(np.load(table / "rows.npy"), np.load(table / "scales.npy"))
    with np.load(learned / "table.npz") as changed:
        vectors = changed["rows"] * changed["scales"][:, None]
        by = np.linalg.norm(vectors - stored.vectors()[changed["numbers"]], axis=1)
        most = np.sort(np.argsort(-by)[:MAX_CHANGED_WORDS])
        np.save(folder / "numbers.npy", changed["numbers"][most].astype(np.int32))
        np.save(folder / "rows.npy", changed["rows"][most])
        np.save(folder / "scales.npy", changed["scales"][most].astype(np.float32))
    reader = write_reader(learned / "reader_apis.npz", READER_WORDS, stored, folder)
    about = {"identity": API_MODEL_IDENTITY, "words": len(most), "reader": reader}
    (folder / "model.json").write_text(json.dumps(about, indent=1) + "\n", "utf-8")


def write_code(learned: Path, table: Path, folder: Path) -> None:
    """Write the transformer for chunks of code."""
    folder.mkdir(parents=True, exist_ok=True)
    stored = Table(np.load(table / "rows.npy"), np.load(table / "scales.npy"))
    reader = write_reader(learned / "reader_code.npz", READER_WORDS_OF_CODE, stored, folder)
    (folder / "model.json").write_text(json.dumps({"reader": reader}, indent=1) + "\n", "utf-8")


def write_reader(learned: Path, words: int, table: Table, folder: Path) -> dict[str, float]:
    """Write a transformer and its settings. It reads `words` words of a text through the given table."""
    given = read_weights(learned)
    shape = Shape(READER_LAYERS, READER_HEADS, _EPSILON, words)
    weights = convert_weights(given, shape)
    weights["places"] = weights["places"][:words]
    for ours, theirs in (("sum", "map"), ("read", "out")):
        weights[ours] = np.ascontiguousarray(given[f"{theirs}.weight"].T)
        weights[f"{ours}.bias"] = given[f"{theirs}.bias"]
    write_weights(weights, folder / "reader.npz")
    mean_length = float(np.linalg.norm(table.vectors(), axis=1).mean())
    return {
        "layers": READER_LAYERS,
        "attention_heads": READER_HEADS,
        "epsilon": _EPSILON,
        "usual_length": mean_length,
    }


def main() -> None:
    """Write all three models."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("learned", type=Path)
    parser.add_argument("encoder", type=Path)
    parser.add_argument("out", type=Path)
    arguments = parser.parse_args()
    write_encoder(arguments.learned, arguments.encoder, arguments.out / "encoder")
    write_apis(arguments.learned, arguments.out, arguments.out / "apis")
    write_code(arguments.learned, arguments.out, arguments.out / "code")


if __name__ == "__main__":
    main()
