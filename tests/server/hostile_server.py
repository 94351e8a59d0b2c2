"""The real server with a graph indexer that loops forever in C on marked files. `serve` takes the arguments of `deltos
mcp`."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deltos.app import App
from deltos.domains.code.index import CodeIndexer
from deltos.domains.graph.index import GraphIndexer
from deltos.isolated.process_pool import ProcessPool
from deltos.server import startup
from deltos.store.sqlite.projects import SqliteProjects
from deltos.tool import Toolbox
from deltos.workspace import batches
from deltos.workspace.projects import Projects

if TYPE_CHECKING:
    from deltos.config import Config
    from deltos.workspace.indexer import ParsedFile

ENDLESS = b"# the graph reads this for ever"
REPOSITORY = str(Path(__file__).parents[2])


class EndlessGraph(GraphIndexer):
    """Graph indexer that never finishes on files with a marker."""

    def extract(self, file: ParsedFile) -> Any:
        """Return the facts of a file, or never return if the file has the marker."""
        if ENDLESS in file.data and file.language is not None:
            sys.stderr.write(f"reading {file.path} for ever\n")
            sys.stderr.flush()
            re.match(r"(a*)*b", "a" * 60)  # never releases the GIL
        return super().extract(file)


def open_toolbox(config: Config) -> Toolbox:
    """Return the application's tools over projects with the endless graph indexer."""
    app = App(config)
    app.domains.workers = ProcessPool(importable_from=(REPOSITORY,))
    app.domains.projects = Projects(
        SqliteProjects(config.home), (CodeIndexer(), EndlessGraph()), workers=app.domains.workers
    )
    return Toolbox(app.tools(), close=app.close)


def serve() -> int:
    """Serve with a time limit for child processes that is longer than the measurements of tests but below their timeouts."""
    batches.MIN_CPU_SECONDS = 2.0
    return startup.main(sys.argv[1:], open_toolbox)
