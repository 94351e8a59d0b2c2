"""Measure what a second worktree of a repository costs: CPU time and index size, next to its first worktree.

    TMPDIR=FOLDER_ON_BTRFS python -m benchmarks.worktrees [FOLDER]

Uses the sources of Django, or of FOLDER, as a repository with one commit. Each further worktree has 50 changed files.
The last column is the used space of the disk, which is smaller on file systems with copy-on-write.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.index_speed import PACKAGES, index_command
from benchmarks.packages import unpack_wheel
from benchmarks.processes import measure

WORKTREES = 3
CHANGED_FILES = 50
MIN_BYTES = 200  # only files of at least this size are changed
_IDENTITY = ("-c", "user.name=benchmark", "-c", "user.email=benchmark@localhost", "-c", "commit.gpgsign=false")


def main() -> None:
    """Print one row per worktree."""
    source = Path(sys.argv[1]) if len(sys.argv) > 1 else unpack_wheel(PACKAGES[0])
    print("| worktree | changed files | CPU-seconds | index | disk |")
    print("|---|--:|--:|--:|--:|")
    with tempfile.TemporaryDirectory() as scratch:
        first, home = Path(scratch, "first"), Path(scratch, "home")
        shutil.copytree(source, first, ignore=shutil.ignore_patterns(".git"))
        git(first, "init", "--quiet")
        git(first, "add", "--all")
        git(first, "commit", "--quiet", "--message=first")
        git(first, "update-index", "--refresh")
        print_row("first", 0, first, home)
        for number in range(1, WORKTREES + 1):
            root = first.with_name(f"tree{number}")
            git(first, "worktree", "add", "--quiet", str(root))
            changed = change_files(root)
            print_row(f"further {number}", changed, root, home)


def git(folder: Path, *words: str) -> None:
    """Run git."""
    subprocess.run(["git", *_IDENTITY, *words], cwd=folder, check=True)


def change_files(root: Path) -> int:
    """Append a function to Python files, evenly spread; return their number."""
    files = [file for file in sorted(root.rglob("*.py")) if file.stat().st_size > MIN_BYTES]
    chosen = files[:: max(1, len(files) // CHANGED_FILES)][:CHANGED_FILES]
    for number, file in enumerate(chosen):
        file.write_text(f"{file.read_text()}\n\ndef added_{number}():\n    return {number}\n")
    return len(chosen)


def print_row(name: str, changed: int, root: Path, home: Path) -> None:
    """Index a worktree, and print the time and disk space that this needs."""
    size_before, used_before = size_of(home), used_space(home)
    cost = measure(index_command(root), {"DELTOS_HOME": os.fspath(home)})
    size, used = (size_of(home) - size_before) / 1e6, (used_space(home) - used_before) / 1e6
    print(f"| {name} | {changed} | {cost.cpu_seconds:.1f} | {size:.0f} MB | {used:.0f} MB |", flush=True)


def used_space(home: Path) -> int:
    """Return the number of used bytes on the disk with the data folder."""
    os.sync()
    return shutil.disk_usage(home.parent).used


def size_of(home: Path) -> int:
    """Return the size of all files of a data folder in bytes."""
    return sum(file.stat().st_size for file in home.rglob("*") if file.is_file())


if __name__ == "__main__":
    main()
