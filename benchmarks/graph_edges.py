"""Record all symbols, edges and imports of real projects, and compare two records to review a change to the graph.

    python -m benchmarks.graph_edges record FOLDER [--project NAME …]
    python -m benchmarks.graph_edges compare BEFORE AFTER

Django, SymPy, httpx, zod and RxJS are downloaded as published; TypeScript, cobra and gson are in the corpora folder.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import resource
import sqlite3
import sys
import tempfile
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.packages import unpack_npm_package, unpack_wheel
from benchmarks.paths import CORPORA
from deltos.domains.graph.index import GraphIndexer
from deltos.store.sqlite.projects import SqliteProjects
from deltos.workspace.projects import Projects

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PROJECTS: dict[str, Callable[[], Path]] = {
    "httpx": lambda: unpack_wheel("httpx==0.28.1"),
    "zod": lambda: unpack_npm_package("zod@4.6.7"),
    "rxjs": lambda: unpack_npm_package("rxjs@7.8.2") / "src",
    "cobra": lambda: CORPORA / "cobra",
    "gson": lambda: CORPORA / "gson",
    "django": lambda: unpack_wheel("django==5.1.4"),
    "typescript": lambda: CORPORA / "typescript" / "src",
    "sympy": lambda: unpack_wheel("sympy==1.14.0"),
}
MAX_PRINTED_DIFFERENCES = 20

_ROWS = (
    """SELECT 'symbol', path, key, name, kind, line, end_line, signature, doc
       FROM symbol JOIN node ON node.id = node_id JOIN place ON place.id = symbol.place_id""",
    """SELECT 'edge', there.path, target.key, here.path, line, source.key, kind, certain, origin
       FROM edge JOIN place here ON here.id = edge.place_id
       JOIN node source ON source.id = source_id
       JOIN node target ON target.id = target_id JOIN place there ON there.id = target.place_id""",
    """SELECT 'mention', mention.name, path, line, source.key, kind
       FROM mention JOIN place ON place.id = mention.place_id JOIN node source ON source.id = source_id""",
    """SELECT 'import', here.path, line, there.path, mode
       FROM import JOIN place here ON here.id = import.place_id JOIN place there ON there.id = target_place_id""",
)


def main() -> int:
    """Record the references of projects, or compare two records."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    recording = commands.add_parser("record")
    recording.add_argument("folder", type=Path)
    recording.add_argument("--project", action="append", choices=list(PROJECTS))
    comparing = commands.add_parser("compare")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    given = parser.parse_args()
    if given.command == "compare":
        return compare(given.before, given.after)
    given.folder.mkdir(parents=True, exist_ok=True)
    print("| project | rows | CPU s of all processes so far | peak memory of one, MB |\n|---|--:|--:|--:|")
    for name in given.project or PROJECTS:
        rows = record(PROJECTS[name](), given.folder / f"{name}.gz")
        print(f"| {name} | {rows:,} | {_cpu_seconds():.1f} | {_peak_memory_mb():.0f} |", flush=True)
    return 0


def record(root: Path, target: Path) -> int:
    """Index a project, write its graph as sorted lines, and return the number of lines."""
    with tempfile.TemporaryDirectory() as home:
        projects = Projects(SqliteProjects(Path(home)), [GraphIndexer()])
        projects.index_of(root).index()
        projects.close()
        rows = sorted(itertools.chain.from_iterable(_graph_lines(path) for path in Path(home).rglob("*.db")))
    with gzip.open(target, "wt", encoding="utf-8", errors="surrogatepass", compresslevel=1) as file:
        file.writelines(f"{row}\n" for row in rows)
    return len(rows)


def _graph_lines(database: Path) -> Iterator[str]:
    with closing(sqlite3.connect(database)) as connection:
        if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'edge'").fetchone():
            for query in _ROWS:
                for row in connection.execute(query):
                    yield "\t".join(map(repr, row))


def compare(before: Path, after: Path) -> int:
    """Print the differences between two records; return 1 if there are any."""
    differs = False
    for old in sorted(before.glob("*.gz")):
        new = after / old.name
        if not new.exists():
            print(f"{old.stem}: not recorded again")
            continue
        old_rows, new_rows = _read_lines(old), _read_lines(new)
        gone, come = sorted(old_rows - new_rows), sorted(new_rows - old_rows)
        differs |= bool(gone or come)
        print(f"{old.stem}: {len(old_rows):,} rows, {len(gone):,} gone, {len(come):,} new")
        for sign, rows in (("-", gone), ("+", come)):
            for row in rows[:MAX_PRINTED_DIFFERENCES]:
                print(f"  {sign} {row}")
    return int(differs)


def _read_lines(path: Path) -> set[str]:
    with gzip.open(path, "rt", encoding="utf-8", errors="surrogatepass") as file:
        return set(file.read().splitlines())


def _cpu_seconds() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def _peak_memory_mb() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return max(usage.ru_maxrss for usage in used) / 1024


if __name__ == "__main__":
    sys.exit(main())
