"""Measure the cost of semantic code search: indexing, memory, database and queries, with and without vectors.

    python -m benchmarks.vector_cost [medium] [large] [--rounds 2]

Uses the repositories and questions of `query_speed`. Indexing runs in one process, alternately with and without
vectors, and the best round counts; each question runs with and without vectors in one warm process. All times are CPU
times, which other load hardly affects.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.code_dataset import lay_out
from benchmarks.paths import SCRATCH
from benchmarks.processes import Cost, measure
from benchmarks.query_speed import large_repository, medium_repository, quantile
from deltos.domains.code.index import CodeIndexer
from deltos.domains.code.search import CodeSearch
from deltos.store.sqlite.projects import SqliteProjects
from deltos.workspace.projects import Projects

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.code_dataset import Query
    from deltos.workspace.project_index import ProjectIndex

REPOSITORIES = {"medium": medium_repository, "large": large_repository}
WORDS, VECTORS = "terms only", "with vectors"


@dataclass(frozen=True, slots=True)
class IndexCost:
    """Cost of building an index, and its size on disk."""

    cost: Cost
    database_bytes: int


def main() -> None:
    """Print a table for each size; in a child process, index one folder."""
    if sys.argv[1:2] == ["--index"]:
        how, folder, home = sys.argv[2:]
        index(how, Path(folder), Path(home))
        return
    parser = argparse.ArgumentParser()
    parser.add_argument("sizes", nargs="*", default=list(REPOSITORIES))
    parser.add_argument("--rounds", type=int, default=2)
    arguments = parser.parse_args()
    lay_out()
    for size in arguments.sizes:
        print_costs(*REPOSITORIES[size](), arguments.rounds)


def index(variant: str, folder: Path, home: Path) -> None:
    """Index a folder for code search only."""
    Projects(SqliteProjects(home), (CodeIndexer(makes_vectors=variant == VECTORS),)).index_of(folder).index()


def open_code_index(home: Path) -> Projects:
    """Return projects that are indexed for code search only."""
    return Projects(SqliteProjects(home), (CodeIndexer(),))


def print_costs(folder: Path, asked: Sequence[Query], rounds: int) -> None:
    """Print the costs of one repository."""
    best: dict[str, IndexCost] = {}
    for _ in range(rounds):
        for how in (WORDS, VECTORS):
            found = index_from_scratch(how, folder)
            if how not in best or found.cost.cpu_seconds < best[how].cost.cpu_seconds:
                best[how] = found
    project = open_code_index(home_of(VECTORS)).index_of(folder)
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
            (f"query p{share * 100:.0f}, CPU-ms", quantile(times[WORDS], share), quantile(times[VECTORS], share))
            for share in (0.5, 0.95)
        ),
    ]
    for name, without, with_them in rows:
        print(f"| {name} | {without:,.1f} | {with_them:,.1f} | {with_them / without:.2f} |", flush=True)


def home_of(variant: str) -> Path:
    """Return the data folder of an index with or without vectors."""
    return SCRATCH / f"vector-cost-{variant.replace(' ', '-')}"


def index_from_scratch(variant: str, folder: Path) -> IndexCost:
    """Delete the index, and build it again in a new process."""
    home = home_of(variant)
    shutil.rmtree(home, ignore_errors=True)
    cost = measure([sys.executable, "-m", "benchmarks.vector_cost", "--index", variant, folder, home])
    return IndexCost(cost, sum(path.stat().st_size for path in home.rglob("*") if path.is_file()))


def query_times(project: ProjectIndex, asked: Sequence[Query]) -> dict[str, list[float]]:
    """Run all queries without measuring them. Then measure each query, alternately without and with vectors."""
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
