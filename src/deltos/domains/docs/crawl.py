"""Work through the addresses of one source until none is left, then show the new generation to readers."""

from __future__ import annotations

import heapq
import time
from collections import deque
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from deltos.domains.docs.index import index_words
from deltos.domains.docs.model import PageReading, Skipped, Unchanged
from deltos.domains.docs.readers import Readers, run_aside
from deltos.domains.docs.website import GONE, GONE_PAGE, NEEDS_BROWSER, NOT_TEXT
from deltos.errors import BadRequest, Cancelled, DeltosError, FetchFailed, ReadingStopped, SourceError, StoreError
from deltos.store.documents import Batch, CrawlAddress
from deltos.text.counts import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from deltos.domains.docs.model import Origin
    from deltos.domains.docs.readers import Outcome
    from deltos.domains.docs.running import Logbook
    from deltos.guarded import Parser
    from deltos.store.documents import AddressState, CrawlRow, KnownPage, PageRow, Pages, SourceRow, Sources

MOST_ATTEMPTS = 3
MOST_STOPPED = 20  # pages that exceed their limits, each at the cost of many others: the source is hostile or broken
# Pages are written in batches: a transaction each would cost more than parsing, and what is not written is read again.
_BATCH_PAGES = 25
_BATCH_SECONDS = 1.0
_MOST_COUNTED = 100_000
_NO_TEXT = "the page has no text"
_APIS_NAMED = 5
_LONGEST_NAP_SECONDS = 0.5  # how long a stop request can go unnoticed


@dataclass(frozen=True, slots=True)
class Clock:
    """Time, as far as a crawl needs it: what to record, how long ago, how to wait."""

    now: Callable[[], float] = time.time
    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    retry_pause_seconds: float = 1.0


@dataclass(slots=True)
class LeftOut:
    """Addresses that a limit kept out, as far as they are counted."""

    urls: set[str] = field(default_factory=set)

    def add(self, url: str) -> None:
        """Count an address, once."""
        if len(self.urls) < _MOST_COUNTED:
            self.urls.add(url)

    def told(self, met: set[str]) -> str:
        """How many were left out in the end; empty when a shorter way led to each of them."""
        count = len(self.urls - met)
        if not count:
            return ""
        return f"{'more than ' if len(self.urls) == _MOST_COUNTED else ''}{count} address{'es' if count > 1 else ''}"


@dataclass(slots=True)
class Frontier:
    """Addresses that wait: some can be read now, some only later, suspects last. Remembers every address it has met.

    Suspects are the addresses that a crawl died over: each is read alone, when nothing else is left.
    What its limits keep out is counted.
    """

    most_addresses: int
    deepest: int
    met: set[str]
    suspects: tuple[str, ...] = ()
    beyond_most: LeftOut = field(default_factory=LeftOut)
    beyond_depth: LeftOut = field(default_factory=LeftOut)
    _ready: deque[CrawlAddress] = field(default_factory=deque)
    _later: list[tuple[float, str, CrawlAddress]] = field(default_factory=list)
    _suspected: deque[CrawlAddress] = field(default_factory=deque)

    def add(self, address: CrawlAddress) -> None:
        """Queue an address that was met before."""
        (self._suspected if address.url in self.suspects else self._ready).append(address)

    def discover(self, urls: Iterable[str], depth: int) -> list[CrawlAddress]:
        """Queue addresses not met before, within the limits; returns the new ones."""
        found = []
        for url in urls:
            if url in self.met:
                continue
            if self.deepest and depth > self.deepest:
                self.beyond_depth.add(url)
            elif len(self.met) >= self.most_addresses:
                self.beyond_most.add(url)
            else:
                self.met.add(url)
                found.append(CrawlAddress(url, depth))
                self.add(found[-1])
        return found

    def postpone(self, address: CrawlAddress, until: float) -> None:
        """Queue an address again, not before `until`."""
        heapq.heappush(self._later, (until, address.url, address))

    def take(self, now: float) -> CrawlAddress | None:
        """The next address that can be read now."""
        if self._later and self._later[0][0] <= now:
            return heapq.heappop(self._later)[2]
        return self._ready.popleft() if self._ready else None

    def take_suspect(self) -> CrawlAddress | None:
        """The next address to be read alone; None as long as others wait."""
        return self._suspected.popleft() if self._suspected and not self._ready and not self._later else None

    def seconds_to_wait(self, now: float) -> float:
        """How long until an address can be read."""
        return 0.0 if self._ready or not self._later else max(0.0, self._later[0][0] - now)

    def empty(self) -> bool:
        """Whether nothing waits at all."""
        return not self._ready and not self._later and not self._suspected


class Crawl:
    """One run through a source. Everything it learns is in the store, so another process can go on where it stops."""

    def __init__(
        self,
        source: SourceRow,
        crawl: CrawlRow,
        origin: Origin,
        *,
        parser: Parser,
        store: Sources,
        index: Pages,
        logbook: Logbook,
        stopping: Callable[[], bool],
        clock: Clock,
        report: Callable[[], None] = lambda: None,
        brought: Callable[[], Sequence[str]] = tuple,
    ) -> None:
        self._source = source
        self._brought = brought
        self._crawl = crawl
        self._origin = origin
        self._parser = parser
        self._store = store
        self._index = index
        self._logbook = logbook
        self._stopping = stopping
        self._clock = clock
        self._report = report
        self._frontier = Frontier(source.max_pages, source.max_depth, set(), logbook.suspects)
        self._known: dict[str, KnownPage] = {}
        self._stopped = 0
        self._is_cancelled = False
        self._pages: list[PageRow] = []
        self._settled: list[CrawlAddress] = []
        self._discovered: list[CrawlAddress] = []
        self._saved_at = clock.monotonic()

    def run(self) -> bool:
        """Crawl to the end, or until asked to stop; a source that cannot be read at all is recorded as failed. False
        when the program ends, so that nothing can be read here any more."""
        try:
            finished = self._prepare() and self._work()
        except (SourceError, BadRequest) as exc:
            self._index.discard(self._source.id)
            self._store.end_crawl(self._source.id, "failed", str(exc), self._clock.now())
            return True
        if self._save() and finished:
            self._finish()
        return not self._is_cancelled

    def _prepare(self) -> bool:
        """Load what is queued; a crawl that just begins is seeded first. False when asked to stop meanwhile."""
        if not self._crawl.is_seeded and not self._seed():
            return False
        self._known = {} if self._crawl.is_full else self._index.known_pages(self._source.id)
        self._frontier.met = self._store.known_urls(self._source.id)
        for address in self._store.queued(self._source.id):
            self._frontier.add(address)
        return True

    def _seed(self) -> bool:
        """Queue where the source begins, in a thread of its own: a slow server must not delay a stop."""
        is_over = self._is_over  # a fetch may take minutes
        begun = run_aside(lambda: list(self._origin.begin()), is_over, _LONGEST_NAP_SECONDS)
        if begun is None:
            return False
        frontier = Frontier(self._source.max_pages, 0, set(), beyond_most=self._frontier.beyond_most)
        addresses = [address for address in begun if isinstance(address, CrawlAddress)]
        addresses += frontier.discover((url for url in begun if isinstance(url, str)), 0)
        self._store.forget(self._source.id, self._not_asked_again(frontier.met))
        if self._origin.keeps_unlisted and not self._crawl.is_full:
            # Known pages are asked again even where nothing leads to them any more.
            addresses += frontier.discover(self._index.live_addresses(self._source.id), 1)
        self._store.seed(self._source.id, addresses)
        return True

    def _not_asked_again(self, listed: set[str]) -> list[str]:
        """Of the addresses that gave no page in the last crawl, those that this one need not ask for.

        A purged page is asked for while something leads to it; where the limit is reached, so is all that did not fail.
        """
        again = [address for address in self._store.queued(self._source.id) if address.reason not in ("", "failed")]
        if not self._origin.keeps_unlisted:
            return [address.url for address in again]
        links = self._index.coming_links(self._source.id) if again else ()
        led_to = listed | {target.partition("#")[0] for _, target, _ in links}
        is_full = len(again) + len(self._index.live_addresses(self._source.id)) >= self._source.max_pages
        return [
            address.url
            for address in again
            if (address.url not in listed and address.reason.startswith(NOT_TEXT))
            or (address.url not in led_to and (is_full or address.reason == GONE_PAGE))
        ]

    def _is_over(self) -> bool:
        """Whether the crawl is to stop: the program ends, it was cancelled, or its source is removed."""
        if self._stopping():
            return True
        crawl = self._store.crawl(self._source.id)
        return crawl is None or (crawl.generation, crawl.state) != (self._crawl.generation, "open")

    def _work(self) -> bool:
        """Read addresses side by side; False when asked to stop before the end."""
        readers = Readers(self._origin, self._parser)
        try:
            while readers.busy or not self._frontier.empty():
                if self._is_cancelled or self._stopping() or not self._save_if_due():
                    return False
                self._start_some(readers)
                if readers.busy and (read := readers.next_outcome(_LONGEST_NAP_SECONDS)):
                    self._logbook.end(read[0].url)
                    self._take_in(*read)
        finally:
            readers.close()
        return not self._is_cancelled

    def _start_some(self, readers: Readers) -> None:
        while readers.free():
            address = self._frontier.take(self._clock.monotonic())
            if address is None and not readers.busy:
                address = self._frontier.take_suspect()  # alone: if the process dies again, this one is to blame
            if address is None:
                break
            if pause := self._origin.take_turn(address):
                self._frontier.postpone(address, self._clock.monotonic() + pause)
                break
            self._logbook.begin(address.url)  # before it is read: the note must survive what reading does
            readers.read(address, self._known.get(address.url))
        if not readers.busy:  # all that waits has to wait
            self._clock.sleep(min(_LONGEST_NAP_SECONDS, self._frontier.seconds_to_wait(self._clock.monotonic())))

    def _take_in(self, address: CrawlAddress, outcome: Outcome) -> None:
        match outcome:
            case PageReading():
                pages = [page for page in outcome.pages if page.chunks]
                self._pages.extend(pages)
                if pages:
                    self._settle(address, "done", "", outcome.leads_to)
                else:
                    self._take_in_skipped(address, _without_text(outcome))
            case Unchanged():
                self._settle(address, "unchanged", "")
            case Skipped():
                self._take_in_skipped(address, outcome)
            case Cancelled():
                self._is_cancelled = True  # the program ends: the address stays queued
            case StoreError():
                raise outcome
            case ReadingStopped():
                self._take_in_failure(address, outcome)
                self._stopped += 1
                if self._stopped >= MOST_STOPPED:
                    self._save()
                    raise SourceError(f"{MOST_STOPPED} of its pages could not be read within their limits")
            case DeltosError():
                self._take_in_failure(address, outcome)
        self._report()

    def _take_in_skipped(self, address: CrawlAddress, skipped: Skipped) -> None:
        state: AddressState = "missing" if skipped.is_missing else "skipped"
        address = replace(address, etag=skipped.etag, last_modified=skipped.last_modified)
        self._settle(address, state, skipped.reason, skipped.leads_to, has_validators=True)

    def _take_in_failure(self, address: CrawlAddress, exc: DeltosError) -> None:
        address = replace(address, attempts=address.attempts + 1)
        if isinstance(exc, FetchFailed) and exc.retryable and address.attempts < MOST_ATTEMPTS:
            pause = self._clock.retry_pause_seconds * 2 ** (address.attempts - 1)
            self._frontier.postpone(address, self._clock.monotonic() + max(pause, exc.retry_after_seconds))
        else:
            is_missing = isinstance(exc, FetchFailed) and exc.status in GONE
            self._settle(address, "missing" if is_missing else "failed", str(exc))

    def _settle(
        self,
        address: CrawlAddress,
        state: AddressState,
        reason: str,
        leads_to: Iterable[str] = (),
        *,
        has_validators: bool = False,
    ) -> None:
        if not has_validators:
            address = replace(address, etag="", last_modified="")
        self._settled.append(replace(address, state=state, reason=reason))
        self._discovered.extend(self._frontier.discover(leads_to, address.depth + 1))

    def _save_if_due(self) -> bool:
        if len(self._pages) < _BATCH_PAGES and self._clock.monotonic() - self._saved_at < _BATCH_SECONDS:
            return True
        return self._save()

    def _save(self) -> bool:
        """Write what was learned; False when the crawl was cancelled or its source removed."""
        batch = Batch(tuple(self._pages), tuple(self._settled), tuple(self._discovered))
        self._pages, self._settled, self._discovered = [], [], []
        self._saved_at = self._clock.monotonic()
        return self._index.write(self._source.id, self._crawl.generation, batch)

    def _finish(self) -> None:
        counts = self._store.address_counts(self._source.id)
        if not counts.get("done") and not counts.get("unchanged"):
            if not self._known and not {"failed", "missing"} & counts.keys() and (apis := self._brought()):
                told = f"no pages; it brought {', '.join(apis[:_APIS_NAMED])}"
                more = f" and {len(apis) - _APIS_NAMED} more" if len(apis) > _APIS_NAMED else ""
                self._index.publish(self._source.id, self._crawl.generation, told + more, now=self._clock.now())
                return
            reason = self._store.first_reason(self._source.id) or "no readable page was found"
            self._index.discard(self._source.id)
            self._store.end_crawl(self._source.id, "failed", reason, self._clock.now())
            return
        generation = self._crawl.generation
        dropped = self._index.drop_unmet(self._source.id, generation)
        is_changed = dropped or counts.get("done")
        if is_changed and not index_words(self._index, self._source.id, stopping=self._stopping):
            return  # stays open; the next process goes on here
        # One transaction: readers see the old generation or the new one, never both.
        self._index.publish(self._source.id, generation, self._left_out(), now=self._clock.now())

    def _left_out(self) -> str:
        """What the limits of the source kept out, and the way to have it; empty when nothing."""
        frontier, source = self._frontier, self._source
        told = []
        if count := frontier.beyond_most.told(frontier.met):
            told.append(f"the limit of {counted(source.max_pages, 'page')} left out {count}")
        if count := frontier.beyond_depth.told(frontier.met):
            told.append(f"max_depth {source.max_depth} left out {count}")
        cut = f"{' and '.join(told)}; remove the source and add it with a larger limit for more" if told else ""
        return "; ".join(filter(None, (cut, self._unrendered())))

    def _unrendered(self) -> str:
        count = self._store.count_reason(self._source.id, NEEDS_BROWSER)
        return f"{count} {'page' if count == 1 else 'pages'}: {NEEDS_BROWSER}" if count else ""


def _without_text(reading: PageReading) -> Skipped:
    """A page that has nothing to be found by."""
    validators = [(page.etag, page.last_modified) for page in reading.pages] or [("", "")]
    return Skipped(_NO_TEXT, reading.leads_to, *validators[0])
