"""Run semble without its model, with BM25 and its ranking only. Needs an environment with semble.

    python semble_words.py index FOLDER
    python semble_words.py search FOLDER < questions

Reads one question per line and prints a JSON list of paths per line.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from semble.index.create import create_index_from_path  # type: ignore[import-not-found]
from semble.search import search  # type: ignore[import-not-found]

MAX_RESULTS = 10


class ConstantModel:
    """An embedding model that takes no time, because it returns the same vector for every text."""

    dim = 1

    def encode(self, texts: list[str], **_options: object) -> np.ndarray[Any, np.dtype[np.float32]]:
        """Return one constant vector per text."""
        return np.ones((len(texts), self.dim), np.float32)


def main() -> None:
    """Build an index in memory, then answer the questions."""
    action, folder = sys.argv[1], Path(sys.argv[2]).resolve()
    words, vectors, chunks, _ = create_index_from_path(folder, ConstantModel(), display_root=folder)
    if action == "search":
        for line in sys.stdin:
            found = search(line.strip(), ConstantModel(), vectors, words, chunks, MAX_RESULTS, alpha=0.0)
            print(json.dumps([result.chunk.file_path for result in found]), flush=True)


if __name__ == "__main__":
    main()
