"""Identity and folders of the bundled model.

They are available without importing numpy.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

MODEL_FOLDER = Path(__file__).with_name("model")
APIS_FOLDER = MODEL_FOLDER / "apis"  # folder of the word-vector overrides for API texts
DISTILLED_WEIGHTS_FILE = "reader.npz"  # file with the weights of the distilled API encoder
PASSAGES_FOLDER = MODEL_FOLDER / "passages"
MEMORY_FOLDER = MODEL_FOLDER / "memory"
ENCODER_FOLDER = MODEL_FOLDER / "encoder"  # folder of the encoder of texts and questions
ENCODER_VERSION = "deltos-encoder-5"  # version to increase whenever the vectors of an encoder change


@cache
def model_identity() -> str:
    """Return the identity (name and version) of the bundled model."""
    identity: str = json.loads((MODEL_FOLDER / "model.json").read_text("utf-8"))["identity"]
    return identity
