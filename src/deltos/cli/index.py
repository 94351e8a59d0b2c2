"""`deltos index`: update the index of a repository."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from deltos.cli.command import add_command, open_app, print_json
from deltos.cli.progress_bar import ProgressBar
from deltos.store.history import HISTORY_SUMMARY
from deltos.store.jobs import SET_ASIDE
from deltos.text.counts import counted

if TYPE_CHECKING:
    import argparse

    from deltos.cli.command import Subparsers
    from deltos.store.jobs import JobRow
    from deltos.workspace.project_index import ProjectIndex
    from deltos.workspace.sync import SyncReport

_TOO_LARGE_REASON = "too large"
_MAX_SHOWN_PATHS = 5


def add_commands(subparsers: Subparsers) -> None:
    """Add `index`."""
    verb = add_command(subparsers, "index", _index)
    verb.add_argument("path", nargs="?", default=".", help="folder to index; default: the current folder")
    verb.add_argument("--force", action="store_true", help="also parse unchanged files again")


def _index(arguments: argparse.Namespace) -> int:
    started = time.monotonic()
    bar = ProgressBar()
    with open_app() as app:
        index = app.domains.projects.index_of(Path(arguments.path))
        if job := index.queue(force=arguments.force):
            return _print_queued(index, job, as_json=arguments.json)
        report = index.index(progress=bar, force=arguments.force)
        seconds = time.monotonic() - started
        notes = [*index.catch_up(progress=bar, again=arguments.force)]
        bar.clear()
        if arguments.json:
            print_json(_as_data(index, report, seconds))
        else:
            _print_report(index, report, seconds)
            print("\n".join([*notes, f"history: {index.store.meta(HISTORY_SUMMARY) or 'none (not a git repository)'}"]))
    return 0


def _print_queued(index: ProjectIndex, job: JobRow, *, as_json: bool) -> int:
    if as_json:
        print_json({"project_id": index.project.project_id, "status": job.state, "job": job.id, "reason": job.reason})
    elif job.state == SET_ASIDE:
        print(f"{job.describe()} was set aside: {job.reason}\n`deltos jobs retry {job.id}` tries again")
    else:
        print(f"{job.describe()} is {job.state}: a worker indexes the project")
    return 1 if job.state == SET_ASIDE else 0


def _too_large_note(index: ProjectIndex) -> str:
    """Return a line that lists the files that are too large to index."""
    paths = sorted(path for path, file in index.store.skipped_files().items() if file.reason == _TOO_LARGE_REASON)
    more = f" and {len(paths) - _MAX_SHOWN_PATHS} more" if len(paths) > _MAX_SHOWN_PATHS else ""
    return f"too large to index: {', '.join(paths[:_MAX_SHOWN_PATHS])}{more}"


def _as_data(index: ProjectIndex, report: SyncReport, seconds: float) -> dict[str, object]:
    return {
        "project_id": index.project.project_id,
        "files_indexed": report.files_written,
        "files_skipped": report.files_skipped,
        "chunks_created": report.units_written.get("code", 0),
        "errors": report.errors,
        "duration_ms": int(seconds * 1000),
    }


def _print_report(index: ProjectIndex, report: SyncReport, seconds: float) -> None:
    totals = index.store.totals()
    for note in report.notes:
        print(note)
    print(f"{index.project.root.name}: {counted(report.files_written, 'file')} parsed in {seconds:.1f} s")
    print(f"index: {counted(totals.files, 'file')}, {counted(totals.lines, 'line')}")
    if report.skipped_by_reason:
        print("skipped: " + ", ".join(f"{why} {count}" for why, count in sorted(report.skipped_by_reason.items())))
    if report.skipped_by_reason.get(_TOO_LARGE_REASON):
        print(_too_large_note(index))
    for error in report.errors:
        print(f"error: {error}")
