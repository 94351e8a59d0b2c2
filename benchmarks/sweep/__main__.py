"""Index hundreds of real repositories and check invariants: `python -m benchmarks.sweep FOLDER [--limit N]`.

FOLDER holds the downloaded sources and `results.jsonl`, which a second run continues. `--path REPOSITORY` checks local
clones instead. `--table` prints the table of the results so far; `--list CHECK` the violations of one check, without
those of held-out repositories.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.sweep import checks, edits, generated, symmetry
from benchmarks.sweep.client import Server, ServerFailed
from benchmarks.sweep.names import definitions
from benchmarks.sweep.sources import Repository, is_held_out, repositories

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

INDEX_SECONDS = 1_800
SEED = 20261119
# What any repository may take to index, and more for each 1,000 lines: CPU seconds and MB.
FLOORS = {"cpu_seconds": (8.0, 1.0), "max_rss_mb": (400.0, 2.0)}


def check_repository(repository: Repository, max_files: int) -> dict[str, Any]:
    """Index one repository and run all checks; the row for `results.jsonl`."""
    root = _inner(repository.root)
    files = sum(1 for path in root.rglob("*") if path.is_file())
    row: dict[str, Any] = {"name": repository.name, "registry": repository.registry, "files": files}
    if files > max_files:
        return {**row, "skipped": f"{files:,} files"}
    result = checks.Result()
    with tempfile.TemporaryDirectory(prefix="deltos-sweep-") as home:
        environment = {**os.environ, "DELTOS_HOME": home, "DELTOS_TOKEN_BUDGET": "25000", "DELTOS_REPEAT_EXCERPTS": "1"}
        try:
            row |= _index(result, root, environment)
            _check(result, root, environment, row)
            edits.check_edits(result, root, environment, SEED)
        except (ServerFailed, subprocess.TimeoutExpired, ValueError) as exc:
            result.violations.append(checks.Violation("errors", repository.name, f"{type(exc).__name__}: {exc}"[:300]))
        except Exception:  # noqa: BLE001 - one repository must not stop the sweep
            row["sweep_error"] = traceback.format_exc()[-600:]
    return {**row, "checked": dict(result.checked), "violations": [asdict(each) for each in result.violations]}


def _index(result: checks.Result, root: Path, environment: dict[str, str]) -> dict[str, Any]:
    """Index the repository; its size, time and memory."""
    command = [sys.executable, "-P", "-m", "deltos", "index", str(root), "--json"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.monotonic()
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=INDEX_SECONDS, check=False)
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


def _check(result: checks.Result, root: Path, environment: dict[str, str], row: dict[str, Any]) -> None:
    checks.check_parsing(result, root, SEED)
    generated.check_generated(result, root, SEED)
    every = list(definitions(root))
    sample, counts = checks.sampled(every, SEED)
    server = Server(root, environment)
    try:
        stats, _, _ = server.call("get_stats")
        row["stats"] = stats.splitlines()[:2]
        paths = sorted({each.path for each in sample})
        checks.check_names(result, server, sample, set(paths))
        checks.check_outlines(result, server, paths)
        checks.check_references(result, server, root, sample[::5], counts)
        checks.check_hits(result, server, root, sample[::7])
        symmetry.check_symmetry(result, server, root, sample[::9])
        generated.check_ranks(result, server, every, SEED)
    finally:
        server.close()
    row["lines"] = sum(_lines(path) for path in root.rglob("*") if path.suffix in _CODE)
    row["languages"] = sorted({each.language for each in sample})


_CODE = frozenset(
    ".c .h .cc .cpp .hpp .cs .go .java .kt .js .jsx .ts .tsx .mjs .lua .pl .pm .php .py .rb .rs .ex .exs .m .swift .jl"
    " .sh .hs .ml .mli .erl .scala .r .R .lisp .f90 .f".split()
)


def _lines(path: Path) -> int:
    try:
        return path.read_bytes().count(b"\n") if path.is_file() and not path.is_symlink() else 0
    except OSError:
        return 0


def _inner(root: Path) -> Path:
    """The one folder that most archives unpack to."""
    entries = [path for path in root.iterdir() if not path.name.startswith(".")]
    return entries[0] if len(entries) == 1 and entries[0].is_dir() else root


def print_table(rows: list[dict[str, Any]]) -> None:
    """Print repositories, sizes and violations by check, development and held-out."""
    rows = [row for row in rows if "checked" in row]
    for title, part in (("development", False), ("held-out", True)):
        chosen = [row for row in rows if is_held_out(row["name"]) is part]
        lines = sum(row.get("lines", 0) for row in chosen)
        languages = {language for row in chosen for language in row.get("languages", ())}
        files = sum(row["files"] for row in chosen)
        cpu = sum(row.get("cpu_seconds", 0) for row in chosen)
        size = f"{len(chosen)} repositories, {files:,} files, {lines:,} lines of code, {len(languages)} languages"
        print(f"\n{title}: {size}, {cpu:,.0f} CPU-s to index\n")
        checked: Counter[str] = Counter()
        violations: Counter[str] = Counter()
        for row in chosen:
            checked.update(row["checked"])
            violations.update(each["check"] for each in row["violations"])
        for check, name in (("time", "cpu_seconds"), ("memory", "max_rss_mb")):
            checked[check] = len(chosen)
            violations[check] = len(outliers(chosen, name))
        print("| check | checked | violations | holds |\n|---|--:|--:|--:|")
        for name in sorted(checked | violations):
            total = max(1, checked[name])
            print(f"| {name} | {checked[name]:,} | {violations[name]:,} | {1 - violations[name] / total:.4f} |")


def outliers(rows: list[dict[str, Any]], measure: str) -> list[tuple[str, str]]:
    """Repositories whose CPU time or memory is far above what their size explains, with both figures."""
    floor, per_thousand = FLOORS[measure]
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
    parser.add_argument("--limit", type=int, default=0, help="check only this many packages; 0: all")
    parser.add_argument("--path", type=Path, nargs="*", default=(), help="check these local repositories instead")
    parser.add_argument("--offline", action="store_true", help="check only what is downloaded already")
    parser.add_argument("--part", default="", choices=("development", "held-out"), help="check only this part")
    parser.add_argument("--max-files", type=int, default=6_000, help="skip repositories with more files")
    parser.add_argument("--processes", type=int, default=2, help="repositories checked at the same time")
    parser.add_argument("--results", default="results.jsonl", help="name of the file of results")
    parser.add_argument("--table", action="store_true", help="print the table of the results")
    parser.add_argument("--list", default="", metavar="CHECK", help="print the violations of a check")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    file = arguments.folder / arguments.results
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()] if file.exists() else []
    if arguments.table or arguments.list:
        print_violations(rows, arguments.list) if arguments.list else print_table(rows)
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
    check = partial(check_repository, max_files=arguments.max_files)
    with ProcessPoolExecutor(arguments.processes) as pool, file.open("a", encoding="utf-8") as results:
        for row in _in_turn(pool, check, waiting, arguments.processes):
            results.write(json.dumps(row) + "\n")
            results.flush()
            outcome = row.get("skipped") or f"{len(row['violations'])} violations"
            print(row["registry"], row["name"], outcome, flush=True)


def _in_turn(
    pool: ProcessPoolExecutor,
    check: Callable[[Repository], dict[str, Any]],
    waiting: Iterable[Repository],
    processes: int,
) -> Iterator[dict[str, Any]]:
    """Yield rows as they are ready; the next package is downloaded while others are checked."""
    running: set[Future[dict[str, Any]]] = set()
    for repository in waiting:
        running.add(pool.submit(check, repository))
        if len(running) > processes:
            done, running = wait(running, return_when=FIRST_COMPLETED)
            yield from (future.result() for future in done)
    yield from (future.result() for future in running)


if __name__ == "__main__":
    main()
