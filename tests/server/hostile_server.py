"""The real server, but its graph loops for ever in C over files that say so. `serve` takes `deltos mcp`'s words."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deltos.app import App
from deltos.domains.code.index import CodeIndexer
from deltos.domains.graph.index import GraphIndexer
from deltos.isolated.process import Workers
from deltos.server import front
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
    """The graph's indexer, with a reader that a file can stop."""

    def extract(self, file: ParsedFile) -> Any:
        """Facts of a file, if it lets us."""
        if ENDLESS in file.data and file.language is not None:
            sys.stderr.write(f"reading {file.path} for ever\n")
            sys.stderr.flush()
            re.match(r"(a*)*b", "a" * 60)  # never lets go of the interpreter
        return super().extract(file)


def open_toolbox(config: Config) -> Toolbox:
    """The application's tools over projects with the endless graph."""
    app = App(config)
    app.domains.workers = Workers(importable_from=(REPOSITORY,))
    app.domains.projects = Projects(
        SqliteProjects(config.home), (CodeIndexer(), EndlessGraph()), workers=app.domains.workers
    )
    return Toolbox(app.tools(), close=app.close)


def serve() -> int:
    """Serve; a child may take so long that others are surely answered first, and not longer than a test has patience."""
    batches.LEAST_CPU_SECONDS = 2.0
    return front.main(sys.argv[1:], open_toolbox)
