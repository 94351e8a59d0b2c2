"""A small project that is indexed on disk, and helpers to query its graph."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from deltos.app import App
from deltos.config import Config

if TYPE_CHECKING:
    from pathlib import Path

    from deltos.domains.graph.search import FoundReferences, GraphSearch
    from deltos.isolated.process_pool import ProcessPool
    from deltos.workspace.project_index import ProjectIndex

_MARK = re.compile(r"#\s*(def|ref|maybe)\b")


class SmallProject:
    """A project on disk with its own application and graph."""

    def __init__(self, folder: Path, workers: ProcessPool) -> None:
        self.root = folder / "project"
        self.root.mkdir(parents=True, exist_ok=True)
        self.app = App(Config(home=folder / "home"), workers=workers)

    def write(self, files: dict[str, str]) -> SmallProject:
        """Write files; an empty text deletes the file."""
        for path, text in files.items():
            file = self.root / path
            if text:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text)
            else:
                file.unlink()
        return self

    def index(self) -> ProjectIndex:
        """Update the index and return it."""
        index = self.app.domains.projects.index_of(self.root)
        index.index()
        return index

    def graph(self) -> GraphSearch:
        """Update the index and return the graph."""
        return self.app.graph_search(self.index())

    def close(self) -> None:
        """Close the application."""
        self.app.close()


def marked_lines(files: dict[str, str], mark: str) -> set[str]:
    """Return the lines with a comment `# def`, `# ref` or `# maybe`, as `file:line`."""
    return {
        f"{path}:{number}"
        for path, text in files.items()
        for number, line in enumerate(text.splitlines(), 1)
        if (found := _MARK.search(line)) and found[1] == mark
    }


def certain_locations(references: FoundReferences) -> set[str]:
    """Return the locations of certain references."""
    return {f"{row.path}:{row.line}" for row in (*references.certain, *references.aliased)}


def possible_locations(references: FoundReferences) -> set[str]:
    """Return the locations of possible references."""
    return {f"{row.path}:{row.line}" for row in references.possible}
