"""Temporary copy of `memory.db` that is read if the folder of `memory.db` is not writable.

SQLite cannot read a write-ahead log without creating files next to it, and a file with an older schema must be migrated
first.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from deltos.files import HELD_FILES, FileTree
from deltos.store.sqlite.database import back_up_file

if TYPE_CHECKING:
    from deltos.errors import StoreUnwritable

_BLOCK_BYTES = 1_000_000


class ReadableCopy:
    """Copy of `memory.db` and its log in a temporary folder. `write_error` is raised by attempts to write."""

    def __init__(self, path: Path, write_error: StoreUnwritable) -> None:
        self.write_error = write_error
        self._folder = tempfile.TemporaryDirectory(prefix="deltos-read-only-")
        self.path = Path(self._folder.name) / path.name
        if HELD_FILES.holds(path.stat()):
            back_up_file(path, self.path)
            return
        with FileTree(path.parent.resolve()) as tree:
            for name in (path.name, f"{path.name}-wal"):
                if tree.is_file(name):
                    self._copy_file(tree, name)

    def _copy_file(self, tree: FileTree, name: str) -> None:
        with (self.path.parent / name).open("wb") as out:
            for piece in tree.pieces(name, _BLOCK_BYTES):
                out.write(piece)

    def remove(self) -> None:
        """Delete the copy."""
        self._folder.cleanup()
