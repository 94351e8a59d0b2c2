"""Compare the references of the code graph, of grep and of another tool with compilers; print Markdown tables.

    python -m benchmarks.graph [references] [cycles] [cost] [speed] [--peer COMMAND]

The expected references are in the folder `graph/` of the benchmark data. The projects are downloaded as published: two
wheels with pip, one package with npm. The other tool is `code-review-graph` (from PyPI, in its own environment): pass
its command, or put it on the PATH.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import resource
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.packages import unpack_npm_package, unpack_wheel
from benchmarks.paths import REPOSITORY, SCRATCH, SHARED
from deltos.app import App
from deltos.config import Config
from deltos.domains.code.index import CodeIndexer
from deltos.domains.graph.cycles import find_cycles
from deltos.domains.graph.index import GraphIndexer
from deltos.store.sqlite.projects import SqliteProjects
from deltos.workspace.projects import Projects

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from deltos.domains.graph.search import GraphSearch
    from deltos.workspace.indexer import Indexer

Row = dict[str, Any]
Answers = dict[int, set[str]]
PRECISION_AND_RECALL_TARGETS = {"django-5.1.4": (0.98, 0.93), "httpx-0.28.1": (0.98, 0.93), "zod-4.6.7": (0.97, 0.93)}
EDITED_FILES = (
    "django/db/models/query.py",
    "django/contrib/admin/options.py",
    "django/forms/forms.py",
    "django/http/request.py",
)
QUERIES = 500


def main() -> None:
    """Run the given measurements, or all of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="*", default=[])
    parser.add_argument("--peer", default=shutil.which("code-review-graph") or "")
    parser.add_argument("--index", nargs=2, metavar=("ROOT", "INDEXERS"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.index:
        _index_once(Path(args.index[0]), args.index[1])
        return
    parts: dict[str, Callable[[], None]] = {
        "references": lambda: print_references(args.peer),
        "cycles": print_cycles,
        "cost": print_cost,
        "speed": print_speed,
    }
    for name, part in parts.items():
        if not args.what or name in args.what:
            part()


# --- projects and expected results


def project_folder(name: str) -> Path:
    """Return the folder of a project for which there are expected results."""
    package, _, version = name.rpartition("-")
    if package != "zod":
        return unpack_wheel(f"{package}=={version}")
    target = SCRATCH / "graph" / name
    if not target.exists():
        source = unpack_npm_package(f"{package}@{version}") / "src"
        tests = shutil.ignore_patterns("tests", "benchmarks", "*.test.*")
        shutil.copytree(source, target, ignore=tests)
    return target


def expected_rows(name: str) -> list[Row]:
    """Read the expected results of a project."""
    text = (SHARED / "graph" / f"{name}.jsonl").read_text("utf-8")
    return [json.loads(line) for line in text.splitlines()]


def symbol_rows(name: str) -> list[Row]:
    """Return the expected results that concern symbols."""
    return [row for row in expected_rows(name) if row.get("type") != "import_cycle"]


def command_line(root: Path, words: list[str], given: str = "") -> str:
    """Return the output of `deltos graph …`. The command uses a data folder that is kept between calls."""
    environment = {**os.environ, "DELTOS_HOME": str(SCRATCH / "graph" / "home"), "PYTHONPATH": str(REPOSITORY / "src")}
    command = [sys.executable, "-P", "-m", "deltos", "graph", *words, "--project", str(root), "--json"]
    done = subprocess.run(command, input=given, env=environment, capture_output=True, text=True, check=False)
    return done.stdout


# --- references


def print_references(peer: str) -> None:
    """Print precision and recall of Deltos, grep and the other tool for each project."""
    print("| project | symbols | references | Deltos P / R | target | grep -w P / R | code-review-graph P / R |")
    print("|---|---|---|---|---|---|---|")
    for name, (precision, recall) in PRECISION_AND_RECALL_TARGETS.items():
        rows, root = symbol_rows(name), project_folder(name)
        theirs = score(rows, peer_answers(peer, root, rows)) if peer else "not installed"
        cells = [
            name,
            f"{len(rows):,}",
            f"{sum(len(row['references']) for row in rows):,}",
            score(rows, deltos_answers(root, rows)),
            f"{precision:.2f} / {recall:.2f}",
            score(rows, grep_answers(root, rows)),
            theirs,
        ]
        print(f"| {' | '.join(cells)} |", flush=True)


def score(rows: list[Row], answers: Answers) -> str:
    """Compute precision and recall over all references, as the shared scorer does."""
    hits = returned = right = 0
    for number, row in enumerate(rows):
        given, wanted = answers.get(number, set()), set(row["references"])
        hits, returned, right = hits + len(given & wanted), returned + len(given), right + len(wanted)
    return f"{hits / max(1, returned):.3f} / {hits / max(1, right):.3f}"


def deltos_answers(root: Path, rows: list[Row]) -> Answers:
    """Return the certain references to the definition on the line of each row."""
    places = "\n".join(f"{row['def_file']}:{row['def_line']}" for row in rows)
    lines = command_line(root, ["refs", "--at", "-"], places).splitlines()
    answers: Answers = {}
    for number, line in enumerate(lines):
        found = json.loads(line)["references"]
        answers[number] = {f"{place['file']}:{place['line']}" for place in found if place["certain"]}
    return answers


def grep_answers(root: Path, rows: list[Row]) -> Answers:
    """Return every line that contains the name as a word, except the line of the definition."""
    lines: dict[str, list[tuple[str, str]]] = defaultdict(list)
    suffixes = {Path(row["def_file"]).suffix for row in rows}
    for path in sorted(path for path in root.rglob("*") if path.suffix in suffixes and path.is_file()):
        place = path.relative_to(root).as_posix()
        for number, text in enumerate(path.read_text("utf-8", "replace").split("\n"), 1):
            for word in set(re.findall(r"[\w$]+", text)):
                lines[word].append((place, f"{place}:{number}"))
    return {
        number: {where for _, where in lines[row["name"]]} - {f"{row['def_file']}:{row['def_line']}"}
        for number, row in enumerate(rows)
    }


def peer_answers(command: str, root: Path, rows: list[Row]) -> Answers:
    """Return the references in the database of code-review-graph."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "project").resolve()
        shutil.copytree(root, copy)
        for words in (["git", "init", "-q"], ["git", "add", "-A"], [command, "build"]):
            subprocess.run(words, cwd=copy, capture_output=True, check=False)
        database = next(copy.glob(".code-review-graph/*.db"))
        connection = sqlite3.connect(database)
        nodes = connection.execute("SELECT qualified_name, file_path, name, line_start, line_end FROM nodes").fetchall()
        edges = connection.execute(
            "SELECT target_qualified, file_path, line FROM edges WHERE kind != 'CONTAINS'"
        ).fetchall()
        connection.close()
        return _match_rows(rows, nodes, edges, f"{copy}/")


def _match_rows(rows: list[Row], nodes: list[Any], edges: list[Any], prefix: str) -> Answers:
    places: dict[str, set[str]] = defaultdict(set)
    for target, path, line in edges:
        places[target].add(f"{path.removeprefix(prefix)}:{line}")
    by_name: dict[tuple[str, str], list[tuple[str, int, int]]] = defaultdict(list)
    for qualified, path, name, start, end in nodes:
        by_name[(path.removeprefix(prefix), name)].append((qualified, start or 0, end or 0))
    answers: Answers = {}
    for number, row in enumerate(rows):
        around = [c for c in by_name[(row["def_file"], row["name"])] if c[1] <= row["def_line"] <= c[2]]
        if around:
            nearest = min(around, key=lambda candidate: row["def_line"] - candidate[1])
            answers[number] = places[nearest[0]] - {f"{row['def_file']}:{row['def_line']}"}
    return answers


# --- cycles


def print_cycles() -> None:
    """Compare the import cycles of zod with the expected ones."""
    name = "zod-4.6.7"
    wanted: dict[str, set[tuple[str, ...]]] = defaultdict(set)
    for row in expected_rows(name):
        if row.get("type") == "import_cycle":
            wanted[row["mode"]].add(tuple(sorted(row["files"])))
    found: dict[str, set[tuple[str, ...]]] = defaultdict(set)
    for line in command_line(project_folder(name), ["cycles"]).splitlines():
        component = json.loads(line)
        found[component["mode"]].add(tuple(sorted(component["files"])))
    every = set().union(*found.values())
    largest = {files for files in every if not any(set(files) < set(other) for other in every)}
    print("\n| zod-4.6.7 | components | as expected |\n|---|---|---|")
    print(f"| at run time | {len(found['runtime'])} | {'yes' if found['runtime'] == wanted['runtime'] else 'no'} |")
    print(f"| with type imports | {len(largest)} | {'yes' if largest == wanted['all'] else 'no'} |")


# --- cost and speed


def print_cost() -> None:
    """Print the CPU seconds for indexing Django, with and without the graph, and for an update after an edit."""
    root = project_folder("django-5.1.4")
    code, both = (min(_index_cpu(root, indexers) for _ in range(3)) for indexers in ("code", "code,graph"))
    print("\n| Django | CPU seconds | target |\n|---|---|---|")
    print(f"| code index alone | {code:.1f} | |")
    print(f"| code index and graph | {both:.1f} ({both / code:.2f}×) | ≤ 2× |")
    edits = sorted(_edit_cpu(root))
    print(f"| bring up to date after one edit, median of {len(edits)} | {statistics.median(edits):.2f} | ≤ 0.5 |")


def _index_cpu(root: Path, indexers: str) -> float:
    """Return the CPU seconds of a first index in its own process, including worker processes."""
    command = [sys.executable, "-m", "benchmarks.graph", "--index", str(root), indexers]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True)
    return float(done.stdout)


def _index_once(root: Path, indexers: str) -> None:
    with tempfile.TemporaryDirectory() as home:
        chosen: list[Indexer] = [CodeIndexer(), GraphIndexer()] if "graph" in indexers else [CodeIndexer()]
        projects = Projects(SqliteProjects(Path(home)), chosen)
        projects.index_of(root).index()
        projects.close()
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    print(sum(usage.ru_utime + usage.ru_stime for usage in used))


def _edit_cpu(root: Path) -> Iterable[float]:
    """Return the CPU seconds per file for detecting, indexing and resolving a changed function body."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "project")
        shutil.copytree(root, copy)
        app = App(Config(Path(folder, "home")))
        index = app.domains.projects.index_of(copy)
        index.index()
        for path in EDITED_FILES:
            lines = (copy / path).read_text("utf-8").split("\n")
            at = next(number for number, line in enumerate(lines) if line.startswith("        return "))
            (copy / path).write_text("\n".join([*lines[:at], "        print(self)", *lines[at:]]), "utf-8")
            started = time.process_time()
            index.index()
            yield time.process_time() - started
        app.close()


def print_speed() -> None:
    """Print the time of graph queries about Django with an up-to-date index."""
    root = project_folder("django-5.1.4")
    app = App(Config(SCRATCH / "graph" / "home"))
    index = app.domains.projects.index_of(root)
    index.index()
    search = app.graph_search(index)
    names = random.Random(1).sample(sorted(search.reader.defined_names()), QUERIES)
    milliseconds = sorted(_answer_time(search, name) for name in names)
    cycles = _time_ms(lambda: find_cycles(search.reader.imports()))
    app.close()
    p50, p95 = milliseconds[QUERIES // 2], milliseconds[QUERIES * 95 // 100]
    print("\n| Django | p50 | p95 | target |\n|---|---|---|---|")
    print(f"| find_references, {QUERIES} names, ms | {p50:.1f} | {p95:.1f} | p95 ≤ 30 |")
    print(f"| detect_circular, ms | {cycles:.0f} | | |")


def _answer_time(search: GraphSearch, name: str) -> float:
    return _time_ms(lambda: [search.references(target) for target in search.targets(name)])


def _time_ms(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return (time.perf_counter() - started) * 1000


if __name__ == "__main__":
    main()
