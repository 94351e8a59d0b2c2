"""Detect changes in local folders by comparing file names, sizes and modification times with the index."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from deltos.disk_throttle import DiskThrottle
from deltos.domains.docs.folder import Folder
from deltos.domains.docs.local_files import INCLUDES_MARK
from deltos.domains.docs.model import Unchanged
from deltos.errors import BadRequest, SourceError
from deltos.store.documents import CrawlAddress

if TYPE_CHECKING:
    from collections.abc import Callable

    from deltos.domains.docs.model import ApiCatalog
    from deltos.store.documents import CrawlRow, KnownPage, Pages, SourceRow
    from deltos.store.sources import Sources

_MAX_UNTHROTTLED_SECONDS = 0.01  # slower comparisons are repeated less often

# Minimum pause before an unfinished comparison of a folder is repeated.
_UNFINISHED_PAUSE_SECONDS = 30.0

FolderState = Literal["same", "changed", "empty", "unfinished"]


@dataclass(slots=True)
class FolderWatch:
    """Compares local folders with the index."""

    store: Sources
    index: Pages
    apis: ApiCatalog
    now: Callable[[], float] = time.time
    _last_states: dict[str, tuple[FolderState, DiskThrottle]] = field(default_factory=dict)

    def compare(self, source: SourceRow, crawl: CrawlRow, deadline: float) -> FolderState:
        """Compare a folder with the index. Return "unfinished" if the comparison does not end before the deadline."""
        seen, throttle = self._last_states.get(source.id) or ("same", DiskThrottle(_MAX_UNTHROTTLED_SECONDS))
        if not throttle.is_due():
            return "same" if seen == "changed" else seen  # each change is reported only once
        with throttle.measure():
            state = self._compare_files(source, crawl, deadline)
        if state == "unfinished":
            throttle.postpone(_UNFINISHED_PAUSE_SECONDS)
        self._last_states[source.id] = (state, throttle)
        return state

    def _compare_files(self, source: SourceRow, crawl: CrawlRow, deadline: float) -> FolderState:
        """Compare the files of a folder with the index, even if they were compared a moment ago."""
        folder = Folder(source, self.apis)
        crawled_urls, known = self.store.known_urls(source.id), self.index.known_pages(source.id)
        # After a failed crawl, only modification times are compared. The crawl is repeated only if a file is newer.
        is_read = crawl.state == "done"
        is_full = len(crawled_urls) >= source.max_pages
        remaining = set(crawled_urls)
        seen = 0
        try:
            for url in folder.start_addresses():
                if isinstance(url, CrawlAddress):  # a crawl skips this file
                    remaining.discard(url.url)
                    continue
                seen += 1
                if time.monotonic() > deadline:
                    return "unfinished"
                remaining.discard(url)
                if url not in crawled_urls and is_full:
                    continue
                if url not in crawled_urls or self._differs(
                    folder, url, known.get(url) if is_read else None, crawl.started_at
                ):
                    return "changed"
        except (SourceError, BadRequest):  # raised, for example, if the folder was removed
            return "empty"
        if not seen:
            return "empty"
        return "changed" if remaining and is_read else "same"

    def _differs(self, folder: Folder, url: str, known: KnownPage | None, read_at: float) -> bool:
        """Whether a file differs from the indexed page or, if there is none, is newer than the last crawl."""
        try:
            status = os.lstat(url)
        except OSError:
            return True
        if known is None:
            return read_at < max(status.st_mtime, status.st_ctime) <= self.now()
        if known.etag.removesuffix(INCLUDES_MARK) != f"{status.st_mtime_ns}-{status.st_size}":
            return True
        return known.etag.endswith(INCLUDES_MARK) and not isinstance(folder.read(CrawlAddress(url), known), Unchanged)
