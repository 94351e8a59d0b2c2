"""Helpers that create git repositories and index their history."""

from __future__ import annotations

import os
import subprocess
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from deltos.domains.history.index import HistoryIndexer
from deltos.model import Project
from deltos.open_stores import open_projects
from deltos.progress import Silent
from tests.repositories import GIT_ENVIRONMENT, git, write_files

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from deltos.store.project import ProjectStore

START = 1_600_000_000
_DAY = 86_400


def create_repository(root: Path) -> Path:
    """Create an empty repository."""
    root.mkdir(parents=True, exist_ok=True)
    git(root, "init", "--quiet", "--initial-branch=main")
    return root


def commit(
    root: Path,
    message: str | bytes,
    files: Mapping[str, str | bytes] | None = None,
    *,
    day: int = 0,
    author: str = "Ada",
    removed: tuple[str, ...] = (),
) -> str:
    """Commit files `day` days after `START`; return the hash."""
    write_files(root, files or {})
    for path in removed:
        (root / path).unlink()
    git(root, "add", "--all")
    when = f"{START + day * _DAY} +0000"
    environment = GIT_ENVIRONMENT | {
        "GIT_AUTHOR_NAME": author,
        "GIT_AUTHOR_DATE": when,
        "GIT_COMMITTER_DATE": when,
    }
    given = message.encode() if isinstance(message, str) else message
    subprocess.run(
        ["git", "-C", str(root), "commit", "--quiet", "--allow-empty", "--cleanup=verbatim", "--file=-"],
        input=given, check=True, env=os.environ | environment, capture_output=True,
    )  # fmt: skip
    return git(root, "rev-parse", "HEAD")


@contextmanager
def open_store(home: Path, root: Path) -> Iterator[ProjectStore]:
    """Open the store of a project."""
    with closing(open_projects(home).store_of(root.resolve())) as store:
        yield store


def read_history(store: ProjectStore, root: Path, indexer: HistoryIndexer | None = None) -> None:
    """Index the history in the way a newly started process does."""
    (indexer or HistoryIndexer()).catch_up(Project(root.resolve(), "test"), store, Silent())


def subjects(store: ProjectStore) -> list[str]:
    """Return the subjects of all indexed commits, newest first."""
    return [row.subject for row in store.history.commits_in([], limit=100_000)]
