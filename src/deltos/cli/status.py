"""`deltos status`: which projects are indexed, and how much of them."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING

from deltos.cli.command import add_verb, opened_app, print_json

if TYPE_CHECKING:
    import argparse

    from deltos.cli.command import Subparsers
    from deltos.store.project import KnownIndex


def add_commands(subparsers: Subparsers) -> None:
    """Add `status`."""
    add_verb(subparsers, "status", _status, "list the indexed projects")


def _status(arguments: argparse.Namespace) -> int:
    from deltos.workspace.failures import summaries

    with opened_app() as app:
        indexes = app.domains.projects.stores.known()
        if arguments.json:
            for index in indexes:
                print_json(_as_data(index))
            return 0
        print(f"data folder: {app.config.home}")
        if not indexes:
            print("no project is indexed yet; run `deltos index` in a repository")
        for index in indexes:
            print(_line(index))
            if index.history:
                print(f"  history: {index.history}")
            for summary in summaries(index.failures):
                print(f"  {summary}")
    return 0


def _as_data(index: KnownIndex) -> dict[str, object]:
    return {
        "project_id": index.project_id,
        "root": str(index.root),
        "exists": index.root.is_dir(),
        "files": index.files,
        "synced_at": index.synced_at,
        "database": index.place,
        "bytes": index.size_bytes,
        "history": index.history,
        "failures": [asdict(failure) for failure in index.failures],
    }


def _line(index: KnownIndex) -> str:
    when = datetime.fromtimestamp(index.synced_at).astimezone().strftime("%Y-%m-%d %H:%M")
    gone = "" if index.root.is_dir() else "  (folder is gone)"
    size = index.size_bytes / 1_000_000
    return f"{index.project_id}  {index.root}  {index.files} files, {size:.1f} MB, synchronised {when}{gone}"
