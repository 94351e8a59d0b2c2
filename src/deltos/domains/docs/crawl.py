"""Crawl all pages or files of one source, then replace the old index of the source."""

from __future__ import annotations

import heapq
import time
from collections import deque
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from deltos.domains.docs.index import index_words
from deltos.domains.docs.model import ParsedPages, Skipped, Unchanged
from deltos.domains.docs.readers import Readers, run_in_thread
from deltos.domains.docs.website import GONE_PAGE, GONE_STATUSES, NOT_TEXT
from deltos.errors import BadRequest, Cancelled, DeltosError, FetchFailed, ParserStopped, SourceError, StoreError
from deltos.store.documents import Batch, CrawlAddress

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from deltos.domains.docs.model import Origin
    from deltos.domains.docs.readers import Outcome
    from deltos.isolated_parser import Parser
    from deltos.store.documents import AddressState, CrawlRow, KnownPage, PageRow, Pages, SourceRow
    from deltos.store.sources import Sources

MAX_ATTEMPTS = 3
MAX_STOPPED_PAGES = 20  # a crawl fails if this number of pages exceeds the parsing limits

# Pages are written to the database in batches, because one transaction per page takes longer than parsing.
_BATCH_PAGES = 25
_BATCH_SECONDS = 1.0
_NO_TEXT_REASON = "the page has no text"
_MAX_NAMED_APIS = 5
_MAX_SLEEP_SECONDS = 0.5  # a crawl checks at least this often whether it should stop


@dataclass(frozen=True, slots=True)
class Clock:
    """Functions for reading the time and sleeping, which tests can replace."""

    now: Callable[[], float] = time.time
    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    retry_pause_seconds: float = 1.0


@dataclass(slots=True)
class Frontier:
    """Queue of addresses (URLs or file paths) to crawl, and the set of all addresses found so far.

    Queued addresses are either ready or postponed. New addresses beyond a limit are ignored.
    """

    max_addresses: int
    max_depth: int
    seen: set[str]
    _ready: deque[CrawlAddress] = field(default_factory=deque)
    _postponed: list[tuple[float, str, CrawlAddress]] = field(default_factory=list)

    def add(self, address: CrawlAddress) -> None:
        """Queue an address that is already in the set `seen`."""
        self._ready.append(address)

    def discover(self, urls: Iterable[str], depth: int) -> list[CrawlAddress]:
        """Queue the addresses in `urls` that are new and within the limits, and return them."""
        found: list[CrawlAddress] = []
        for url in urls if not self.max_depth or depth <= self.max_depth else ():
            if url not in self.seen and len(self.seen) < self.max_addresses:
                self.seen.add(url)
                found.append(CrawlAddress(url, depth))
                self.add(found[-1])
        return found

    def postpone(self, address: CrawlAddress, until: float) -> None:
        """Queue an address again. It becomes ready at the time `until`."""
        heapq.heappush(self._postponed, (until, address.url, address))

    def take(self, now: float) -> CrawlAddress | None:
        """Remove and return the next address that is ready at the time `now`, or None."""
        if self._postponed and self._postponed[0][0] <= now:
            return heapq.heappop(self._postponed)[2]
        return self._ready.popleft() if self._ready else None

    def seconds_to_wait(self, now: float) -> float:
        """Return the number of seconds until the next address is ready."""
        return 0.0 if self._ready or not self._postponed else max(0.0, self._postponed[0][0] - now)

    def is_empty(self) -> bool:
        """Whether the queue is empty."""
        return not self._ready and not self._postponed


class Crawl:
    """One crawl of a source. All progress is stored in the database, so that another process can continue the crawl."""

    def __init__(
        self,
        source: SourceRow,
        crawl: CrawlRow,
        origin: Origin,
        *,
        parser: Parser,
        store: Sources,
        index: Pages,
        stopping: Callable[[], bool],
        clock: Clock,
        report: Callable[[], None] = lambda: None,
        found_apis: Callable[[], Sequence[str]] = tuple,
    ) -> None:
        self._source = source
        self._found_apis = found_apis
        self._crawl = crawl
        self._origin = origin
        self._parser = parser
        self._store = store
        self._index = index
        self._stopping = stopping
        self._clock = clock
        self._report = report
        self._frontier = Frontier(source.max_pages, source.max_depth, set())
        self._known: dict[str, KnownPage] = {}
        self._stopped_page_count = 0
        self._is_cancelled = False
        self._pages: list[PageRow] = []
        self._finished_addresses: list[CrawlAddress] = []
        self._discovered: list[CrawlAddress] = []
        self._saved_at = clock.monotonic()

    def run(self) -> bool:
        """Crawl until the crawl is complete or stopped; record it as failed if the source cannot be opened.

        Returns False if the process is shutting down.
        """
        try:
            finished = self._prepare() and self._read_addresses()
        except (SourceError, BadRequest) as exc:
            self._index.discard(self._source.id)
            self._store.end_crawl(self._source.id, "failed", str(exc), self._clock.now())
            return True
        if self._save() and finished:
            self._finish()
        return not self._is_cancelled

    def _prepare(self) -> bool:
        """Load the queue, and add the start addresses if the crawl is new; return False if asked to stop."""
        if not self._crawl.is_seeded and not self._seed():
            return False
        self._known = {} if self._crawl.is_full else self._index.known_pages(self._source.id)
        self._frontier.seen = self._store.known_urls(self._source.id)
        for address in self._store.queued_addresses(self._source.id):
            self._frontier.add(address)
        return True

    def _seed(self) -> bool:
        """Queue the addresses at which the crawl starts; return False if asked to stop."""
        # Fetching may take minutes. It runs in another thread, so that the crawl can be stopped at any time.
        should_stop = self._should_stop
        begun = run_in_thread(lambda: list(self._origin.start_addresses()), should_stop, _MAX_SLEEP_SECONDS)
        if begun is None:
            return False
        frontier = Frontier(self._source.max_pages, 0, set())
        addresses = [address for address in begun if isinstance(address, CrawlAddress)]
        addresses += frontier.discover((url for url in begun if isinstance(url, str)), 0)
        self._store.forget(self._source.id, self._addresses_to_forget(frontier.seen))
        if self._origin.keeps_unlinked_pages and not self._crawl.is_full:
            # Indexed pages are requested again even if no page links to them any more.
            addresses += frontier.discover(self._index.published_urls(self._source.id), 1)
        self._store.seed_crawl(self._source.id, addresses)
        return True

    def _addresses_to_forget(self, listed_urls: set[str]) -> list[str]:
        """Return addresses that had no page in the last crawl and are requested again only if a page links to them.

        If the page limit was reached, these are all addresses to which no page links.
        """
        unindexed = [
            address for address in self._store.queued_addresses(self._source.id) if address.reason not in ("", "failed")
        ]
        if not self._origin.keeps_unlinked_pages:
            return [address.url for address in unindexed]
        links = self._index.next_links(self._source.id) if unindexed else ()
        linked = listed_urls | {target.partition("#")[0] for _, target, _ in links}
        is_full = len(unindexed) + len(self._index.published_urls(self._source.id)) >= self._source.max_pages
        return [
            address.url
            for address in unindexed
            if (address.url not in listed_urls and address.reason.startswith(NOT_TEXT))
            or (address.url not in linked and (is_full or address.reason == GONE_PAGE))
        ]

    def _should_stop(self) -> bool:
        """Whether the process is shutting down, the crawl was cancelled, or the crawled source was removed."""
        if self._stopping():
            return True
        crawl = self._store.crawl(self._source.id)
        return crawl is None or (crawl.generation, crawl.state) != (self._crawl.generation, "open")

    def _read_addresses(self) -> bool:
        """Fetch addresses in parallel until the queue is empty; return False if asked to stop."""
        readers = Readers(self._origin, self._parser)
        try:
            while readers.pending_count or not self._frontier.is_empty():
                if self._is_cancelled or self._stopping() or not self._save_if_batch_is_due():
                    return False
                self._start_readers(readers)
                if readers.pending_count and (read := readers.next_outcome(_MAX_SLEEP_SECONDS)):
                    self._handle_outcome(*read)
        finally:
            readers.close()
        return not self._is_cancelled

    def _start_readers(self, readers: Readers) -> None:
        """Assign queued addresses to the free reader threads; if all queued addresses are postponed, sleep."""
        while readers.has_capacity():
            address = self._frontier.take(self._clock.monotonic())
            if address is None:
                break
            if pause := self._origin.take_turn(address):
                self._frontier.postpone(address, self._clock.monotonic() + pause)
                break
            readers.read(address, self._known.get(address.url))
        if not readers.pending_count:  # every queued address is postponed
            self._clock.sleep(min(_MAX_SLEEP_SECONDS, self._frontier.seconds_to_wait(self._clock.monotonic())))

    def _handle_outcome(self, address: CrawlAddress, outcome: Outcome) -> None:
        """Record the outcome of reading an address, and collect the pages of the address."""
        match outcome:
            case ParsedPages():
                pages = [page for page in outcome.pages if page.chunks]
                self._pages.extend(pages)
                if pages:
                    self._record_outcome(address, "done", "", outcome.linked_urls)
                else:
                    self._handle_skipped(address, _skip_without_text(outcome))
            case Unchanged():
                self._record_outcome(address, "unchanged", "")
            case Skipped():
                self._handle_skipped(address, outcome)
            case Cancelled():
                self._is_cancelled = True  # the address stays queued, because the process is shutting down
            case StoreError():
                raise outcome
            case ParserStopped():
                self._handle_failure(address, outcome)
                self._stopped_page_count += 1
                if self._stopped_page_count >= MAX_STOPPED_PAGES:
                    self._save()
                    raise SourceError(f"{MAX_STOPPED_PAGES} pages exceeded the limits on parsing time or memory")
            case DeltosError():
                self._handle_failure(address, outcome)
        self._report()

    def _handle_skipped(self, address: CrawlAddress, skipped: Skipped) -> None:
        """Record that an address was skipped, with the reason."""
        address = replace(address, etag=skipped.etag, last_modified=skipped.last_modified)
        self._record_outcome(address, "skipped", skipped.reason, skipped.linked_urls, has_validators=True)

    def _handle_failure(self, address: CrawlAddress, exc: DeltosError) -> None:
        """Schedule a retry if the error is temporary, or record the address as failed or missing."""
        address = replace(address, attempts=address.attempts + 1)
        if isinstance(exc, FetchFailed) and exc.retryable and address.attempts < MAX_ATTEMPTS:
            pause = self._clock.retry_pause_seconds * 2 ** (address.attempts - 1)
            self._frontier.postpone(address, self._clock.monotonic() + max(pause, exc.retry_after_seconds))
        else:
            is_missing = isinstance(exc, FetchFailed) and exc.status in GONE_STATUSES
            self._record_outcome(address, "missing" if is_missing else "failed", str(exc))

    def _record_outcome(
        self,
        address: CrawlAddress,
        state: AddressState,
        reason: str,
        linked_urls: Iterable[str] = (),
        *,
        has_validators: bool = False,
    ) -> None:
        """Record the state of an address, and queue the new URLs that the page links to."""
        if not has_validators:
            address = replace(address, etag="", last_modified="")
        self._finished_addresses.append(replace(address, state=state, reason=reason))
        self._discovered.extend(self._frontier.discover(linked_urls, address.depth + 1))

    def _save_if_batch_is_due(self) -> bool:
        """Save the results if they are many or a few seconds old. Return False if the crawl was cancelled."""
        if len(self._pages) < _BATCH_PAGES and self._clock.monotonic() - self._saved_at < _BATCH_SECONDS:
            return True
        return self._save()

    def _save(self) -> bool:
        """Store the collected results; return False if the crawl was cancelled or the source was removed."""
        batch = Batch(tuple(self._pages), tuple(self._finished_addresses), tuple(self._discovered))
        self._pages, self._finished_addresses, self._discovered = [], [], []
        self._saved_at = self._clock.monotonic()
        return self._index.write(self._source.id, self._crawl.generation, batch)

    def _finish(self) -> None:
        """Index the crawled pages and publish the new version of the index, or record why the source has no pages."""
        counts = self._store.address_counts(self._source.id)
        if not counts.get("done") and not counts.get("unchanged"):
            if not self._known and not {"failed", "missing"} & counts.keys() and (apis := self._found_apis()):
                summary = f"no pages; it contains the APIs {', '.join(apis[:_MAX_NAMED_APIS])}"
                more = f" and {len(apis) - _MAX_NAMED_APIS} more" if len(apis) > _MAX_NAMED_APIS else ""
                self._index.publish(self._source.id, self._crawl.generation, summary + more, now=self._clock.now())
                return
            reason = self._store.first_skip_reason(self._source.id) or "no readable page was found"
            self._index.discard(self._source.id)
            self._store.end_crawl(self._source.id, "failed", reason, self._clock.now())
            return
        generation = self._crawl.generation
        dropped = self._index.drop_unseen_pages(self._source.id, generation)
        is_changed = dropped or counts.get("done")
        if is_changed and not index_words(self._index, self._source.id, stopping=self._stopping):
            return  # the crawl remains unfinished and is continued by the next process

        # The versions are exchanged in one transaction, so that a search sees either the old or the new version.
        self._index.publish(self._source.id, generation, now=self._clock.now())


def _skip_without_text(parsed: ParsedPages) -> Skipped:
    """Return a `Skipped` outcome for a page that contains no text."""
    validators = [(page.etag, page.last_modified) for page in parsed.pages] or [("", "")]
    return Skipped(_NO_TEXT_REASON, parsed.linked_urls, *validators[0])
