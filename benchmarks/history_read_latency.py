"""Measure how long searches wait while commit history is read in the background.

    python -m benchmarks.history_read_latency REPOSITORY

Runs searches in one process with an up-to-date index: first alone, then while the history is read for the first time.
The time in which a search neither runs nor waits for a processor is the time that it waits for the interpreter lock.
Other processes hardly affect this time. Linux only.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from deltos.domains.code.index import CodeIndexer
from deltos.domains.code.search import CodeSearch
from deltos.domains.history.index import HistoryIndexer
from deltos.isolated.process_pool import ProcessPool
from deltos.store.sqlite.projects import SqliteProjects
from deltos.workspace.background import BackgroundRun
from deltos.workspace.projects import Projects

if TYPE_CHECKING:
    from deltos.workspace.project_index import ProjectIndex

QUESTIONS = (
    "where are database connections closed after a request",
    "how is a queryset turned into SQL",
    "template tag that includes another template",
    "csrf token is checked",
    "migrations are squashed",
    "cache key of a view with query parameters",
    "password hashers upgrade iterations",
    "admin changelist filters",
)


def main() -> None:
    """Print the times of searches alone, and during the reading of history."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("repository", type=Path)
    root = parser.parse_args().repository.resolve()
    with tempfile.TemporaryDirectory() as home, closing(ProcessPool()) as workers:
        projects = Projects(SqliteProjects(Path(home)), (CodeIndexer(),), workers=workers)
        with closing(projects):
            index = projects.index_of(root)
            index.index()
            measure(index, workers)


def measure(index: ProjectIndex, workers: ProcessPool) -> None:
    """Time searches alone, and while history is read."""
    search = CodeSearch(index.store, index.project.root)
    for question in QUESTIONS:
        search.search(question)
    alone = [time_search(search, number) for number in range(3 * len(QUESTIONS))]
    started, cpu = time.monotonic(), time.process_time()
    follower = HistoryIndexer(workers=workers)
    reading = BackgroundRun(lambda progress: follower.catch_up(index.project, index.store, progress))
    during_read: list[Search] = []
    while reading.is_running:
        during_read.append(time_search(search, len(during_read)))
    seconds, cpu_seconds = time.monotonic() - started, time.process_time() - cpu
    commits = index.store.history.totals().commits
    print(f"{commits:,} commits, read in {seconds:.0f} s; {cpu_seconds:.1f} s of CPU here, searches included")
    print("| | searches | CPU p50 | waiting p50 | p90 | mean |\n|---|--:|--:|--:|--:|--:|")
    for name, found in (("alone", alone), ("during the read", during_read)):
        waits = sorted(each.waited_ms for each in found)
        cpu_ms = statistics.median(each.cpu_ms for each in found)
        figures = (cpu_ms, statistics.median(waits), waits[int(len(waits) * 0.9)], statistics.mean(waits))
        print(f"| {name} | {len(found)} | {' | '.join(f'{figure:.1f} ms' for figure in figures)} |")


class Search(NamedTuple):
    """CPU time of a search, and the time for which its thread was blocked."""

    cpu_ms: float
    waited_ms: float


def time_search(search: CodeSearch, number: int) -> Search:
    """Run one search, and measure its CPU time and the time its thread was blocked."""
    ran, queued = scheduling_times_ms()
    started = time.perf_counter()
    search.search(QUESTIONS[number % len(QUESTIONS)])
    wall = (time.perf_counter() - started) * 1000
    ran_then, queued_then = scheduling_times_ms()
    return Search(ran_then - ran, max(0.0, wall - (ran_then - ran) - (queued_then - queued)))


def scheduling_times_ms() -> tuple[float, float]:
    """Return how long this thread has run, and how long it has waited for a processor, in milliseconds."""
    ran, queued, _ = Path(f"/proc/self/task/{threading.get_native_id()}/schedstat").read_text().split()
    return int(ran) / 1e6, int(queued) / 1e6


if __name__ == "__main__":
    main()
