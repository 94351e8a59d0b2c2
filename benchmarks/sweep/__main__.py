"""Check invariants on hundreds of real repositories: `python -m benchmarks.sweep FOLDER [--limit N]`.

FOLDER holds the downloaded sources and `results.jsonl`, which a second run continues; the smallest repositories come
first. A sample of files of each repository is extracted and checked; repositories of up to `--max-lines` are also
indexed and queried over MCP. `--path REPOSITORY` checks local clones instead. `--table` prints a table of the results
so far, and `--list CHECK` the violations of one check, except in held-out repositories.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter, defaultdict
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.sweep import checks, edits, ranks, symmetry
from benchmarks.sweep.client import Server, ServerFailed
from benchmarks.sweep.files import RepositoryFiles, check_files
from benchmarks.sweep.names import definitions
from benchmarks.sweep.sources import Repository, is_held_out, repositories
from deltos.files import FileTree
from deltos.workspace.admission import admit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from benchmarks.sweep.names import Definition

INDEX_TIMEOUT_SECONDS = 1_800
SEED = 20261119
EDITED_SHARE = 3  # one small repository in 3 is checked with random edits
DATA_LANGUAGES = frozenset("json yaml toml xml html css scss less markdown text make dockerfile csv ini".split())
# Expected CPU seconds and MB for indexing any repository, and additionally for each 1,000 lines.
EXPECTED_COSTS = {"cpu_seconds": (8.0, 1.0), "max_rss_mb": (400.0, 2.0)}


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits on the repositories that are indexed and on the files that are checked."""

    max_lines: int
    sampled_files: int


def check_repository(repository: Repository, limits: Limits) -> dict[str, Any]:
    """Check one repository and return its row for `results.jsonl`."""
    started = _cpu_seconds()
    root = _unpacked_root(repository.root)
    row: dict[str, Any] = {"name": repository.name, "registry": repository.registry}
    result = checks.Result()
    with tempfile.TemporaryDirectory(prefix="deltos-sweep-") as home:
        environment = {
            **os.environ,
            "DELTOS_HOME": home,
            "DELTOS_TOKEN_BUDGET": "25000",
            "DELTOS_REPEAT_EXCERPTS": "1",
            "DELTOS_EMBED": "off",
        }
        try:
            files = RepositoryFiles(root)
            row |= {"files": files.count, "lines": files.lines}
            row["languages"] = {name: len(paths) for name, paths in files.by_language.items()}
            sample = files.sample(limits.sampled_files, SEED)
            row |= {"files_checked": len(sample), "lines_checked": check_files(result, files, sample)}
            if 0 < files.lines <= limits.max_lines:
                row |= _index(result, root, environment)
                _check(result, root, environment)
                if files.count <= edits.MAX_FILES and _is_edited(repository.name):
                    edits.check_edits(result, root, environment, SEED)
        except (ServerFailed, subprocess.TimeoutExpired, ValueError) as exc:
            result.violations.append(checks.Violation("errors", repository.name, f"{type(exc).__name__}: {exc}"[:300]))
        except Exception:  # noqa: BLE001 - one repository must not stop the sweep
            row["sweep_error"] = traceback.format_exc()[-600:]
    row["sweep_cpu_seconds"] = round(_cpu_seconds() - started, 1)
    return {**row, "checked": dict(result.checked), "violations": [asdict(each) for each in result.violations]}


def _cpu_seconds() -> float:
    """Return the CPU time of this process and its ended children."""
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def _is_edited(name: str) -> bool:
    """Return whether random edits are checked in a repository, because this check takes the most time.

    A digest of the name selects the repositories.
    """
    return int(hashlib.sha256(f"edits {name}".encode()).hexdigest(), 16) % EDITED_SHARE == 0


def _index(result: checks.Result, root: Path, environment: dict[str, str]) -> dict[str, Any]:
    """Index the repository. Return its size, and the time and memory that indexing needs."""
    command = [sys.executable, "-P", "-m", "deltos", "index", str(root), "--json"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.monotonic()
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=INDEX_TIMEOUT_SECONDS, check=False
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise ValueError(f"index ended with {done.returncode}: {done.stderr[-200:]}")
    indexed = json.loads(done.stdout.splitlines()[-1])
    checks.check_errors(result, indexed)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {
        "indexed": indexed["files_indexed"],
        "cpu_seconds": round(cpu, 1),
        "seconds": round(time.monotonic() - started, 1),
        "max_rss_mb": after.ru_maxrss // 1024,
    }


def _check(result: checks.Result, root: Path, environment: dict[str, str]) -> None:
    every = _indexed_definitions(root)
    sample, counts = checks.sample_definitions(every, SEED)
    server = Server(root, environment)
    try:
        paths = sorted({each.path for each in sample})
        checks.check_names(result, server, root, sample)
        checks.check_outlines(result, server, paths)
        checks.check_references(result, server, root, sample[::5], counts)
        checks.check_hits(result, server, root, sample[::7])
        symmetry.check_symmetry(result, server, root, sample[::9])
        ranks.check_ranks(result, server, every, SEED)
    finally:
        server.close()


def _indexed_definitions(root: Path) -> list[Definition]:
    """Return the definitions in indexed files, which excludes built and minified files."""
    by_path: dict[str, list[Definition]] = defaultdict(list)
    for each in definitions(root):
        by_path[each.path].append(each)
    with FileTree(root) as tree:
        admitted = {path: admit(tree, path, (root / path).stat().st_size, with_generated=True) for path in by_path}
    return [each for path, rows in by_path.items() if not isinstance(admitted[path], str) for each in rows]


def _unpacked_root(root: Path) -> Path:
    """Return the only folder in an unpacked archive if there is just one, otherwise the root."""
    entries = [path for path in root.iterdir() if not path.name.startswith(".")]
    return entries[0] if len(entries) == 1 and entries[0].is_dir() else root


def print_table(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> None:
    """Print sizes of the repositories and violations by check, for the development and the held-out part."""
    for title, part in (("Development part", False), ("Held-out part", True)):
        parts = [
            [row for row in rows if "checked" in row and is_held_out(row["name"]) is part] for rows in (before, after)
        ]
        print(f"\n## {title}\n")
        for name, rows in zip(("before", "after"), parts, strict=True):
            if rows:
                print(f"- {name}: {_describe_size(rows)}")
        tallies = [_count_by_check(rows) for rows in parts]
        print("\n| check | before: checked | violations | after: checked | violations | holds |")
        print("|---|--:|--:|--:|--:|--:|")
        for check in sorted({check for checked, _ in tallies for check in checked}):
            cells = [f"{count[check]:,}" if pair[0][check] else "" for pair in tallies for count in pair]
            checked, violations = tallies[1]
            share = f"{1 - violations[check] / checked[check]:.4f}" if checked[check] else ""
            print(f"| {check} | {' | '.join(cells)} | {share} |")


def _describe_size(rows: list[dict[str, Any]]) -> str:
    files, lines, files_checked, lines_checked = (
        sum(row.get(name, 0) for row in rows) for name in ("files", "lines", "files_checked", "lines_checked")
    )
    indexed = [row for row in rows if "indexed" in row]
    languages = {language for row in rows for language in row.get("languages", ())} - DATA_LANGUAGES
    return (
        f"{len(rows)} repositories with {files:,} files and {lines:,} lines in {len(languages)} programming languages; "
        f"{files_checked:,} sampled files with {lines_checked:,} lines checked one by one; {len(indexed)} repositories "
        f"with {sum(row['lines'] for row in indexed):,} lines indexed and queried; "
        f"{sum(row.get('sweep_cpu_seconds', 0) for row in rows) / 60:,.0f} CPU-minutes"
    )


def _count_by_check(rows: list[dict[str, Any]]) -> tuple[Counter[str], Counter[str]]:
    """Return the numbers of checks and of violations, by name of the check."""
    checked: Counter[str] = Counter()
    violations: Counter[str] = Counter()
    for row in rows:
        checked.update(row["checked"])
        violations.update(each["check"] for each in row["violations"])
    indexed = [row for row in rows if "indexed" in row]
    for check, measure in (("time", "cpu_seconds"), ("memory", "max_rss_mb")):
        checked[check], violations[check] = len(indexed), len(outliers(indexed, measure))
    return checked, violations


def outliers(rows: list[dict[str, Any]], measure: str) -> list[tuple[str, str]]:
    """Return the repositories whose CPU time or memory use is far above that of others of their size.

    Each is returned with both figures.
    """
    floor, per_thousand = EXPECTED_COSTS[measure]
    return [
        (row["name"], f"{row[measure]:,} for {row.get('lines', 0):,} lines")
        for row in rows
        if row.get(measure, 0) > floor + per_thousand * max(row.get("lines", 0), row.get("files", 0) * 10) / 1_000
    ]


def print_violations(rows: list[dict[str, Any]], check: str) -> None:
    """Print the violations of a check in development repositories."""
    measure = {"time": "cpu_seconds", "memory": "max_rss_mb"}.get(check)
    for name, figures in outliers([row for row in rows if not is_held_out(row["name"])], measure) if measure else ():
        print(f"{name}: {check}: {figures}")
    for row in rows:
        for each in row.get("violations", ()) if not is_held_out(row["name"]) else ():
            if each["check"].startswith(check):
                print(f"{row['name']}: {each['check']}: {each['place']}: {each['detail']}")


def main() -> None:
    """Run the sweep or print its results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="folder for sources and results")
    parser.add_argument("--limit", type=int, default=0, help="check at most this many packages; 0: all")
    parser.add_argument("--path", type=Path, nargs="*", default=(), help="check these local repositories instead")
    parser.add_argument("--offline", action="store_true", help="check only packages that are already downloaded")
    parser.add_argument("--part", default="", choices=("development", "held-out"), help="check only this part")
    parser.add_argument(
        "--max-lines", type=int, default=100_000, help="index only repositories of up to this many lines"
    )
    parser.add_argument("--sampled-files", type=int, default=30, help="number of files to check in each repository")
    parser.add_argument("--cpu-minutes", type=float, default=0, help="stop after this much CPU time; 0: never")
    parser.add_argument("--processes", type=int, default=2, help="number of repositories checked at the same time")
    parser.add_argument("--before", default="", help="name of an older results file to compare with")
    parser.add_argument("--results", default="results.jsonl", help="name of the file of results")
    parser.add_argument("--table", action="store_true", help="print the table of the results")
    parser.add_argument("--list", default="", metavar="CHECK", help="print the violations of a check")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    file = arguments.folder / arguments.results
    rows = _read_rows(file)
    if arguments.list:
        print_violations(rows, arguments.list)
        return
    if arguments.table:
        print_table(_read_rows(arguments.folder / arguments.before) if arguments.before else [], rows)
        return
    done = {(row["registry"], row["name"]) for row in rows}
    chosen = (
        (
            Repository(path.resolve().parent.name if path.name == "source" else path.name, "path", path.resolve())
            for path in arguments.path
        )
        if arguments.path
        else repositories(arguments.folder, limit=arguments.limit, download=not arguments.offline)
    )
    parts = {"development", "held-out"} if not arguments.part else {arguments.part}
    waiting = (
        each
        for each in chosen
        if (each.registry, each.name) not in done and ("held-out" if each.is_held_out else "development") in parts
    )
    check = partial(check_repository, limits=Limits(arguments.max_lines, arguments.sampled_files))
    cpu_minutes = 0.0
    with ProcessPoolExecutor(arguments.processes) as pool, file.open("a", encoding="utf-8") as results:
        for row in _check_in_parallel(pool, check, waiting, arguments.processes):
            results.write(json.dumps(row) + "\n")
            results.flush()
            print(row["registry"], row["name"], f"{len(row['violations'])} violations", flush=True)
            cpu_minutes += row["sweep_cpu_seconds"] / 60
            if 0 < arguments.cpu_minutes <= cpu_minutes:
                break


def _read_rows(file: Path) -> list[dict[str, Any]]:
    """Return the rows of a results file, or an empty list if it does not exist."""
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()] if file.is_file() else []


def _check_in_parallel(
    pool: ProcessPoolExecutor,
    check: Callable[[Repository], dict[str, Any]],
    waiting: Iterable[Repository],
    processes: int,
) -> Iterator[dict[str, Any]]:
    """Yield the rows of checked repositories as they become available.

    Packages are downloaded while others are checked.
    """
    running: set[Future[dict[str, Any]]] = set()
    for repository in waiting:
        running.add(pool.submit(check, repository))
        if len(running) > processes:
            done, running = wait(running, return_when=FIRST_COMPLETED)
            yield from (future.result() for future in done)
    yield from (future.result() for future in running)


if __name__ == "__main__":
    main()
