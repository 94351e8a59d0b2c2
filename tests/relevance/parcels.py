"""A small shipping service with code, documentation, an API and memories, and questions about it with their answers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from deltos.domains.docs.library import NewSource
from deltos.domains.memory.core.model import Draft, ObservationOrigin
from deltos.federation.model import SearchRequest
from deltos.progress import Silent
from deltos.workspace.identity import identify
from tests.repositories import write_files

if TYPE_CHECKING:
    from deltos.app import App
    from deltos.federation.model import Hit

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Golden:
    """A question, the kind of its best hit, and a part of the id, title or text of that hit."""

    kind: str
    answer: str
    question: str

    def is_answered_by(self, hit: Hit) -> bool:
        return hit.kind == self.kind and any(self.answer in text for text in (hit.id, hit.title, hit.url, hit.text))


def goldens() -> list[Golden]:
    lines = (HERE / "parcels_questions.txt").read_text("utf-8").splitlines()
    return [Golden(*line.split(" | ", 2)) for line in lines if not line.startswith("#")]


def unpack(archive: Path, root: Path) -> Path:
    """Write the files of an archive below `root`."""
    _, *rest = re.split(r"^-- (.+) --\n", archive.read_text("utf-8"), flags=re.MULTILINE)
    return write_files(root, dict(zip(rest[::2], rest[1::2], strict=True)))


def build_parcels(app: App, root: Path) -> Path:
    """Write the project, index it, add its documentation, API and observations; return its root."""
    unpack(HERE / "parcels.txtar", root)
    app.domains.projects.index_of(root).index()
    add_documentation(app, root, "docs", "parcels-docs")
    app.domains.apis.indexer.add((root / "openapi.yaml").as_posix(), "parcels")
    place = ObservationOrigin(identify(root).project_id, root)
    for line in (HERE / "parcels_memories.txt").read_text("utf-8").splitlines():
        kind, text = line.split(" | ", 1)
        app.domains.memory.remember(Draft(text, kind=kind), place)
    return root


def add_documentation(app: App, root: Path, folder: str, name: str) -> None:
    """Add a folder of the project as a documentation source and crawl it."""
    library = app.domains.docs.library
    for source in library.add(NewSource(str(root / folder), name, root, (root,))).sources:
        library.crawls.run(source.id)


def first_hits(app: App, root: Path, question: str, limit: int = 10) -> list[Hit]:
    """Return the first hits of the federated search."""
    found = app.federation.search(SearchRequest(question, root, Silent(), limit=limit))
    return [ranked.hit for ranked in found.ranked]
