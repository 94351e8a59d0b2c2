"""The graph of real code: parts of the standard library."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from tests.domains.graph.small_project import certain_locations

if TYPE_CHECKING:
    from tests.domains.graph.small_project import SmallProject

LIBRARY = Path(shutil.__file__).parent
PACKAGES = ("asyncio", "unittest", "email", "concurrent", "importlib", "logging", "http", "json", "xml", "collections")
FILES = (
    "enum.py",
    "dataclasses.py",
    "typing.py",
    "argparse.py",
    "functools.py",
    "contextlib.py",
    "ast.py",
    "socketserver.py",
)


def test_the_standard_library_is_resolved_without_failures(project: SmallProject) -> None:
    for name in PACKAGES:
        shutil.copytree(LIBRARY / name, project.root / name, ignore=shutil.ignore_patterns("__pycache__", "*test*"))
    for name in FILES:
        shutil.copy(LIBRARY / name, project.root / name)
    graph = project.graph()
    counts = graph.reader.counts()
    assert counts.unresolved_imports < 0.05 * (counts.imports + counts.external_imports)
    assert sum(counts.edges_by_kind.values()) > 5 * counts.possible / 2
    (target,) = [t for t in graph.targets("ArgumentParser") if t.first.path == "argparse.py"]
    assert any(place.startswith("unittest/main.py") for place in certain_locations(graph.references(target)))
