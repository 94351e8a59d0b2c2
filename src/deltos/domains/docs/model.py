"""Data types of the documentation domain, and the interfaces to sources and to the API domain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from deltos.workspace.source_projects import SHARED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from deltos.isolated_parser import Task
    from deltos.store.documents import CrawlAddress, KnownPage, PageRow, SkippedAddresses, SourceRow


@dataclass(frozen=True, slots=True)
class Passage:
    """A search result: a documentation passage, or an operation, schema, tag or overview of an API.

    The citation uses the first anchor. Scores can be compared only within one answer; confidences (0 to 1) can also be
    compared between answers. `is_clear` marks an API result that clearly matches the query, `is_semantic_match` a
    result found by similarity without shared terms. `next_passage_id` is the id of the passage that continues the
    section, or empty.
    """

    id: str
    url: str
    anchors: tuple[str, ...]
    title: str
    section: str
    source: str
    version: str
    text: str
    score: float
    is_clear: bool = False
    confidence: float = 1.0
    is_semantic_match: bool = False
    next_passage_id: str = ""

    @property
    def citation(self) -> str:
        """The URL of the passage, including the anchor of the section."""
        return f"{self.url}#{self.anchors[0]}" if self.anchors else self.url


@dataclass(frozen=True, slots=True)
class ParsedPages:
    """Result of parsing the response for an address: the pages (usually one) and the URLs to which they link."""

    pages: tuple[PageRow, ...] = ()
    linked_urls: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Unchanged:
    """Result for an address whose content has not changed since the last crawl."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """Result for an address that was fetched without an error but contains no page.

    `etag` and `last_modified` are set if an unchanged response need not be read again in the next crawl.
    """

    reason: str
    linked_urls: tuple[str, ...] = ()
    etag: str = ""
    last_modified: str = ""


@dataclass(frozen=True, slots=True)
class Unparsed:
    """A fetched page: the task that parses the page in a child process, and the function that converts the result."""

    task: Task
    finish: Callable[[Any], ParsedPages | Skipped]


class Origin(Protocol):
    """An opened source of any kind, which a crawl reads address by address. Errors are raised as SourceError."""

    thread_count: int  # number of threads that fetch addresses in parallel
    batch_size: int  # number of addresses that a thread fetches before parsing them
    keeps_unlinked_pages: bool  # whether a page is kept if no page links to it any more

    def start_addresses(self) -> Iterable[str | CrawlAddress]:
        """Yield the addresses (URLs or paths) at which a crawl starts.

        Skipped and failed addresses are yielded as CrawlAddress. Raises SourceError if the source cannot be read at
        all.
        """

    def read(self, address: CrawlAddress, known: KnownPage | None) -> Unparsed | Unchanged | Skipped:
        """Read `address`; `known` is the page that is already indexed for the address, if any.

        This method may be called from several threads.
        """

    def take_turn(self, address: CrawlAddress) -> float:
        """Return the seconds to wait before reading `address`.

        If 0 is returned, the address may be read at once, and the request is counted for the rate limit.
        """

    def close(self) -> None:
        """Close connections and temporary files."""


PACKAGE_KINDS = ("pypi", "npm")
PACKAGE_ADDRESSES = tuple(f"{kind}:" for kind in PACKAGE_KINDS)
API_DESCRIPTION_REASON = (
    "an API description, listed by list_apis"  # skip reason of an address that contains an API description
)


@dataclass(frozen=True, slots=True)
class FoundDescription:
    """An API description found while adding or crawling documentation.

    `source_id` and `source_name` identify the source that contains the description; removing the source also removes
    the API. `read` returns the content of a referenced file that only the source can read.
    """

    name: str
    url: str
    version: str
    data: bytes = b""
    source_id: str = ""
    source_name: str = ""
    read: Callable[[str], bytes] | None = None
    projects: tuple[str, ...] = (SHARED,)

    @classmethod
    def of_source(
        cls, source: SourceRow, name: str, url: str, data: bytes, read: Callable[[str], bytes] | None = None
    ) -> FoundDescription:
        """Return an API description that was found in a source."""
        return cls(name, url, source.version, data, source.id, source.name, read, source.projects)


class ApiCatalog(Protocol):
    """Operations of the API domain that the documentation domain uses."""

    def recognises(self, data: bytes, /) -> bool:
        """Whether `data` is the content of an API description."""

    def add(self, description: FoundDescription, /) -> str:
        """Index an API description; return a message for the user."""

    def search(
        self, query: str, /, *, api_name: str, types: Sequence[str], limit: int, roots: Sequence[Path] = ()
    ) -> list[Passage]:
        """Return the best matching operations and schemas of one API, or of all APIs that are visible to `roots`.

        `roots` are the root folders of projects.
        """

    def mentioned_apis(self, question: str, roots: Sequence[Path], /) -> tuple[str, ...]:
        """Return the names of the visible APIs that a query mentions."""

    def freshen(self, api_name: str, /) -> Sequence[str]:
        """Re-read an API, or all APIs if no name is given, if files have changed; return notes about stale results."""

    def description_lines(self, roots: Sequence[Path] = (), /) -> dict[str, str]:
        """Return one line of text for each API that is visible to the projects at `roots`, by API name."""

    def share(self, source_id: str, projects: Sequence[str], /) -> None:
        """Make the APIs found in a source visible to the given projects."""

    def versions(self) -> dict[str, str]:
        """Return the version of each API, by API name; empty if the API has no version."""

    def refresh(self, name: str, /) -> str:
        """Re-read an API; return a message about the changes since the last refresh."""

    def remove(self, name: str, /) -> str:
        """Remove an API; return a message for the user."""

    def apis_of_source(self, source_id: str, /) -> tuple[str, ...]:
        """Return the names of the APIs that were found in a source."""

    def remove_apis_of_source(self, source_id: str, /) -> None:
        """Remove the APIs that were found in a source."""


@dataclass(frozen=True, slots=True)
class SourceStatus:
    """Status of a source: the progress of the crawl and the number of searchable pages."""

    source: SourceRow
    state: str
    reason: str
    pages_done: int
    pages_queued: int
    pages_unchanged: int
    pages_skipped: int
    skipped: tuple[SkippedAddresses, ...]
    pages: int
    chunks: int
    failures: tuple[CrawlAddress, ...]
    started_at: float
    finished_at: float
    rate: float  # speed of the crawl in pages per second
    seconds_left: float | None  # estimated time until the crawl ends; None if unknown
