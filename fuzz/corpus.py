"""Initial inputs: committed seeds and regressions, files of this repository, of installed packages and of given folders."""

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


def regression_inputs(target: Target) -> list[Path]:
    """Return the inputs that once failed on the target."""
    folder = REGRESSIONS / target.name
    return sorted(folder.iterdir()) if folder.is_dir() else []


def committed_inputs(target: Target) -> list[bytes]:
    """Return the inputs that are the same on every machine; the empty input is always among them."""
    paths: list[Path] = []
    for place in target.seeds:
        if "*" in place or "." in place:
            paths += sorted(ROOT.glob(place))
        else:
            paths += sorted((SEEDS / place).iterdir())
    paths += regression_inputs(target)
    return [path.read_bytes()[: target.max_bytes] for path in paths if path.is_file()] or [b""]


def sample_files(target: Target, folders: Sequence[Path], rng: Random) -> list[bytes]:
    """Return random small files with the target's suffixes, from this repository, installed packages and `folders`."""
    if not target.suffixes:
        return []
    paths = [
        path
        for folder in (ROOT, *installed_folders(), *folders)
        for path in _list_files(folder)
        if path.endswith(target.suffixes)
    ]
    rng.shuffle(paths)
    return list(_read_small_files(paths))


def installed_folders() -> list[Path]:
    """Return the folders of installed packages and of the standard library."""
    return [Path(path) for path in (*site.getsitepackages(), *_pth_folders(), sysconfig.get_path("stdlib"))]


def _pth_folders() -> Iterable[str]:
    """Return the folders that .pth files add to this environment."""
    for folder in site.getsitepackages():
        for link in sorted(Path(folder).glob("*.pth")):
            yield from (line for line in link.read_text("utf-8").splitlines() if Path(line).is_dir())


@cache
def _list_files(folder: Path) -> tuple[str, ...]:
    listed: list[str] = []
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED)
        listed += [f"{place}/{name}" for name in sorted(files)]
    return tuple(listed)


def _read_small_files(paths: Iterable[str]) -> Iterable[bytes]:
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
