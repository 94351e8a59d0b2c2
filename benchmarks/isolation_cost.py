"""What safety costs: one version of Deltos beside another, over the same repository and in turns.

    python -m benchmarks.isolation_cost [--runs N] FOLDER NAME=PYTHON NAME=PYTHON …

PYTHON is the interpreter of an environment that has that version. FOLDER is copied and made a git repository of one
commit. CPU time counts all processes; memory is the most that all of them held at one time. Medians of N runs.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.places import REPOSITORY
from benchmarks.processes import cpu_seconds_with_children, measure

if TYPE_CHECKING:
    from collections.abc import Callable

RUNS = 5
EDITS = 10
ROWS = {
    "index_cpu": "first index, CPU s",
    "index_wall": "first index, wall s",
    "index_mb": "first index, peak MB",
    "edit_cpu": "a body edited, server asked, CPU ms",
    "edit_wall": "a body edited, server asked, wall ms",
    "interface_cpu": "a name added, server asked, CPU ms",
    "walk_cpu": "list the files, CPU ms",
    "review_cpu": "prompt review_impact, CPU ms",
    "review_wall": "prompt review_impact, wall ms",
    "idle_mb": "held by children a moment after, MB",
}


def main() -> None:
    """Print one row per thing measured and one column per version."""
    if sys.argv[1:2] == ["--probe"]:
        print(json.dumps(probe(*map(Path, sys.argv[2:]))))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("versions", nargs="+", metavar="NAME=PYTHON")
    given = parser.parse_args()
    versions = dict(version.split("=", 1) for version in given.versions)
    results: dict[str, list[dict[str, float]]] = {name: [] for name in versions}
    with tempfile.TemporaryDirectory() as scratch:
        project = repository(given.folder, Path(scratch, "project"))
        for run in range(given.runs):
            for name, python in versions.items():
                home = Path(scratch, f"{name}-{run}")
                results[name].append(once(Path(python), project, home))
                print(name, results[name][-1], file=sys.stderr, flush=True)
                shutil.rmtree(home)
    print(f"| {given.folder.name} | {' | '.join(versions)} |\n|---|{'--:|' * len(versions)}")
    for row, title in ROWS.items():
        medians = [statistics.median(result[row] for result in results[name]) for name in versions]
        print(f"| {title} | {' | '.join(f'{median:.3g}' for median in medians)} |")


def repository(folder: Path, copy: Path) -> Path:
    """A copy of a folder with one commit."""
    shutil.copytree(folder, copy, symlinks=True)
    git = ["git", "-C", str(copy), "-c", "user.name=a", "-c", "user.email=a@b.example", "-c", "core.autocrlf=false"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "all"]):
        subprocess.run([*git, *words], check=True, capture_output=True)
    return copy


def once(python: Path, project: Path, home: Path) -> dict[str, float]:
    """Index with the command, then measure the rest in a process that has the index."""
    started = time.perf_counter()
    cost = measure([python, "-P", "-m", "deltos", "index", project], {"DELTOS_HOME": str(home), "DELTOS_EMBED": "off"})
    wall = time.perf_counter() - started
    command = [python, "-m", "benchmarks.isolation_cost", "--probe", project, home]
    rest = subprocess.run(list(map(str, command)), cwd=REPOSITORY, check=True, stdout=subprocess.PIPE)
    return {
        "index_cpu": cost.cpu_seconds,
        "index_wall": wall,
        "index_mb": cost.peak_bytes / 1e6,
        **json.loads(rest.stdout.splitlines()[-1]),
    }


def probe(project: Path, home: Path) -> dict[str, float]:
    """Everything but the first index, in this process; only names that every version has."""
    from deltos.app import App
    from deltos.config import Config
    from deltos.workspace.walk import walk

    app: Any = App(Config(home=home))
    index = getattr(app, "domains", app).projects.at(project)  # of older versions the app itself has them
    index.index()
    edited = max(project.rglob("*.py"), key=lambda path: path.stat().st_size if path.stat().st_size < 50_000 else 0)
    before = edited.read_text("utf-8")
    try:
        bodies = [timed(index.index, edited, f"{before}\n# {number}\n") for number in range(EDITS)]
        names = [timed(index.index, edited, f"{before}\nadded_{number} = 1\n") for number in range(EDITS)]
        walks = [timed(lambda: walk(project)) for _ in range(EDITS)]
        review = reviewer(app, project)
        reviews = [timed(review) for _ in range(EDITS)]
        idle_mb = children_mb()
    finally:
        edited.write_text(before, "utf-8")
        app.close()
    return {
        "edit_cpu": middle(bodies, 0),
        "edit_wall": middle(bodies, 1),
        "interface_cpu": middle(names, 0),
        "walk_cpu": middle(walks, 0),
        "review_cpu": middle(reviews, 0),
        "review_wall": middle(reviews, 1),
        "idle_mb": idle_mb,
    }


def reviewer(app: Any, project: Path) -> Callable[[], Any]:
    """Writes the prompt for the project."""
    from deltos.progress import Silent
    from deltos.server.conversation import Conversation
    from deltos.tool import Call

    (prompt,) = [each for each in app.prompts() if each.name == "review_impact"]
    session = Conversation(project)
    return lambda: prompt.write(Call({"base": ""}, session, Silent()))


def timed(act: Callable[[], Any], file: Path | None = None, text: str = "") -> tuple[float, float]:
    """CPU and wall-clock milliseconds of an act, after writing a text into a file."""
    if file is not None:
        file.write_text(text, "utf-8")
    cpu, wall = cpu_seconds_with_children(), time.perf_counter()
    act()
    return (cpu_seconds_with_children() - cpu) * 1e3, (time.perf_counter() - wall) * 1e3


def middle(pairs: list[tuple[float, float]], part: int) -> float:
    """The median of CPU (0) or wall-clock time (1)."""
    return statistics.median(pair[part] for pair in pairs)


def children_mb() -> float:
    """The memory of this process's children."""
    listings = [path.read_text().split() for path in Path("/proc/self/task").glob("*/children")]
    pages = [int(Path("/proc", pid, "statm").read_text().split()[1]) for pids in listings for pid in pids]
    return sum(pages) * 4096 / 1e6


if __name__ == "__main__":
    main()
