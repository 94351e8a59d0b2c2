"""Measure speed and memory use of indexing Django and SymPy, next to Universal Ctags and semble, and the cost of
one changed file.

    python -m benchmarks.index_speed [whole] [change]

Speed is lines per second of CPU time, children included. semble runs without its model and stores no index; ctags
writes its tags file. Peak memory is the sum over all processes. The second table is the cost of one changed file in
Django.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.packages import unpack_wheel
from benchmarks.paths import REPOSITORY, SCRATCH
from benchmarks.processes import Cost, environment_with, measure
from deltos.app import App
from deltos.config import Config
from deltos.domains.code.index import CodeIndexer
from deltos.store.sqlite.projects import SqliteProjects
from deltos.workspace.projects import Projects

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

PACKAGES = ("django==5.1.4", "sympy==1.13.3")
SEMBLE = "semble==0.7.0"
CHANGED_FILES = ("django/utils/text.py", "django/db/models/query.py")
"""A file of typical size (470 lines), and one of the largest (2,700 lines)."""
RUNS_PER_INDEXER = 3


def main() -> None:
    """Print both tables. In a child process, only index one folder for code search."""
    if sys.argv[1:2] == ["--code-only"]:
        folder, home = map(Path, sys.argv[2:])
        open_code_index(home).index_of(folder).index()
        return
    tables = sys.argv[1:] or ["whole", "change"]
    if "whole" in tables:
        print_speed(make_source_folder("speed", PACKAGES))
        print()
    if "change" in tables:
        print_change(make_source_folder("change", PACKAGES[:1]))


def make_source_folder(name: str, packages: tuple[str, ...]) -> Path:
    """Create a folder with the sources of packages."""
    target = SCRATCH / name
    for requirement in packages:
        package = requirement.partition("=")[0]
        if not (target / package).exists():
            shutil.copytree(unpack_wheel(requirement) / package, target / package)
    return target


def open_code_index(home: Path) -> Projects:
    """Return projects that are indexed for code search only."""
    return Projects(SqliteProjects(home), (CodeIndexer(),))


def print_speed(folder: Path) -> None:
    """Print the cost of a first index: the best of a few runs."""
    lines = line_count(folder)
    costs = {name: best_run(run, folder) for name, run in indexers().items()}
    ours = costs["deltos, code search"]
    print(f"{lines:,} lines of Python and templates\n")
    print("| indexer | CPU-seconds | lines per CPU-second | Deltos' code search is | peak memory |")
    print("|---|--:|--:|--:|--:|")
    for name, cost in costs.items():
        ratio = cost.cpu_seconds / ours.cpu_seconds
        print(
            f"| {name} | {cost.cpu_seconds:.1f} | {lines / cost.cpu_seconds:,.0f} | {ratio:.2f} × as fast "
            f"| {cost.peak_bytes / 1e6:.0f} MB |"
        )


def indexers() -> dict[str, Callable[[Path, Path], Cost]]:
    """Return a function for each compared indexer. It takes the source folder and an empty output folder."""
    found: dict[str, Callable[[Path, Path], Cost]] = {
        "deltos, code search": lambda folder, scratch: measure(module_command("--code-only", folder, scratch)),
        "deltos, everything": lambda folder, scratch: measure(index_command(folder), {"DELTOS_HOME": str(scratch)}),
    }
    if is_universal_ctags():
        found["universal-ctags"] = lambda folder, scratch: measure(["ctags", "-R", "-f", scratch / "tags", folder])
    semble = environment_with(SEMBLE)
    script = REPOSITORY / "benchmarks" / "semble_words.py"
    found[f"{SEMBLE}, words only, nothing stored"] = lambda folder, _scratch: measure(
        [semble, script, "index", folder], {"HF_HUB_OFFLINE": "1"}
    )
    return found


def module_command(*words: object) -> list[str]:
    """Return the command that runs this module in its own process."""
    return [sys.executable, "-m", "benchmarks.index_speed", *map(str, words)]


def index_command(folder: Path) -> list[str]:
    """Return the command `deltos index`."""
    return [sys.executable, "-P", "-m", "deltos", "index", str(folder), "--json"]


def is_universal_ctags() -> bool:
    """Return whether `ctags` is installed and is Universal Ctags."""
    if not shutil.which("ctags"):
        return False
    return b"Universal Ctags" in subprocess.run(["ctags", "--version"], capture_output=True).stdout


def best_run(run: Callable[[Path, Path], Cost], folder: Path) -> Cost:
    """Return the lowest CPU time and the highest peak memory of a few runs, each with an empty output folder."""
    costs = []
    for _ in range(RUNS_PER_INDEXER):
        with tempfile.TemporaryDirectory() as scratch:
            costs.append(run(folder, Path(scratch)))
    return Cost(min(cost.cpu_seconds for cost in costs), max(cost.peak_bytes for cost in costs))


def line_count(folder: Path) -> int:
    """Return the number of indexed lines."""
    with tempfile.TemporaryDirectory() as home:
        projects = open_code_index(Path(home))
        index = projects.index_of(folder)
        index.index()
        lines = index.store.totals().lines
        projects.close()
    return lines


def print_change(folder: Path) -> None:
    """Print the cost of indexing one changed file, by a new process and by a running server."""
    print(f"| one changed file in Django, CPU-seconds | {' | '.join(CHANGED_FILES)} |")
    print(f"|---|{'--:|' * len(CHANGED_FILES)}")
    with tempfile.TemporaryDirectory() as home:
        environment = {"DELTOS_HOME": home}
        measure(index_command(folder), environment)
        unchanged = measure(index_command(folder), environment).cpu_seconds
        print_row("`deltos index`, nothing changed", lambda _: unchanged)
        print_row("`deltos index`", lambda file: change_in_process(folder, file, environment))
        app = App(Config(home=Path(home)))
        print_row("a running server, code and graph", lambda file: change_in_server(app.domains.projects, folder, file))
        app.close()
    with tempfile.TemporaryDirectory() as home:
        projects = open_code_index(Path(home))
        projects.index_of(folder).index()
        print_row("a running server, code search alone", lambda file: change_in_server(projects, folder, file))
        projects.close()


def print_row(name: str, cost: Callable[[str], float]) -> None:
    print(f"| {name} | {' | '.join(f'{cost(file):.2f}' for file in CHANGED_FILES)} |", flush=True)


def change_in_process(folder: Path, file: str, environment: Mapping[str, str]) -> float:
    costs = []
    edit_file(folder / file)
    measure(index_command(folder), environment)
    for _ in range(RUNS_PER_INDEXER):
        edit_file(folder / file)
        costs.append(measure(index_command(folder), environment).cpu_seconds)
    return min(costs)


def change_in_server(projects: Projects, folder: Path, file: str) -> float:
    costs = []
    edit_file(folder / file)
    projects.index_of(folder).index()  # The first index loads the grammar.
    for _ in range(RUNS_PER_INDEXER):
        edit_file(folder / file)
        started = time.process_time()
        projects.index_of(folder).index()
        costs.append(time.process_time() - started)
    return min(costs)


def edit_file(file: Path) -> None:
    """Change the body of one function of a file."""
    text, _, _ = file.read_text().partition("\n\ndef changed(")
    file.write_text(f"{text}\n\ndef changed():\n    return {time.time_ns()}\n")


if __name__ == "__main__":
    main()
