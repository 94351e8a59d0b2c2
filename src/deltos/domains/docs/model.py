"""The nouns of the documentation domain: what a source kind reads, and what other domains may do for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from deltos.guarded import Task
    from deltos.store.documents import CrawlAddress, KnownPage, PageRow, SkippedAddresses, SourceRow


@dataclass(frozen=True, slots=True)
class Passage:
    """A found piece of documentation, ready to show. The first of `anchors` opens it.

    `score` compares passages of one answer; `confidence` (0 to 1) means the same in every answer. `is_clear` marks part
    of an API that the question is plainly about, `is_near` what shares no word with it. `goes_on_in` is the id of the
    passage with which its section goes on; empty where it ends.
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
        """The address that opens at the right section."""
        return f"{self.url}#{self.anchors[0]}" if self.anchors else self.url


@dataclass(frozen=True, slots=True)
class PageReading:
    """What came of reading one address: usually one page, and further addresses that it leads to."""

    pages: tuple[PageRow, ...] = ()
    leads_to: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Unchanged:
    """The address still holds what is indexed."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """The address is none of this source's pages, for a reason that is no failure unless there `is_missing` a page.

    `etag` and `last_modified` are those of an answer that would be told the same way again.
    """

    reason: str
    leads_to: tuple[str, ...] = ()
    etag: str = ""
    last_modified: str = ""
    is_missing: bool = False


@dataclass(frozen=True, slots=True)
class Unparsed:
    """The address was read: what is to be parsed in a child process, and how the result becomes an outcome."""

    task: Task
    finish: Callable[[Any], PageReading | Skipped]


class Origin(Protocol):
    """One kind of source, opened: where it begins and how an address of it is read. Failures raise SourceError."""

    parallel: int
    together: int  # so many addresses are read by one thread before they are parsed
    keeps_unlisted: bool  # whether pages stay when nothing leads to them any more

    def begin(self) -> Iterable[str | CrawlAddress]:
        """The addresses that a crawl starts from; a sitemap that could not be read comes as a failed address.

        Raises when the source cannot be read at all.
        """

    def read(self, address: CrawlAddress, known: KnownPage | None) -> Unparsed | Unchanged | Skipped:
        """What lies at `address`; `known` is what the index has of it. Called from several threads."""

    def take_turn(self, address: CrawlAddress) -> float:
        """How long to wait before `address` may be read; 0 means now, and that it will be."""

    def close(self) -> None:
        """Let go of connections."""


PACKAGE_KINDS = ("pypi", "npm")
PACKAGE_ADDRESSES = tuple(f"{kind}:" for kind in PACKAGE_KINDS)
IS_API = "an API description, listed by list_apis"  # why it is no page


@dataclass(frozen=True, slots=True)
class FoundDescription:
    """An API description met while adding or crawling documentation. Without data it is still to be asked for.

    `brought_by` is the id of the source that it was met in, and `source_name` its name; it goes with that source, and
    `name` is what its file is called. `read` reads a file that it refers to, where only that source can.
    """

    name: str
    url: str
    version: str
    data: bytes = b""
    brought_by: str = ""
    source_name: str = ""
    read: Callable[[str], bytes] | None = None


class ApiCatalog(Protocol):
    """What the documentation domain asks of the API domain."""

    def recognises(self, data: bytes, /) -> bool:
        """Whether `data` is an API description."""

    def add(self, description: FoundDescription, /) -> str:
        """Index it; returns text that says what was added."""

    def search(self, query: str, /, *, api_name: str, types: Sequence[str], limit: int) -> list[Passage]:
        """Operations and schemas that match, best first."""

    def named_in(self, question: str, /) -> tuple[str, ...]:
        """The APIs that a question names, of which alone it is then asked."""

    @property
    def is_behind(self) -> bool:
        """Whether parts of APIs are not compared by meaning yet."""

    def freshen(self, api_name: str, /) -> Sequence[str]:
        """Read an API again, or all where none is named, where its files changed; what an answer may lack."""

    def names(self) -> dict[str, str]:
        """A line about each API by its name."""

    def versions(self) -> dict[str, str]:
        """The version of each API by its name; empty for one that says none."""

    def refresh(self, name: str, /) -> str:
        """Read an API again; returns text that says what changed."""

    def remove(self, name: str, /) -> str:
        """Forget an API; returns text that says what was removed."""

    def brought_by(self, source_id: str, /) -> tuple[str, ...]:
        """The names of the APIs that a source brought."""

    def remove_brought(self, source_id: str, /) -> None:
        """Forget the APIs that a source brought."""


class NoApis:
    """Stands in where no API descriptions are kept."""

    def recognises(self, _data: bytes) -> bool:
        """Nothing is recognised."""
        return False

    def add(self, _description: FoundDescription) -> str:
        """Nothing is added."""
        return ""

    def search(self, *_: object, **__: object) -> list[Passage]:
        """Nothing is found."""
        return []

    @property
    def is_behind(self) -> bool:
        """There is nothing to compare."""
        return False

    def freshen(self, _api_name: str) -> tuple[str, ...]:
        """Nothing changes."""
        return ()

    def names(self) -> dict[str, str]:
        """There is none."""
        return {}

    def versions(self) -> dict[str, str]:
        """There is none."""
        return {}

    def refresh(self, _name: str) -> str:
        """Never asked: there is no name to ask for."""
        return ""

    def remove(self, _name: str) -> str:
        """Never asked: there is no name to ask for."""
        return ""

    def named_in(self, _question: str) -> tuple[str, ...]:
        """No APIs."""
        return ()

    def brought_by(self, _source_id: str) -> tuple[str, ...]:
        """None was brought."""
        return ()

    def remove_brought(self, _source_id: str) -> None:
        """There is none to forget."""


@dataclass(frozen=True, slots=True)
class SourceStatus:
    """Where a source stands: its crawl and what can be searched of it."""

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
    reading_when_died: tuple[str, ...] = ()
