"""Initial inputs: committed seeds and regressions, the repository's own files, installed packages, given folders."""

from __future__ import annotations

import os
import site
import sysconfig
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from fuzz.oracle import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from random import Random

    from fuzz.target import Target

FOLDER = Path(__file__).parent
SEEDS = FOLDER / "seeds"
REGRESSIONS = FOLDER / "regressions"
MAX_SEED_BYTES = 16_000
MAX_REAL_FILES = 150
_SKIPPED = frozenset((".git", "node_modules", "__pycache__", ".mypy_cache", ".venv", "findings"))


def regressions(target: Target) -> list[Path]:
    """Inputs that once failed on the target."""
    folder = REGRESSIONS / target.name
    return sorted(folder.iterdir()) if folder.is_dir() else []


def committed(target: Target) -> list[bytes]:
    """Inputs that are the same on every machine; at least the empty one."""
    paths: list[Path] = []
    for place in target.seeds:
        if "*" in place or "." in place:
            paths += sorted(ROOT.glob(place))
        else:
            paths += sorted((SEEDS / place).iterdir())
    paths += regressions(target)
    return [path.read_bytes()[: target.max_bytes] for path in paths if path.is_file()] or [b""]


def sample_files(target: Target, folders: Sequence[Path], rng: Random) -> list[bytes]:
    """Random small files with the target's suffixes, from this repository and from installed packages."""
    if not target.suffixes:
        return []
    paths = [
        path for folder in (ROOT, *installed(), *folders) for path in _listed(folder) if path.endswith(target.suffixes)
    ]
    rng.shuffle(paths)
    return list(_small(paths))


def installed() -> list[Path]:
    """Folders of installed packages and of the standard library."""
    return [Path(path) for path in (*site.getsitepackages(), *_linked(), sysconfig.get_path("stdlib"))]


def _linked() -> Iterable[str]:
    """Folders added by .pth files of this environment."""
    for folder in site.getsitepackages():
        for link in sorted(Path(folder).glob("*.pth")):
            yield from (line for line in link.read_text("utf-8").splitlines() if Path(line).is_dir())


@cache
def _listed(folder: Path) -> tuple[str, ...]:
    listed: list[str] = []
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED)
        listed += [f"{place}/{name}" for name in sorted(files)]
    return tuple(listed)


def _small(paths: Iterable[str]) -> Iterable[bytes]:
    taken = 0
    for path in paths:
        try:
            if not 0 < Path(path).stat().st_size <= MAX_SEED_BYTES:
                continue
            data = Path(path).read_bytes()
        except OSError:
            continue
        yield data
        taken += 1
        if taken == MAX_REAL_FILES:
            return
