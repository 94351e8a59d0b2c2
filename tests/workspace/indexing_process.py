"""Script that indexes a project and prints a line after each step."""

from __future__ import annotations

import sys
from pathlib import Path

from deltos.domains.code.index import CodeIndexer
from deltos.domains.graph.index import GraphIndexer
from deltos.progress import Silent
from deltos.store.sqlite.projects import SqliteProjects
from deltos.workspace import sync
from deltos.workspace.projects import Projects


class Printer(Silent):
    """Progress listener that prints the number of processed files."""

    def report(self, done: int, total: int, what: str) -> None:
        """Print the number of processed files."""
        print(done, flush=True)


def open_projects(home: Path) -> Projects:
    """Return the projects of a process, with the indexers of the product."""
    return Projects(SqliteProjects(home), (CodeIndexer(), GraphIndexer()))


def main(home: str, root: str) -> None:
    """Index a project and commit after every batch."""
    sync.COMMIT_EVERY_SECONDS = 0.0
    print("started", flush=True)
    report = open_projects(Path(home)).index_of(Path(root)).index(progress=Printer())
    print("written", report.files_written, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
