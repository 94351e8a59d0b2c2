"""Fixtures: a separate library for every test, with a clock that advances only when code waits."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import pytest

from deltos.domains.docs.crawl import Clock
from deltos.domains.docs.domain import Docs, open_docs
from deltos.domains.docs.library import NewSource
from deltos.domains.docs.model import FoundDescription, Passage
from deltos.domains.docs.search import DocsRequest
from deltos.logins import Logins
from deltos.store.sqlite.library import SqliteLibrary
from deltos.workspace.source_projects import is_visible_to, project_of
from tests.loopback import LOOPBACK
from tests.poison import PoisonedParser, short_limits

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from deltos.domains.docs.model import SourceStatus
    from deltos.isolated.process_pool import ProcessPool
    from deltos.isolated_parser import IsolatedParser


@dataclass(slots=True)
class FakeClock:
    """Clock that is advanced only by `sleep`."""

    seconds: float = 1_000.0
    waited: list[float] = field(default_factory=list)

    def now(self) -> float:
        return self.seconds

    def sleep(self, seconds: float) -> None:
        self.waited.append(seconds)
        self.seconds += seconds


@dataclass(slots=True)
class InMemoryApis:
    """An in-memory store of API descriptions; any text that contains "openapi" is one."""

    added: dict[str, FoundDescription] = field(default_factory=dict)
    is_behind: bool = False

    def recognises(self, data: bytes) -> bool:
        return b"openapi" in data

    def add(self, description: FoundDescription) -> str:
        self.added[description.name] = description
        return f"added the API {description.name}"

    def search(
        self, query: str, *, api_name: str, types: Sequence[str], limit: int, roots: Sequence[Path] = ()
    ) -> list[Passage]:
        found = [name for name in self.description_lines(roots) if api_name in ("", name)]
        return [
            Passage(f"api:{name}", f"{name}.json#/paths", (), query, "Endpoints", name, "1", f"GET /{name}", 1.0)
            for name in found
        ][:limit]

    def mentioned_apis(self, question: str, roots: Sequence[Path]) -> tuple[str, ...]:
        return ()

    def freshen(self, api_name: str) -> tuple[str, ...]:
        return ()

    def description_lines(self, roots: Sequence[Path] = ()) -> dict[str, str]:
        places = [project_of(root) for root in roots]
        visible = [name for name, each in self.added.items() if is_visible_to(each.projects, places)]
        return {name: f"{name}: API description" for name in visible}

    def share(self, source_id: str, projects: Sequence[str]) -> None:
        for name in self.apis_of_source(source_id):
            self.added[name] = replace(self.added[name], projects=tuple(projects))

    def versions(self) -> dict[str, str]:
        return dict.fromkeys(self.added, "1")

    def refresh(self, name: str) -> str:
        return f"refreshed {name}"

    def remove(self, name: str) -> str:
        del self.added[name]
        return f"Removed {name}."

    def apis_of_source(self, source_id: str) -> tuple[str, ...]:
        return tuple(name for name, description in self.added.items() if description.source_id == source_id)

    def remove_apis_of_source(self, source_id: str) -> None:
        for name in self.apis_of_source(source_id):
            del self.added[name]


@dataclass(slots=True)
class DocsClient:
    """Methods for common operations on a documentation library, with default values for tests."""

    docs: Docs
    time: FakeClock
    descriptions: InMemoryApis
    root: Path
    parser: PoisonedParser

    store: SqliteLibrary

    def attempts(self) -> list[str]:
        """Return the logged attempts to parse pages that make the parser fail."""
        return self.parser.log.read_text().split() if self.parser.log.exists() else []

    def add(self, url: str, name: str = "site", **options: object) -> SourceStatus:
        """Add a source and crawl it completely."""
        return self.crawl(self.begin(url, name, **options))

    def begin(self, url: str, name: str = "site", **options: object) -> str:
        """Add a source without crawling it and return its id."""
        added = self.docs.library.add(NewSource(url, name, self.root, (self.root,), **options))  # type: ignore[arg-type]
        return added.sources[0].id

    def crawl(self, source_id: str) -> SourceStatus:
        assert self.docs.library.crawls.run(source_id)
        return self.docs.library.status(source_id)

    def recrawl(self, name: str = "site", *, full: bool = False) -> SourceStatus:
        return self.crawl(self.docs.library.recrawl(name, full=full).source.id)

    def search(self, query: str, **options: object) -> list[Passage]:
        return list(self.docs.search.search(DocsRequest(query, **options)).passages)  # type: ignore[arg-type]

    def find_citations(self, query: str, **options: object) -> list[str]:
        return [passage.citation for passage in self.search(query, **options)]


@pytest.fixture
def docs_client(tmp_path: Path, workers: ProcessPool) -> Iterator[DocsClient]:
    """An empty library that may contact this machine."""
    time, descriptions = FakeClock(), InMemoryApis()
    store = SqliteLibrary(tmp_path / "home" / "library.db", now=time.now)
    clock = Clock(now=time.now, monotonic=time.now, sleep=time.sleep)
    parser = PoisonedParser(workers, store.unreadable_content, limits=short_limits)
    parser.log = tmp_path / "hostile.log"
    docs = open_docs(
        store,
        private_hosts=LOOPBACK,
        clones=tmp_path / "home" / "clones",
        logins=Logins.from_environment(os.environ),
        apis=descriptions,
        parser=parser,
        clock=clock,
    )
    root = tmp_path / "project"
    root.mkdir()
    yield DocsClient(docs, time, descriptions, root, parser, store)
    docs.library.crawls.stop()
    store.close()


@pytest.fixture
def parser(docs_client: DocsClient) -> IsolatedParser:
    """The parser of the library, which parses in child processes."""
    return docs_client.parser
