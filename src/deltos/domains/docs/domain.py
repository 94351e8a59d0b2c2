"""Create the objects for documentation search from the database and the user's settings."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from deltos.clones.storage import Clones
from deltos.domains.docs.background_crawls import BackgroundCrawls
from deltos.domains.docs.crawl import Clock
from deltos.domains.docs.library import CHANGES_SECONDS, Library
from deltos.domains.docs.search import DocsSearch
from deltos.domains.docs.source import SourceOpener
from deltos.isolated.process_pool import ProcessPool
from deltos.isolated_parser import IsolatedParser
from deltos.logins import NO_LOGINS, Logins
from deltos.private_hosts import NO_PRIVATE_HOSTS, PrivateHosts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from deltos.domains.docs.model import ApiCatalog
    from deltos.fetch.http import HttpClient
    from deltos.logins import Login
    from deltos.semantic_index import SemanticIndex
    from deltos.store.jobs import Jobs
    from deltos.store.library import LibraryStore


MAX_PARSING_CRAWLS = 2  # maximum number of parser processes for crawls; the other processes are for tool calls


@dataclass(frozen=True, slots=True)
class Docs:
    """The functions of documentation search that tools and the command line use."""

    library: Library
    search: DocsSearch
    apis: ApiCatalog

    def names_of_other_projects(self, roots: Sequence[Path]) -> list[str]:
        """Return the names of sources and APIs that are not visible to the projects at `roots`."""
        visible = self.apis.description_lines(roots)
        apis = [name for name in self.apis.versions() if name not in visible]
        return [*(source.name for source in self.library.sources_of_other_projects(roots)), *apis]

    def find_api_name(self, name: str) -> str:
        """Return an API name in its stored spelling, or "" if the name is unknown or belongs to a source."""
        if self.library.has_source(name):
            return ""
        return next((api for api in self.apis.description_lines() if api.lower() == name.strip().lower()), "")


@dataclass(frozen=True, slots=True)
class _ParserLimit:
    """Context manager that limits parser processes to one per crawl and MAX_PARSING_CRAWLS for all crawls."""

    all_crawls: threading.BoundedSemaphore
    this_crawl: threading.Lock = field(default_factory=threading.Lock)

    def __enter__(self) -> None:
        self.this_crawl.acquire()
        self.all_crawls.acquire()

    def __exit__(self, *_: object) -> None:
        self.all_crawls.release()
        self.this_crawl.release()


def open_docs(
    store: LibraryStore,
    *,
    apis: ApiCatalog,
    private_hosts: PrivateHosts = NO_PRIVATE_HOSTS,
    environments: tuple[Path, ...] = (),
    clones: Path | None = None,
    logins: Logins = NO_LOGINS,
    parser: IsolatedParser | None = None,
    clock: Clock | None = None,
    semantic_index: Callable[[], SemanticIndex | None] = lambda: None,
    jobs: Jobs | None = None,
    changes_seconds: float = CHANGES_SECONDS,
) -> Docs:
    """Create the objects for documentation search in one database of documentation and APIs.

    If `jobs` is given, workers run the crawls. A search waits at most `changes_seconds` for changed local folders.
    """
    clock = clock or Clock()

    def open_client(login: Login | None = None) -> HttpClient:
        from deltos.fetch.http import HttpClient  # imported here, because searching does not need the network

        return HttpClient(private_hosts=private_hosts, login=login)

    isolated_parser = parser or IsolatedParser(ProcessPool(), store.unreadable_content)
    parsing = threading.BoundedSemaphore(MAX_PARSING_CRAWLS)
    opener = SourceOpener(
        open_client,
        apis,
        lambda: isolated_parser.taking_turns(_ParserLimit(parsing)),
        Clones(clones, private_hosts, open_client),
        environments,
        logins,
        clock.monotonic,
    )

    crawls = BackgroundCrawls(store.sources, store.pages, opener, clock, semantic_index, jobs)
    library = Library(
        store.sources,
        store.pages,
        store.passages,
        crawls,
        opener,
        apis=apis,
        now=clock.now,
        changes_seconds=changes_seconds,
    )
    return Docs(library, DocsSearch(library, store.passages, apis, semantic_index), apis)
