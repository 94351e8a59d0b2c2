"""Write a student model of distill.py into the model folder of Deltos.

    python -m training.export_distilled STUDENT.npz src/deltos/embed/model

Only the part for code is written; all other texts are embedded by the encoder of distill_questions.py.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from deltos.embed.protocol import Vectors

_MAX_INT8 = 127
_PEAK_SHARES = (1, 0.85, 0.7, 0.55, 0.45)  # tried as the largest number of a row, relative to its maximum
CODE = 3  # as in distill.py


def quantise_weights(weights: dict[str, Vectors]) -> dict[str, Any]:
    """Return matrices as integers with a scale per column, and other weights as half-precision floats."""
    arrays: dict[str, Any] = {}
    for name, values in weights.items():
        if values.ndim == 2 and name != "places":
            scales = np.abs(values).max(axis=0) / _MAX_INT8 + 1e-12
            arrays[name] = np.round(values / scales).astype(np.int8)
            arrays[f"{name}.scales"] = scales.astype(np.float32)
        else:
            arrays[name] = values.astype(np.float16)
    return arrays


def write_four_bit_rows(rows: Vectors, folder: Path) -> None:
    """Write vectors of word pieces as integers of four bits with a scale each.

    The scale of a row is the one with the smallest error; the largest numbers of a row may be cut off.
    """
    peaks = np.abs(rows).max(axis=1, keepdims=True)
    found, scales = np.zeros_like(rows), np.zeros_like(peaks)
    errors = np.full_like(peaks, np.inf)
    for share in _PEAK_SHARES:
        scale = peaks * share / 7 + 1e-12
        numbers = np.clip(np.round(rows / scale), -8, 7)
        error = ((numbers * scale - rows) ** 2).sum(axis=1, keepdims=True)
        is_better = error < errors
        found, scales = np.where(is_better, numbers, found), np.where(is_better, scale, scales)
        errors = np.minimum(errors, error)
    shifted, half = (found + 8).astype(np.uint8), rows.shape[1] // 2
    np.save(folder / "pieces.npy", shifted[:, :half] | (shifted[:, half:] << 4))
    np.save(folder / "piece_scales.npy", scales[:, 0].astype(np.float32))


def main() -> None:
    """Write the files that deltos.embed.chunk_encoder reads."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("student", type=Path)
    parser.add_argument("model", type=Path)
    given = parser.parse_args()
    folder = given.model / "passages"
    folder.mkdir(exist_ok=True)
    with np.load(given.student) as arrays:
        settings = json.loads(str(arrays["settings"]))
        weights = {name: arrays[name].astype(np.float32) for name in arrays.files if name not in ("settings", "pieces")}
    start = "text_mixer.matrices."
    mixer = {key.removeprefix(start): value for key, value in weights.items() if key.startswith(start)}
    mixer |= {"places": weights["text_mixer.places"], "project": weights["project"]}
    np.savez(folder / "mixer.npz", allow_pickle=False, **quantise_weights(mixer))
    lengths = np.linalg.norm(np.load(given.model / "rows.npy") * np.load(given.model / "scales.npy")[:, None], axis=1)
    heads = {"mixed": weights["text_heads"][CODE], "sums": weights["sum_heads"][CODE]}
    scale = np.array(1 / lengths.mean(), np.float32)
    shift = weights["text_mixer.domains"][CODE]
    np.savez(folder / "code.npz", allow_pickle=False, word_scale=scale, shift=shift, **quantise_weights(heads))
    print(settings)


if __name__ == "__main__":
    main()
