"""Measure queries over 100 small repositories: time, and rank of the right file.

    python -m benchmarks.workspaces [--repositories N] [--questions N] [--budget-ms MS]

The repositories are folders of installed packages, each as its own git repository. Queries are first sentences of
docstrings, and names, each with an answer in exactly one repository. A call includes selecting the projects, comparing
them with the disk, searching and rendering. Wall-clock time is the time that a client waits; CPU time is printed too,
because the machine may be shared. A `p95` above the budget is a failure.
"""

from __future__ import annotations

import argparse
import ast
import random
import shutil
import statistics
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.answer_tokens import ToolClient
from benchmarks.paths import SCRATCH
from deltos.app import App
from deltos.config import Config

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

REPOSITORIES = 100
MIN_FILES, MAX_FILES = 3, 60
MAX_BYTES = 600_000
BUDGET_MS = 150.0
QUESTIONS = 100
MIN_WORDS = 5
SEED = 20
ALL_WORKSPACE = "all-of-them"


@dataclass(frozen=True, slots=True)
class Question:
    """A query, and the location of its answer."""

    text: str
    repository: str
    path: str


@dataclass(slots=True)
class Figures:
    """Milliseconds of every call, and the rank of the right file (0 if it was not found)."""

    clock: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    ranks: list[int] = field(default_factory=list)

    def row(self, name: str) -> str:
        """Format a row of the table."""
        parts = [name, str(len(self.clock))]
        for times in (self.clock, self.cpu):
            ordered = sorted(times)
            parts += [f"{statistics.median(ordered):.0f}", f"{_p95(ordered):.0f}"]
        if self.ranks:
            shares = [sum(0 < rank <= depth for rank in self.ranks) / len(self.ranks) for depth in (1, 5, 10)]
            parts += [f"{share:.2f}" for share in shares]
        else:
            parts += ["", "", ""]
        return f"| {' | '.join(parts)} |"


def main() -> int:
    """Print the table; return 1 if the 95th percentile of queries over all repositories exceeds the budget."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repositories", type=int, default=REPOSITORIES)
    parser.add_argument("--questions", type=int, default=QUESTIONS)
    parser.add_argument("--budget-ms", type=float, default=BUDGET_MS)
    given = parser.parse_args()
    folder = SCRATCH / "workspaces"
    roots = lay_out(folder, given.repositories)
    with closing(App(Config(folder / "home"))) as app:
        return measure(app, roots, given.questions, given.budget_ms)


def lay_out(folder: Path, count: int) -> list[Path]:
    """Create the repositories, or reuse those of an earlier run."""
    found = []
    for source in _source_folders(count):
        root = folder / "repositories" / source.name
        if not (root / ".git").exists():
            _copy(source, root)
        found.append(root.resolve())
    if len(found) < count:
        sys.exit(f"only {len(found)} packages of that size are installed")
    return found


def _source_folders(count: int) -> list[Path]:
    """Return folders of Python files that have the size of a small repository, in a fixed order."""
    places = [Path(each) for each in sys.path if Path(each).name in ("site-packages", "dist-packages")]
    tops = [each for place in places if place.is_dir() for each in place.iterdir() if (each / "__init__.py").is_file()]
    found: dict[str, Path] = {}
    for top in sorted(tops):
        for package in sorted({path.parent for path in top.rglob("__init__.py")}):
            files = list(package.rglob("*.py"))
            is_small = MIN_FILES <= len(files) <= MAX_FILES and _total_bytes(files) <= MAX_BYTES
            is_inside_another = any(package.is_relative_to(other) for other in found.values())
            if is_small and not is_inside_another and package.name not in ("tests", "test", "_vendor", "vendor"):
                found.setdefault(package.name, package)
    return sorted(found.values(), key=lambda path: (-_total_bytes(list(path.rglob("*.py"))), path.name))[:count]


def _total_bytes(files: Sequence[Path]) -> int:
    return sum(path.stat().st_size for path in files)


def _copy(source: Path, root: Path) -> None:
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(source, root / source.name, ignore=lambda _, names: [n for n in names if n == "__pycache__"])
    (root / "pyproject.toml").write_text(f'[project]\nname = "{source.name}"\n')
    name = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    for words in (["init", "--quiet"], ["add", "--all"], [*name, "commit", "--quiet", "--message=first"]):
        subprocess.run(["git", "-C", str(root), *words], check=True, capture_output=True)


def measure(app: App, roots: Sequence[Path], count: int, budget_ms: float) -> int:
    """Run all queries and print the figures."""
    records = app.domains.projects.workspaces
    assert records
    if known := records.get(ALL_WORKSPACE):  # An earlier run may have created the workspace with other packages.
        records.remove(ALL_WORKSPACE, known.roots)
    records.add(ALL_WORKSPACE, [str(root) for root in roots])
    started = time.monotonic()
    for root in roots:
        index = app.domains.projects.index_of(root)
        index.index()
        index.catch_up(wait_seconds=30.0)
    files = sum(app.domains.projects.index_of(root).store.file_count() for root in roots)
    print(f"{len(roots)} repositories, {files:,} files; indexed in {time.monotonic() - started:.0f} s\n")
    client = ToolClient(app, roots[0])
    every = questions(roots, count)
    names = [(question, name) for question, name in every if name]
    print("| query | n | wall-clock p50, ms | p95 | CPU p50, ms | p95 | first | in 5 | in 10 |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|")
    client.call("search_code", {"query": "warm up", "project_id": ALL_WORKSPACE})
    together = ask_code(client, [question for question, _ in every], ALL_WORKSPACE)
    print(together.row("search_code, a sentence, all"))
    by_name = ask_code(client, [Question(name, each.repository, each.path) for each, name in names], ALL_WORKSPACE)
    print(by_name.row("search_code, a name, all"))
    alone = Figures()
    for question, _ in every:
        found = ask_code(client, [question], next(str(root) for root in roots if root.name == question.repository))
        alone.clock += found.clock
        alone.cpu += found.cpu
        alone.ranks += found.ranks
    print(alone.row("search_code, a sentence, in its own repository"))
    print(ask(client, "search", [{"query": q.text, "project_id": ALL_WORKSPACE} for q, _ in every]).row("search, all"))
    symbols: list[dict[str, Any]] = [{"symbol": name, "project_path": ALL_WORKSPACE} for _, name in names]
    print(ask(client, "find_symbol", symbols).row("find_symbol, all"))
    ask(client, "find_references", symbols[:1])
    print(ask(client, "find_references", symbols).row("find_references, all"))
    slowest = max(_p95(sorted(together.clock)), _p95(sorted(by_name.clock)))
    print(f"\np95 of search_code over all: {slowest:.0f} ms, budget {budget_ms:.0f} ms")
    return slowest > budget_ms


def questions(roots: Sequence[Path], count: int) -> list[tuple[Question, str]]:
    """Yield questions with one right answer: first sentences of docstrings, and names that only one file defines."""
    sentences: dict[str, list[Question]] = {}
    names: dict[str, int] = {}
    named: dict[str, str] = {}
    for root in roots:
        for path in sorted(root.rglob("*.py")):
            for name, text in _documented_functions(path):
                names[name] = names.get(name, 0) + 1
                if len(text.split()) >= MIN_WORDS:
                    place = path.relative_to(root).as_posix()
                    sentences.setdefault(text, []).append(Question(text, root.name, place))
                    named[text] = name
    alone = [found[0] for found in sentences.values() if len(found) == 1]
    chosen = random.Random(SEED).sample(sorted(alone, key=lambda each: (each.repository, each.text)), count)
    return [(each, named[each.text] if names[named[each.text]] == 1 else "") for each in chosen]


def _documented_functions(path: Path) -> Iterator[tuple[str, str]]:
    try:
        tree = ast.parse(path.read_text("utf-8"))
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            text = (ast.get_docstring(node) or "").partition("\n\n")[0].partition(". ")[0]
            yield node.name, " ".join(text.split())


def ask_code(client: ToolClient, questions: Sequence[Question], project: str) -> Figures:
    """Call search_code with each query, and record the rank of the right file."""
    figures = Figures()
    for question in questions:
        answer = _time_call(client, "search_code", {"query": question.text, "project_id": project}, figures)
        results = answer["results"] if answer else []
        places = [(hit.get("repository", question.repository), hit["file_path"]) for hit in results]
        right = (question.repository, question.path)
        figures.ranks.append(places.index(right) + 1 if right in places else 0)
    return figures


def ask(client: ToolClient, tool: str, calls: Sequence[dict[str, Any]]) -> Figures:
    """Call another tool, without checking its answers."""
    figures = Figures()
    for arguments in calls:
        _time_call(client, tool, arguments, figures)
    return figures


def _time_call(client: ToolClient, tool: str, arguments: dict[str, Any], figures: Figures) -> dict[str, Any] | None:
    clock, cpu = time.perf_counter(), time.process_time()
    answer = client.call(tool, arguments)
    figures.clock.append((time.perf_counter() - clock) * 1000)
    figures.cpu.append((time.process_time() - cpu) * 1000)
    return answer.structured


def _p95(ordered: Sequence[float]) -> float:
    return ordered[int(len(ordered) * 0.95)] if ordered else 0.0


if __name__ == "__main__":
    raise SystemExit(main())
