"""Data types of the documentation domain, and the interfaces to source kinds and to the API domain."""

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
    """A passage of documentation or part of an API, ready to be shown. The first of `anchors` is used for the citation.

    `score` orders the passages of one answer; `confidence` (0 to 1) is comparable between answers. `is_clear` marks an
    API part that clearly matches the question, `is_near` a semantic match without shared terms. `goes_on_in` is the id
    of the passage that continues the section, or empty.
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
    is_near: bool = False
    goes_on_in: str = ""

    @property
    def citation(self) -> str:
        """The URL including the anchor of the section."""
        return f"{self.url}#{self.anchors[0]}" if self.anchors else self.url


@dataclass(frozen=True, slots=True)
class ParsedPages:
    """The result of reading one address: usually one page, and the addresses that it links to."""

    pages: tuple[PageRow, ...] = ()
    leads_to: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Unchanged:
    """The address has not changed since it was indexed."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """The address gives no page, for a reason that is no failure; `is_missing` marks a page that should exist.

    `etag` and `last_modified` are set if an unchanged response would be skipped again.
    """

    reason: str
    leads_to: tuple[str, ...] = ()
    etag: str = ""
    last_modified: str = ""
    is_missing: bool = False


@dataclass(frozen=True, slots=True)
class Unparsed:
    """A fetched address: the task that parses it in a child process, and the function that turns the result into an
    outcome."""

    task: Task
    finish: Callable[[Any], ParsedPages | Skipped]


class Origin(Protocol):
    """An opened source of any kind: where to start and how to read an address. Errors are raised as SourceError."""

    parallel: int
    batch_size: int  # number of addresses that one thread reads before they are parsed
    keeps_unlinked_pages: bool  # whether pages are kept when no page links to them any more

    def begin(self) -> Iterable[str | CrawlAddress]:
        """Yield the addresses at which a crawl starts; an unreadable sitemap is reported as a failed address.

        Raises SourceError if the source cannot be read at all.
        """

    def read(self, address: CrawlAddress, known: KnownPage | None) -> Unparsed | Unchanged | Skipped:
        """Read `address`; `known` is its indexed page. Called from several threads."""

    def take_turn(self, address: CrawlAddress) -> float:
        """Return how long to wait before `address` may be read; 0 means now, and reserves the turn."""

    def close(self) -> None:
        """Close connections and temporary files."""


PACKAGE_KINDS = ("pypi", "npm")
PACKAGE_ADDRESSES = tuple(f"{kind}:" for kind in PACKAGE_KINDS)
IS_API = "an API description, listed by list_apis"  # reason why it is not a page


@dataclass(frozen=True, slots=True)
class FoundDescription:
    """An API description found while adding or crawling documentation. Without `data`, `url` is a live endpoint.

    `brought_by` and `source_name` are the id and name of the source that contains it and is removed with it. `read`
    returns a file that the description refers to, if only the source can read it.
    """

    name: str
    url: str
    version: str
    data: bytes = b""
    brought_by: str = ""
    source_name: str = ""
    read: Callable[[str], bytes] | None = None
    projects: tuple[str, ...] = (SHARED,)

    @classmethod
    def of_source(
        cls, source: SourceRow, name: str, url: str, data: bytes, read: Callable[[str], bytes] | None = None
    ) -> FoundDescription:
        """Return a description that was found in a source."""
        return cls(name, url, source.version, data, source.id, source.name, read, source.projects)


class ApiCatalog(Protocol):
    """The interface of the API domain that the documentation domain uses."""

    def recognises(self, data: bytes, /) -> bool:
        """Whether `data` is an API description."""

    def add(self, description: FoundDescription, /) -> str:
        """Index an API description; return a text for the user."""

    def search(
        self, query: str, /, *, api_name: str, types: Sequence[str], limit: int, roots: Sequence[Path] = ()
    ) -> list[Passage]:
        """Return the best matching operations and schemas of one API, or of all that the projects at `roots` see."""

    def named_in(self, question: str, roots: Sequence[Path], /) -> tuple[str, ...]:
        """Return the visible APIs that a question names; only these are searched then."""

    def freshen(self, api_name: str, /) -> Sequence[str]:
        """Refresh an API whose files changed, or all of them without a name; return notes about stale results."""

    def names(self, roots: Sequence[Path] = (), /) -> dict[str, str]:
        """Return a description line for each API that the projects at `roots` see, by name."""

    def share(self, source_id: str, projects: Sequence[str], /) -> None:
        """Record which projects see the APIs that were found in a source."""

    def versions(self) -> dict[str, str]:
        """Return the version of each API by name; empty if it has none."""

    def refresh(self, name: str, /) -> str:
        """Read an API again; return a text about the changes."""

    def remove(self, name: str, /) -> str:
        """Remove an API; return a text for the user."""

    def brought_by(self, source_id: str, /) -> tuple[str, ...]:
        """Return the names of the APIs that were found in a source."""

    def remove_brought(self, source_id: str, /) -> None:
        """Remove the APIs that were found in a source."""


@dataclass(frozen=True, slots=True)
class SourceStatus:
    """Status of a source: the progress of its crawl, and its searchable pages."""

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
    rate: float
    seconds_left: float | None
