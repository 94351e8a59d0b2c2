"""Whether a local folder still is what was read of it: names and stamps are compared, little content is read."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from deltos.disk_pace import DiskPace
from deltos.domains.docs.folder import INCLUDES, Folder
from deltos.domains.docs.model import Unchanged
from deltos.errors import BadRequest, SourceError
from deltos.store.documents import CrawlAddress

if TYPE_CHECKING:
    from collections.abc import Callable

    from deltos.domains.docs.model import ApiCatalog
    from deltos.store.documents import CrawlRow, KnownPage, Pages, SourceRow, Sources

_FREE_SECONDS = 0.01
# One that came to no end is not begun again before every answer.
_UNFINISHED_PAUSE_SECONDS = 30.0

FolderState = Literal["same", "changed", "empty", "unfinished"]


@dataclass(slots=True)
class FolderWatch:
    """Compares folders that are sources with what the index has of them."""

    store: Sources
    index: Pages
    apis: ApiCatalog
    now: Callable[[], float] = time.time
    _seen: dict[str, tuple[FolderState, DiskPace]] = field(default_factory=dict)

    def compare(self, source: SourceRow, crawl: CrawlRow, deadline: float) -> FolderState:
        """How a folder differs from what its last crawl read; unfinished when the deadline came first."""
        seen, pace = self._seen.get(source.id) or ("same", DiskPace(_FREE_SECONDS))
        if not pace.is_due():
            return "same" if seen == "changed" else seen  # it was read since
        with pace.comparing():
            state = self._compare(source, crawl, deadline)
        if state == "unfinished":
            pace.pause(_UNFINISHED_PAUSE_SECONDS)
        self._seen[source.id] = (state, pace)
        return state

    def _compare(self, source: SourceRow, crawl: CrawlRow, deadline: float) -> FolderState:
        folder = Folder(source, self.apis)
        met, known = self.store.known_urls(source.id), self.index.known_pages(source.id)
        # A crawl that failed is tried again when something is newer than it, not before every answer.
        is_read = crawl.state == "done"
        is_full = len(met) >= source.max_pages
        left = set(met)
        seen = 0
        try:
            for url in folder.begin():
                if isinstance(url, CrawlAddress):  # left out, whatever it says
                    left.discard(url.url)
                    continue
                seen += 1
                if time.monotonic() > deadline:
                    return "unfinished"
                left.discard(url)
                if url not in met and is_full:
                    continue
                if url not in met or self._differs(folder, url, known.get(url) if is_read else None, crawl.started_at):
                    return "changed"
        except (SourceError, BadRequest):  # the folder is gone, or cannot be read any more
            return "empty"
        if not seen:
            return "empty"
        return "changed" if left and is_read else "same"

    def _differs(self, folder: Folder, url: str, known: KnownPage | None, read_at: float) -> bool:
        """Whether a file is another than the page that is known of it, or newer than the crawl that made none of it."""
        try:
            facts = os.lstat(url)
        except OSError:
            return True
        if known is None:
            return read_at < max(facts.st_mtime, facts.st_ctime) <= self.now()
        if known.etag.removesuffix(INCLUDES) != f"{facts.st_mtime_ns}-{facts.st_size}":
            return True
        return known.etag.endswith(INCLUDES) and not isinstance(folder.read(CrawlAddress(url), known), Unchanged)
