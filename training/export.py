"""Write a trained table of word vectors as the model files of the wheel.

python -m training.export RUN.npz VOCABULARY.txt IDENTITY [FOLDER]
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import numpy as np

from deltos.embed.identity import MODEL_FOLDER
from training.table import Table


def export(run: Path, vocabulary: Path, identity: str, folder: Path) -> None:
    """Write the table with its scales, its words, and the name of the model."""
    folder.mkdir(parents=True, exist_ok=True)
    table = Table.read(run)
    np.save(folder / "rows.npy", table.rows)
    np.save(folder / "scales.npy", table.scales)
    shutil.copyfile(vocabulary, folder / "words.txt")
    about = {"identity": identity, "dimensions": table.rows.shape[1], "words": len(table.rows)}
    (folder / "model.json").write_text(json.dumps(about, indent=1) + "\n", "utf-8")


def main() -> None:
    """Export the run that the command line names, by default into the model folder of the package."""
    run, vocabulary, identity, *folder = sys.argv[1:]
    export(Path(run), Path(vocabulary), identity, Path(folder[0]) if folder else MODEL_FOLDER)


if __name__ == "__main__":
    main()
