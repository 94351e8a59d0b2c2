"""Measure the cost of reading and querying the history of repositories.

python -m benchmarks.history REPOSITORY …
"""

from __future__ import annotations

import argparse
import resource
import statistics
import tempfile
import time
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from deltos.domains.history.index import HistoryIndexer
from deltos.domains.history.search import search_commits
from deltos.isolated.process_pool import ProcessPool
from deltos.model import Project
from deltos.open_stores import open_projects
from deltos.progress import Silent
from deltos.store.project import FileRecord, SeenStamp

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from deltos.store.project import ProjectStore

_QUERY_COUNT = 60
_FILE_COUNT = 300
_T = TypeVar("_T")


class Cost(NamedTuple):
    """Wall-clock seconds and CPU seconds of reading a history.

    The CPU seconds are those of this process, and those of git and of the process that parses its output.
    """

    wall: float
    here: float
    children: float


def main() -> None:
    """Print a table, one row per repository."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("repositories", nargs="+", type=Path)
    titles = (
        "repository", "commits", "files", "read, s (CPU here + children)", "reread, ms", "MB", "search p50/p95, ms",
        "300 files, ms", "files by words p50/p95, ms", "together p50/p95, ms",
    )  # fmt: skip
    print(f"| {' | '.join(titles)} |\n|---{'|--:' * (len(titles) - 1)}|")
    for root in parser.parse_args().repositories:
        with tempfile.TemporaryDirectory() as home:
            print(_measure_repository(root.resolve(), Path(home)), flush=True)


def _measure_repository(root: Path, home: Path) -> str:
    project = Project(root, "benchmark")
    with closing(open_projects(home).store_of(root)) as store:
        first = _measure(lambda: _catch_up(project, store))
        again = _measure(lambda: HistoryIndexer().catch_up(project, store, Silent()))
        history = store.history
        size = sum(file.stat().st_size for file in (home / "projects").iterdir()) / 1e6
        subjects, paths = _subjects_and_files(store)
        now = datetime.now(UTC)
        _insert_files(store, paths)
        asked = _time_each(subjects, lambda text: search_commits(history, text, now, limit=10))
        by_words = _time_each(subjects, lambda text: history.match_files(text.lower().split()[:8], limit=50))
        together = _time_each(paths[:_QUERY_COUNT], lambda path: history.files_changed_with(path, limit=20))
        of_files = min(_time_each(range(9), lambda _: history.file_histories(paths[:_FILE_COUNT])))
        return (
            f"| {root.name} | {history.totals().commits:,} | {len(paths):,} "
            f"| {first.wall:.1f} ({first.here:.1f} + {first.children:.1f}) | {again.wall * 1000:.0f} | {size:.0f} "
            f"| {_percentiles(asked)} | {of_files:.1f} | {_percentiles(by_words)} | {_percentiles(together)} |"
        )


def _catch_up(project: Project, store: ProjectStore) -> None:
    with closing(ProcessPool()) as workers:
        HistoryIndexer(workers=workers).catch_up(project, store, Silent())


def _subjects_and_files(store: ProjectStore) -> tuple[list[str], list[str]]:
    """Return commit subjects to search for, and files that recent commits changed."""
    rows = store.history.commits_in([], limit=50_000)
    step = max(1, len(rows) // _QUERY_COUNT)
    paths: dict[str, None] = {}
    for found in store.history.paths_of([row.id for row in rows], limit=30).values():
        paths.update(dict.fromkeys(found))
    return [row.subject for row in rows[::step] if not row.is_merge], list(paths)


def _insert_files(store: ProjectStore, paths: Sequence[str]) -> None:
    """Add the files to the index, because the history is only searched for indexed files."""
    with store.writing() as writer:
        for path in paths:
            writer.add_file(FileRecord(path, "", 1, b"", SeenStamp(0, 0, 0)))


def _measure(work: Callable[[], object]) -> Cost:
    wall, here, children = time.monotonic(), time.process_time(), _children_cpu_seconds()
    work()
    return Cost(time.monotonic() - wall, time.process_time() - here, _children_cpu_seconds() - children)


def _children_cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _time_each(queries: Sequence[_T], run_query: Callable[[_T], object]) -> list[float]:
    """Return the CPU milliseconds of each query. CPU time is used because other processes affect wall-clock time."""
    taken = []
    for thing in queries:
        started = time.thread_time()
        run_query(thing)
        taken.append((time.thread_time() - started) * 1000)
    return taken


def _percentiles(taken: Sequence[float]) -> str:
    ordered = sorted(taken)
    return f"{statistics.median(ordered):.1f}/{ordered[int(len(ordered) * 0.95)]:.1f}"


if __name__ == "__main__":
    main()
