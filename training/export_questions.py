"""Write the question encoder of distill_questions.py into the model folder of Deltos.

python -m training.export_questions STUDENT.npz src/deltos/embed/model
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from training.export_distilled import quantise_weights, write_four_bit_rows

HEADS = ("base", "docs", "memory", "words")  # in the order of the student's heads


def main() -> None:
    """Write the files that deltos.embed.bundled_encoder reads."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("student", type=Path)
    parser.add_argument("model", type=Path)
    given = parser.parse_args()
    folder = given.model / "encoder"
    with np.load(given.student) as arrays:
        weights = {name: arrays[name] for name in arrays.files}
    start = "question_mixer.matrices."
    mixer = {key.removeprefix(start): value for key, value in weights.items() if key.startswith(start)}
    mixer["places"] = weights["question_mixer.places"]
    heads = dict(zip(HEADS, weights["question_heads"], strict=True))
    heads |= {f"{name}_bias": bias for name, bias in zip(HEADS, weights["question_biases"], strict=True)}
    for name, arrays in (("mixer", mixer), ("heads", heads)):
        found = {key: value.astype(np.float32) for key, value in arrays.items()}
        np.savez(folder / f"{name}.npz", allow_pickle=False, **quantise_weights(found))
    write_four_bit_rows(weights["pieces"], folder)
    print(json.loads(str(weights["settings"])))


if __name__ == "__main__":
    main()
