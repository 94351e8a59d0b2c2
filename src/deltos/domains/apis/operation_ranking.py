"""Rank operations with weights learned by `benchmarks/train_api_ranker.py`."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from deltos.domains.apis.features import OperationFeatures

if TYPE_CHECKING:
    from deltos.embed.protocol import Vectors

WEIGHTS_FILE = Path(__file__).with_name("operation_weights.json")


def score_operations(rows: Vectors) -> list[float]:
    """Return a score for each row of `OperationFeatures`; only scores of the same query are comparable."""
    scores: list[float] = (rows @ _weights()).tolist()
    return scores


@cache
def _weights() -> Vectors:
    """Return the learned weights, in the order of the fields of `OperationFeatures`."""
    stored = json.loads(WEIGHTS_FILE.read_text("utf-8"))["weights"]
    return np.array([stored[name] for name in OperationFeatures._fields], np.float32)
