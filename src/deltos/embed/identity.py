"""Which model is in the wheel, told without opening it (that takes numpy)."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

MODEL_FOLDER = Path(__file__).with_name("model")
APIS_FOLDER = MODEL_FOLDER / "apis"  # words that mean something else to those who ask for an operation
CODE_FOLDER = MODEL_FOLDER / "code"
MEMORY_FOLDER = MODEL_FOLDER / "memory"
DOCS_FOLDER = MODEL_FOLDER / "docs"
READER_FILE = "reader.npz"  # in each of them: what reads words together
ENCODER_FOLDER = MODEL_FOLDER / "encoder"  # what reads texts and questions as a whole
ADAPTER_FILE = "adapter.npz"  # how the encoder is changed for some kind of text


@cache
def model_identity() -> str:
    """The name of the model in the wheel."""
    identity: str = json.loads((MODEL_FOLDER / "model.json").read_text("utf-8"))["identity"]
    return identity
