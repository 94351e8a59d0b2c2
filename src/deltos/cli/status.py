"""`deltos status`: which projects are indexed, and how much of them."""

from __future__ import annotations

import sys
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING

from deltos.cli.command import add_verb, opened_app, print_json
from deltos.cli.looks import MARKED, Column, is_looked_at, print_table
from deltos.open_stores import describe_database
from deltos.text.counts import counted
from deltos.workspace.names import names_of

if TYPE_CHECKING:
    import argparse
    from pathlib import Path

    from deltos.cli.command import Subparsers
    from deltos.store.project import KnownIndex

UNFINISHED = "not finished: `deltos index` goes on"
_COLUMNS = (
    Column("project", MARKED),
    Column("files", is_number=True),
    Column("MB", is_number=True),
    Column("synchronised"),
    Column("commits", is_number=True),
    Column("folder"),
)


def add_commands(subparsers: Subparsers) -> None:
    """Add `status`."""
    add_verb(subparsers, "status", _status, "list the indexed projects")


def _status(arguments: argparse.Namespace) -> int:
    with opened_app() as app:
        indexes = app.domains.projects.stores.known(with_unfinished=True)
        if arguments.json:
            for index in indexes:
                print_json(_as_data(index))
            return 0
        print(f"data folder: {app.config.home}")
        if app.config.database:
            print(f"database: {describe_database(app.config.database)}")
        if not indexes:
            print("no project is indexed yet; run `deltos index` in a repository")
            return 0
        names = names_of(index.root for index in indexes)
        notes = {index.place: _notes(index) for index in indexes}
        plain = [line for index in indexes for line in (_line(index, names), *notes[index.place])]
        print_table(_COLUMNS, [_row(index, names) for index in indexes], plain)
        if is_looked_at(sys.stdout):
            for index in indexes:
                for note in notes[index.place][bool(index.history) :]:
                    print(f"{names[index.root]}: {note.strip()}")
    return 0


def _notes(index: KnownIndex) -> list[str]:
    from deltos.workspace.failures import summaries

    history = [f"  history: {index.history}"] if index.history else []
    unfinished = [] if index.is_finished else [f"  {UNFINISHED}"]
    return [*history, *unfinished, *(f"  {summary}" for summary in summaries(index.failures))]


def _row(index: KnownIndex, names: dict[Path, str]) -> tuple[str, ...]:
    return (
        names[index.root],
        f"{index.files:,}",
        f"{index.size_bytes / 1_000_000:.1f}",
        _when(index),
        index.history.partition(" ")[0] or "–",
        f"{index.root}{_gone(index)}",
    )


def _as_data(index: KnownIndex) -> dict[str, object]:
    return {
        "project_id": index.project_id,
        "root": str(index.root),
        "exists": index.root.is_dir(),
        "files": index.files,
        "synced_at": index.synced_at,
        "finished": index.is_finished,
        "database": index.place,
        "bytes": index.size_bytes,
        "history": index.history,
        "failures": [asdict(failure) for failure in index.failures],
    }


def _line(index: KnownIndex, names: dict[Path, str]) -> str:
    size = index.size_bytes / 1_000_000
    when = f", synchronised {_when(index)}" if index.is_finished else ""
    told = f"{counted(index.files, 'file')}, {size:.1f} MB{when}{_gone(index)}"
    return f"{names[index.root]}  {index.root}  {told}"


def _when(index: KnownIndex) -> str:
    if not index.is_finished:
        return "not finished"
    return datetime.fromtimestamp(index.synced_at).astimezone().strftime("%Y-%m-%d %H:%M")


def _gone(index: KnownIndex) -> str:
    if index.root.is_dir():
        return ""
    return "  (folder is not on this machine)" if index.has_contents else "  (folder is gone)"
