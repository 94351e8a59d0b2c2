"""semble with words only: its BM25 and its ranking, without the model. Runs in an environment that has semble.

python semble_words.py index FOLDER
python semble_words.py search FOLDER < questions    (one per line; answers with a JSON list of paths per line)
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from semble.index.create import create_index_from_path  # type: ignore[import-not-found]
from semble.search import search  # type: ignore[import-not-found]

TOP = 10


class NoModel:
    """Stands where semble expects a model: every text has the same vector, which costs nothing."""

    dim = 1

    def encode(self, texts: list[str], **_options: object) -> np.ndarray[Any, np.dtype[np.float32]]:
        """One vector for each text."""
        return np.ones((len(texts), self.dim), np.float32)


def main() -> None:
    """Build an index in memory; then answer what is asked."""
    action, folder = sys.argv[1], Path(sys.argv[2]).resolve()
    words, vectors, chunks, _ = create_index_from_path(folder, NoModel(), display_root=folder)
    if action == "search":
        for line in sys.stdin:
            found = search(line.strip(), NoModel(), vectors, words, chunks, TOP, alpha=0.0)
            print(json.dumps([result.chunk.file_path for result in found]), flush=True)


if __name__ == "__main__":
    main()
