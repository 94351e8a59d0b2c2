"""Local documentation: which files of an allowed folder are read, and never one outside of it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from deltos.confinement import told
from deltos.errors import AddressRefused, NotFound, SourceError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

MAX_FILE_BYTES = 20_000_000
MAX_DESCRIPTION_BYTES = 100_000_000  # an API description is one file, however large the API
_SKIPPED_FOLDERS = frozenset(("node_modules", "__pycache__", "venv", ".venv", "site-packages", "_sources", "_static"))


def allowed_path(path: Path, roots: Sequence[Path]) -> Path:
    """The real path of an existing file or folder below one of `roots`; refuses everything else."""
    real = path.expanduser().resolve()
    if not any(real.is_relative_to(root.resolve()) for root in roots):
        raise AddressRefused(
            f"{told(str(path))} is outside of the folders that may be read",
            hint="Add its folder to DELTOS_DOCS_ROOTS, or add it from the command line: deltos docs add.",
        )
    if not real.exists():
        raise NotFound(
            f"No such file or folder: {told(str(path))}", hint="Check the path; a relative one starts at the project."
        )
    return real


def walk_files(root: Path, suffixes: Collection[str]) -> Iterator[Path]:
    """Readable files below `root` with one of `suffixes`, in a stable order; links that lead outside are left out."""
    if root.is_file():
        yield root
        return
    for folder, names, files in os.walk(root):
        names[:] = sorted(name for name in names if not name.startswith(".") and name not in _SKIPPED_FOLDERS)
        for name in sorted(files):
            path = Path(folder, name)
            if path.suffix.lower() in suffixes and path.resolve().is_relative_to(root):
                yield path


def read_file(path: Path, max_bytes: int = MAX_FILE_BYTES) -> bytes:
    """The bytes of a file; refuses what is too large, vanished or unreadable."""
    try:
        size = path.stat().st_size
        if size > max_bytes:
            raise SourceError(f"The file is larger than {max_bytes // 1_000_000} MB")
        return path.read_bytes()
    except OSError as exc:
        raise SourceError(f"Cannot read the file ({exc.strerror})") from exc
