"""Kill indexing repeatedly, check for damaged files, and compare the final index with that of an undisturbed run."""

from __future__ import annotations

import argparse
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from deltos.store.sqlite.database import check_file

# Tables with these suffixes are not compared, because their rows depend on the order of writes.
_LAYOUT_SUFFIXES = ("_data", "_idx", "_config", "_docsize")


def main() -> None:
    """Run the test and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--project", type=Path, default=Path(__file__).parents[1] / "src")
    given = parser.parse_args()
    with TemporaryDirectory() as folder:
        damaged, rounds, difference = kill_and_compare(Path(folder), given.project, given.kills)
    print("| kills while indexing | completed runs | damaged files | tables that differ from an undisturbed index |")
    print("|--:|--:|--:|---|")
    print(f"| {given.kills} | {rounds} | {damaged} | {', '.join(difference) or 'nothing'} |")
    sys.exit(1 if damaged or difference else 0)


def kill_and_compare(folder: Path, project: Path, kills: int, seed: int = 11) -> tuple[int, int, list[str]]:
    """Kill indexing repeatedly.

    Return the numbers of damaged files and of completed runs, and the tables that differ.
    """
    chance, root, home = random.Random(seed), folder / "project", folder / "home"
    shutil.copytree(project, root, ignore=shutil.ignore_patterns("__pycache__"))
    sources = sorted(root.rglob("*.py"))
    started = time.monotonic()
    start_indexing(root, folder / "measured").wait()
    whole_seconds = time.monotonic() - started
    damaged = done = completed = 0
    while done < kills:
        for path in chance.sample(sources, 5):
            path.write_text(path.read_text() + f"\n\ndef added_{done}() -> int:\n    return {done}\n")
        indexing = start_indexing(root, home)
        try:
            indexing.wait(chance.uniform(0.1, 1.0) * whole_seconds)
        except subprocess.TimeoutExpired:
            indexing.kill()
            indexing.wait()
            done += 1
            damaged += sum(bool(check_file(path)) for path in home.rglob("*.db"))
        else:
            completed += 1
            shutil.rmtree(home)  # Start again with an empty folder for the undisturbed run.
    start_indexing(root, home).wait()
    start_indexing(root, folder / "undisturbed").wait()
    return damaged, completed, differing_tables(count_rows(home), count_rows(folder / "undisturbed"))


def start_indexing(root: Path, home: Path) -> subprocess.Popen[bytes]:
    """Start a process that indexes a project."""
    command = [sys.executable, "-P", "-m", "deltos", "index", str(root)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, env={**os.environ, "DELTOS_HOME": str(home)})


def count_rows(home: Path) -> dict[str, int]:
    """Return the number of rows of each table of the project index, by table name."""
    counts = {}
    for path in home.rglob("*.db"):
        connection = sqlite3.connect(path)
        names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for name in names:
            if not name.endswith(_LAYOUT_SUFFIXES) and not name.startswith("sqlite_"):
                (count,) = connection.execute(f"SELECT count(*) FROM [{name}]").fetchone()
                counts[f"{path.parent.name}/{name}"] = count
        connection.close()
    return counts


def differing_tables(one: dict[str, int], other: dict[str, int]) -> list[str]:
    """Return the tables whose numbers of rows differ between two indexes."""
    return sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name))


if __name__ == "__main__":
    main()
