"""Write the encoder of observations: the encoder of export_encoder.py plus the adapter of adapter.py.

python -m training.export_memory ENCODER_FOLDER ADAPTER.npz src/deltos/embed/model
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

import numpy as np

from deltos.embed.transformer import read_weights
from training.export_distilled import quantise_weights, write_four_bit_rows


def main() -> None:
    """Write the files that deltos.embed.observation_encoder reads."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("encoder", type=Path)
    parser.add_argument("adapter", type=Path)
    parser.add_argument("model", type=Path)
    given = parser.parse_args()
    weights, adapter = read_weights(given.encoder / "weights.npz"), read_weights(given.adapter)
    for name in [name.removesuffix(".lora_a") for name in adapter if name.endswith(".lora_a")]:
        weights[name] = weights[name] + adapter.pop(f"{name}.lora_a") @ adapter.pop(f"{name}.lora_b")
    weights |= adapter
    for name in ("head.words", "head.words.bias"):
        del weights[name]
    folder = given.model / "memory"
    folder.mkdir(exist_ok=True)
    np.savez(folder / "weights.npz", allow_pickle=False, **quantise_weights(weights))
    shutil.copyfile(given.encoder / "model.json", folder / "model.json")
    scales = np.load(given.encoder / "piece_scales.npy")
    write_four_bit_rows(np.load(given.encoder / "pieces.npy").astype(np.float32) * scales[:, None], folder)


if __name__ == "__main__":
    main()
