"""`deltos index`: bring a repository's index up to date."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from deltos.cli.command import add_verb, opened_app, print_json
from deltos.cli.progress_bar import ProgressBar
from deltos.domains.code.embedding import is_read, unread_note
from deltos.store.history import HISTORY_SUMMARY
from deltos.store.jobs import SET_ASIDE
from deltos.text.counts import counted

if TYPE_CHECKING:
    import argparse

    from deltos.cli.command import Subparsers
    from deltos.progress import Progress
    from deltos.store.jobs import JobRow
    from deltos.workspace.project_index import ProjectIndex
    from deltos.workspace.sync import SyncReport

_TOO_LARGE = "too large"
_SHOWN_PATHS = 5
_READING_SECONDS = 10.0


def add_commands(subparsers: Subparsers) -> None:
    """Add `index`."""
    verb = add_verb(subparsers, "index", _index, "index a repository; only what changed is parsed")
    verb.add_argument("path", nargs="?", default=".", help="folder to index; default: the current one")
    verb.add_argument("--force", action="store_true", help="parse every file again")


def _index(arguments: argparse.Namespace) -> int:
    started = time.monotonic()
    bar = ProgressBar()
    with opened_app() as app:
        index = app.domains.projects.at(Path(arguments.path))
        if job := index.queue(force=arguments.force):
            return _tell_queued(index, job, as_json=arguments.json)
        report = index.index(progress=bar, force=arguments.force)
        seconds = time.monotonic() - started
        notes = [*index.catch_up(progress=bar, again=arguments.force)]
        if app.config.searches_by_meaning:
            notes += _read_chunks(index, bar)
        bar.clear()
        if arguments.json:
            print_json(_as_data(index, report, seconds))
        else:
            _print(index, report, seconds)
            print("\n".join([*notes, f"history: {index.store.meta(HISTORY_SUMMARY) or 'none (not a git repository)'}"]))
    return 0


def _read_chunks(index: ProjectIndex, bar: ProgressBar) -> list[str]:
    """Read what is compared by meaning, for some seconds: of small projects all; a note where something is left."""
    from deltos.domains.code.near import near_chunks  # deferred: numpy and the model take a while to open

    store = index.store.code
    read, total = near_chunks(store).read(store, _ForSeconds(bar, _READING_SECONDS))
    if not is_read(total):
        return [f"meaning: {unread_note(total)}"]
    if read < total:
        return [f"meaning: {read:,} of {total:,} chunks are read as a whole; a server reads the rest when it is asked"]
    return []


class _ForSeconds:
    """Tells how far work is, and ends it after a while."""

    def __init__(self, told: Progress, seconds: float) -> None:
        self._told = told
        self._until = time.monotonic() + seconds

    def report(self, done: int, total: int, what: str) -> None:
        """Pass it on."""
        self._told.report(done, total, what)

    def cancelled(self) -> bool:
        """Whether the time is over, or somebody wants it to end."""
        return time.monotonic() > self._until or self._told.cancelled()


def _tell_queued(index: ProjectIndex, job: JobRow, *, as_json: bool) -> int:
    if as_json:
        print_json({"project_id": index.project.project_id, "status": job.state, "job": job.id, "reason": job.reason})
    elif job.state == SET_ASIDE:
        print(f"{job.told()} was set aside: {job.reason}\n`deltos jobs retry {job.id}` tries again")
    else:
        print(f"{job.told()} is {job.state}: a worker indexes the project")
    return 1 if job.state == SET_ASIDE else 0


def _too_large(index: ProjectIndex) -> str:
    """The files that nothing is found of because of their size; nobody else would name them."""
    paths = sorted(path for path, file in index.store.skipped().items() if file.reason == _TOO_LARGE)
    more = f" and {len(paths) - _SHOWN_PATHS} more" if len(paths) > _SHOWN_PATHS else ""
    return f"too large to index: {', '.join(paths[:_SHOWN_PATHS])}{more}"


def _as_data(index: ProjectIndex, report: SyncReport, seconds: float) -> dict[str, object]:
    return {
        "project_id": index.project.project_id,
        "files_indexed": report.files_written,
        "files_skipped": report.files_skipped,
        "chunks_created": report.pieces_written.get("code", 0),
        "errors": report.errors,
        "duration_ms": int(seconds * 1000),
    }


def _print(index: ProjectIndex, report: SyncReport, seconds: float) -> None:
    totals = index.store.totals()
    for note in report.notes:
        print(note)
    print(f"{index.project.root.name}: {counted(report.files_written, 'file')} parsed in {seconds:.1f} s")
    print(f"index: {counted(totals.files, 'file')}, {counted(totals.lines, 'line')}")
    if report.skipped_by_reason:
        print("skipped: " + ", ".join(f"{why} {count}" for why, count in sorted(report.skipped_by_reason.items())))
    if report.skipped_by_reason.get(_TOO_LARGE):
        print(_too_large(index))
    for error in report.errors:
        print(f"error: {error}")
