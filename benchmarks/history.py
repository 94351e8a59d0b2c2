"""What it costs to read the history of repositories, and to ask it.

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
from deltos.isolated.process import Workers
from deltos.model import Project
from deltos.open_stores import open_projects
from deltos.progress import Silent
from deltos.store.project import FileRecord, SeenStamp

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from deltos.store.project import ProjectStore

_ASKED = 60
_FILES = 300
_T = TypeVar("_T")


class Cost(NamedTuple):
    """What one reading took: seconds by the clock, of CPU here, of CPU by git and a child that reads what it prints."""

    wall: float
    here: float
    children: float


def main() -> None:
    """Print a table, one row per repository."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("repositories", nargs="+", type=Path)
    titles = (
        "repository", "commits", "files", "read, s (CPU here + children)", "again, ms", "MB", "search p50/p95, ms",
        "300 files, ms", "files by words p50/p95, ms", "together p50/p95, ms",
    )  # fmt: skip
    print(f"| {' | '.join(titles)} |\n|---{'|--:' * (len(titles) - 1)}|")
    for root in parser.parse_args().repositories:
        with tempfile.TemporaryDirectory() as home:
            print(_row(root.resolve(), Path(home)), flush=True)


def _row(root: Path, home: Path) -> str:
    project = Project(root, "benchmark")
    with closing(open_projects(home).store_of(root)) as store:
        first = _timed(lambda: _catch_up(project, store))
        again = _timed(lambda: HistoryIndexer().catch_up(project, store, Silent()))
        history = store.history
        size = sum(file.stat().st_size for file in (home / "projects").iterdir()) / 1e6
        subjects, paths = _material(store)
        now = datetime.now(UTC)
        _know_files(store, paths)
        asked = _each(subjects, lambda text: search_commits(history, text, now, limit=10))
        by_words = _each(subjects, lambda text: history.match_files(text.lower().split()[:8], limit=50))
        together = _each(paths[:_ASKED], lambda path: history.changed_with(path, limit=20))
        of_files = min(_each(range(9), lambda _: history.of_files(paths[:_FILES])))
        return (
            f"| {root.name} | {history.totals().commits:,} | {len(paths):,} "
            f"| {first.wall:.1f} ({first.here:.1f} + {first.children:.1f}) | {again.wall * 1000:.0f} | {size:.0f} "
            f"| {_spread(asked)} | {of_files:.1f} | {_spread(by_words)} | {_spread(together)} |"
        )


def _catch_up(project: Project, store: ProjectStore) -> None:
    with closing(Workers()) as workers:
        HistoryIndexer(workers=workers).catch_up(project, store, Silent())


def _material(store: ProjectStore) -> tuple[list[str], list[str]]:
    """Subjects to ask with, and the files that the newest commits touched, spread over all of them."""
    rows = store.history.commits_in([], limit=50_000)
    step = max(1, len(rows) // _ASKED)
    paths: dict[str, None] = {}
    for found in store.history.paths_of([row.id for row in rows], limit=30).values():
        paths.update(dict.fromkeys(found))
    return [row.subject for row in rows[::step] if not row.is_merge], list(paths)


def _know_files(store: ProjectStore, paths: Sequence[str]) -> None:
    """Enter the files themselves, whose words only count where they are indexed."""
    with store.writing() as writer:
        for path in paths:
            writer.add_file(FileRecord(path, "", 1, b"", SeenStamp(0, 0, 0)))


def _timed(work: Callable[[], object]) -> Cost:
    wall, here, children = time.monotonic(), time.process_time(), _children()
    work()
    return Cost(time.monotonic() - wall, time.process_time() - here, _children() - children)


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _each(things: Sequence[_T], ask: Callable[[_T], object]) -> list[float]:
    """CPU milliseconds of each question: other programs on the machine do not count."""
    taken = []
    for thing in things:
        started = time.thread_time()
        ask(thing)
        taken.append((time.thread_time() - started) * 1000)
    return taken


def _spread(taken: Sequence[float]) -> str:
    ordered = sorted(taken)
    return f"{statistics.median(ordered):.1f}/{ordered[int(len(ordered) * 0.95)]:.1f}"


if __name__ == "__main__":
    main()
