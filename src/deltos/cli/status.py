"""`deltos status`: list the indexed projects."""

from __future__ import annotations

import sys
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING

from deltos.cli.command import add_command, open_app, print_json
from deltos.cli.style import HIGHLIGHT, Column, is_interactive, print_table
from deltos.open_stores import describe_database
from deltos.text.counts import counted
from deltos.workspace.project_names import shortest_names

if TYPE_CHECKING:
    import argparse
    from pathlib import Path

    from deltos.cli.command import Subparsers
    from deltos.store.project import KnownIndex

UNFINISHED = "not finished; `deltos index` continues it"
_COLUMNS = (
    Column("project", HIGHLIGHT),
    Column("files", is_number=True),
    Column("MB", is_number=True),
    Column("indexed"),
    Column("commits", is_number=True),
    Column("folder"),
)


def add_commands(subparsers: Subparsers) -> None:
    """Add `status`."""
    add_command(subparsers, "status", _status)


def _status(arguments: argparse.Namespace) -> int:
    with open_app() as app:
        indexes = app.domains.projects.stores.indexed_projects(with_unfinished=True)
        if arguments.json:
            for index in indexes:
                print_json(_as_data(index))
            return 0
        print(f"data folder: {app.config.home}")
        if app.config.database:
            print(f"database: {describe_database(app.config.database)}")
        if not indexes:
            print("No project is indexed yet. Run `deltos index` in a repository.")
            return 0
        names = shortest_names(index.root for index in indexes)
        notes = {index.location: _index_notes(index) for index in indexes}
        plain = [line for index in indexes for line in (_index_line(index, names), *notes[index.location])]
        print_table(_COLUMNS, [_table_row(index, names) for index in indexes], plain)
        if is_interactive(sys.stdout):
            for index in indexes:
                for note in notes[index.location][bool(index.history) :]:
                    print(f"{names[index.root]}: {note.strip()}")
    return 0


def _index_notes(index: KnownIndex) -> list[str]:
    from deltos.workspace.failure_messages import failure_summaries

    history = [f"  history: {index.history}"] if index.history else []
    unfinished = [] if index.is_finished else [f"  {UNFINISHED}"]
    return [*history, *unfinished, *(f"  {summary}" for summary in failure_summaries(index.failures))]


def _table_row(index: KnownIndex, names: dict[Path, str]) -> tuple[str, ...]:
    return (
        names[index.root],
        f"{index.files:,}",
        f"{index.size_bytes / 1_000_000:.1f}",
        _format_time(index),
        index.history.partition(" ")[0] or "–",
        f"{index.root}{_missing_note(index)}",
    )


def _as_data(index: KnownIndex) -> dict[str, object]:
    return {
        "project_id": index.project_id,
        "root": str(index.root),
        "exists": index.root.is_dir(),
        "files": index.files,
        "synced_at": index.synced_at,
        "finished": index.is_finished,
        "database": index.location,
        "bytes": index.size_bytes,
        "history": index.history,
        "failures": [asdict(failure) for failure in index.failures],
    }


def _index_line(index: KnownIndex, names: dict[Path, str]) -> str:
    size = index.size_bytes / 1_000_000
    when = f", indexed {_format_time(index)}" if index.is_finished else ""
    details = f"{counted(index.files, 'file')}, {size:.1f} MB{when}{_missing_note(index)}"
    return f"{names[index.root]}  {index.root}  {details}"


def _format_time(index: KnownIndex) -> str:
    if not index.is_finished:
        return "not finished"
    return datetime.fromtimestamp(index.synced_at).astimezone().strftime("%Y-%m-%d %H:%M")


def _missing_note(index: KnownIndex) -> str:
    if index.root.is_dir():
        return ""
    return "  (folder is not on this machine)" if index.has_contents else "  (folder not found)"
