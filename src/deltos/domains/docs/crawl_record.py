"""Persistent record of what a crawl is reading, used to detect crawls whose process died.

The claim on a source ends with its process, but the record stays. A crawl without a claim whose record says that it is
running has died.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deltos.store.documents import CrawlLock, CrawlRow


@dataclass(frozen=True, slots=True)
class CrawlRun:
    """Recorded state of one crawl: the addresses being read, and the suspects on which earlier processes died."""

    generation: int
    started_at: float
    is_running: bool = False
    reading: tuple[str, ...] = ()
    suspects: tuple[str, ...] = ()

    def after_crash(self) -> CrawlRun:
        """Return the state of the crawl when it continues; the addresses being read become suspects."""
        suspects = tuple(dict.fromkeys((*self.suspects, *self.reading)))
        return replace(self, is_running=False, reading=(), suspects=suspects)

    @property
    def culprit(self) -> str:
        """The suspect that was being read alone when the process died again; empty if there is none."""
        alone = self.reading[0] if len(self.reading) == 1 else ""
        return alone if alone in self.suspects else ""


def read_run(claim: CrawlLock, crawl: CrawlRow) -> CrawlRun:
    """Return the recorded state of the crawl, or an empty one if the record belongs to an earlier crawl."""
    try:
        noted = json.loads(claim.read_note() or "{}")
        run = CrawlRun(**{**noted, "reading": tuple(noted["reading"]), "suspects": tuple(noted["suspects"])})
    except (ValueError, TypeError, KeyError):
        run = CrawlRun(0, 0.0)
    is_same = (run.generation, run.started_at) == (crawl.generation, crawl.started_at)
    return run if is_same else CrawlRun(crawl.generation, crawl.started_at)


def write_run(claim: CrawlLock, run: CrawlRun) -> None:
    """Store the state of a crawl."""
    claim.write_note(json.dumps({name: getattr(run, name) for name in CrawlRun.__slots__}))


class CrawlRecorder:
    """Records the addresses that a running crawl reads. Not flushed to disk, as it only protects against process
    crashes."""

    def __init__(self, claim: CrawlLock, run: CrawlRun) -> None:
        self._claim = claim
        self._run = replace(run, is_running=True, reading=())
        write_run(claim, self._run)

    @property
    def suspects(self) -> tuple[str, ...]:
        """Addresses on which an earlier process died."""
        return self._run.suspects

    def begin(self, url: str) -> None:
        """Record that reading an address starts."""
        self._note(replace(self._run, reading=(*self._run.reading, url)))

    def end(self, url: str) -> None:
        """Record that an address was read; it is no longer a suspect."""
        run = self._run
        self._note(replace(run, reading=_without(url, run.reading), suspects=_without(url, run.suspects)))

    def close(self) -> None:
        """Record that the crawl stopped cleanly, so that any process may continue it."""
        self._note(replace(self._run, is_running=False, reading=()))

    def _note(self, run: CrawlRun) -> None:
        self._run = run
        write_run(self._claim, run)


def _without(url: str, urls: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(one for one in urls if one != url)
