"""Write a student model of distill.py into the model folder of Deltos.

    python -m training.export_distilled STUDENT.npz src/deltos/embed/model

Only the part for texts is written, for documentation and code; questions are embedded by the encoder itself.
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
DOCS, CODE = 2, 3  # the same numbers as in distill.py


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


def main() -> None:
    """Write the files that deltos.embed.encoder reads."""
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
    for number, kind in ((DOCS, "docs"), (CODE, "code")):
        heads = {"mixed": weights["text_heads"][number], "sums": weights["sum_heads"][number]}
        scale = np.array(1 / lengths.mean(), np.float32)
        shift = weights["text_mixer.domains"][number]
        np.savez(folder / f"{kind}.npz", allow_pickle=False, word_scale=scale, shift=shift, **quantise_weights(heads))
    print(settings)


if __name__ == "__main__":
    main()
