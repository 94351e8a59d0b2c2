"""What finding code by meaning costs: indexing, memory, database and queries, with vectors and without.

    python -m benchmarks.vector_cost [medium] [large] [--rounds 2]

The repositories and questions are those of `query_speed`. Indexing runs in one process, by turns with and without
vectors, the best of the rounds counts; each question is asked with and without meaning, one after the other, in one
warm process. CPU time throughout: a busy machine changes it little.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.code_material import lay_out
from benchmarks.places import SCRATCH
from benchmarks.processes import Cost, measure
from benchmarks.query_speed import large, medium, point
from deltos.domains.code.index import CodeIndexer
from deltos.domains.code.search import CodeSearch
from deltos.store.sqlite.projects import SqliteProjects
from deltos.workspace.projects import Projects

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.code_material import Query
    from deltos.workspace.project_index import ProjectIndex

SIZES = {"medium": medium, "large": large}
WORDS, VECTORS = "words alone", "with vectors"


@dataclass(frozen=True, slots=True)
class Indexed:
    """What making an index cost, and its size on disk."""

    cost: Cost
    database_bytes: int


def main() -> None:
    """Print a table for each size; or, for a process of its own, index one folder."""
    if sys.argv[1:2] == ["--index"]:
        how, folder, home = sys.argv[2:]
        index(how, Path(folder), Path(home))
        return
    parser = argparse.ArgumentParser()
    parser.add_argument("sizes", nargs="*", default=list(SIZES))
    parser.add_argument("--rounds", type=int, default=2)
    arguments = parser.parse_args()
    lay_out()
    for size in arguments.sizes:
        print_costs(*SIZES[size](), arguments.rounds)


def index(how: str, folder: Path, home: Path) -> None:
    """Index a folder for code search alone."""
    Projects(SqliteProjects(home), (CodeIndexer(makes_vectors=how == VECTORS),)).at(folder).index()


def with_code(home: Path) -> Projects:
    """Projects that are indexed for code search and nothing else."""
    return Projects(SqliteProjects(home), (CodeIndexer(),))


def print_costs(folder: Path, asked: Sequence[Query], rounds: int) -> None:
    """One repository."""
    best: dict[str, Indexed] = {}
    for _ in range(rounds):
        for how in (WORDS, VECTORS):
            found = indexed(how, folder)
            if how not in best or found.cost.cpu_seconds < best[how].cost.cpu_seconds:
                best[how] = found
    project = with_code(home_of(VECTORS)).at(folder)
    chunks = project.store.code.chunk_count()
    times = query_times(project, asked)
    print(f"\n{chunks:,} chunks, {project.store.totals().lines:,} lines, {len(asked)} questions\n", flush=True)
    print(f"| | {WORDS} | {VECTORS} | ratio |\n|---|--:|--:|--:|")
    words, vectors = best[WORDS], best[VECTORS]
    rows = [
        ("index, CPU-seconds", words.cost.cpu_seconds, vectors.cost.cpu_seconds),
        ("peak memory of indexing, MB", words.cost.peak_bytes / 1e6, vectors.cost.peak_bytes / 1e6),
        ("database, MB", words.database_bytes / 1e6, vectors.database_bytes / 1e6),
        *(
            (f"query p{share * 100:.0f}, CPU-ms", point(times[WORDS], share), point(times[VECTORS], share))
            for share in (0.5, 0.95)
        ),
    ]
    for name, without, with_them in rows:
        print(f"| {name} | {without:,.1f} | {with_them:,.1f} | {with_them / without:.2f} |", flush=True)


def home_of(how: str) -> Path:
    """Where one way keeps its data."""
    return SCRATCH / f"vector-cost-{how.replace(' ', '-')}"


def indexed(how: str, folder: Path) -> Indexed:
    """Index from nothing in a process of its own."""
    home = home_of(how)
    shutil.rmtree(home, ignore_errors=True)
    cost = measure([sys.executable, "-m", "benchmarks.vector_cost", "--index", how, folder, home])
    return Indexed(cost, sum(path.stat().st_size for path in home.rglob("*") if path.is_file()))


def query_times(project: ProjectIndex, asked: Sequence[Query]) -> dict[str, list[float]]:
    """Ask everything once to warm up, then again, and measure; by turns without and with meaning."""
    searches = {
        how: CodeSearch(project.store, project.project.root, by_meaning=how == VECTORS) for how in (WORDS, VECTORS)
    }
    times: dict[str, list[float]] = {how: [] for how in searches}
    for round_counts in (False, True):
        for query in asked:
            for how, search in searches.items():
                started = time.process_time()
                search.search(query.text)
                if round_counts:
                    times[how].append((time.process_time() - started) * 1000)
    return times


if __name__ == "__main__":
    main()
