"""What a crawl is doing, noted with its claim: tells a crawl that died from one that was stopped in order.

The claim goes with its process and the note stays: a crawl that nobody claims, but whose note says that it runs, died.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deltos.store.documents import CrawlClaim, CrawlRow


@dataclass(frozen=True, slots=True)
class Run:
    """One crawl as its process last noted it: what it was reading, and what earlier processes died over."""

    generation: int
    started_at: float
    is_running: bool = False
    reading: tuple[str, ...] = ()
    suspects: tuple[str, ...] = ()

    def allowed_again(self) -> Run:
        """The same crawl, free to go on; what it read when it died is now suspect."""
        suspects = tuple(dict.fromkeys((*self.suspects, *self.reading)))
        return replace(self, is_running=False, reading=(), suspects=suspects)

    @property
    def culprit(self) -> str:
        """The address that the crawl died over again, now that it was read alone; empty when there is none."""
        alone = self.reading[0] if len(self.reading) == 1 else ""
        return alone if alone in self.suspects else ""


def read_run(claim: CrawlClaim, crawl: CrawlRow) -> Run:
    """What is noted of that crawl; a note about an earlier one is nothing to go by."""
    try:
        noted = json.loads(claim.read_note() or "{}")
        run = Run(**{**noted, "reading": tuple(noted["reading"]), "suspects": tuple(noted["suspects"])})
    except (ValueError, TypeError, KeyError):
        run = Run(0, 0.0)
    is_same = (run.generation, run.started_at) == (crawl.generation, crawl.started_at)
    return run if is_same else Run(crawl.generation, crawl.started_at)


def write_run(claim: CrawlClaim, run: Run) -> None:
    """Replace the note."""
    claim.write_note(json.dumps({name: getattr(run, name) for name in Run.__slots__}))


class Logbook:
    """Notes which addresses a running crawl reads. Not flushed to disk: it is for processes that die, not machines."""

    def __init__(self, claim: CrawlClaim, run: Run) -> None:
        self._claim = claim
        self._run = replace(run, is_running=True, reading=())
        write_run(claim, self._run)

    @property
    def suspects(self) -> tuple[str, ...]:
        """Addresses that an earlier process died over."""
        return self._run.suspects

    def begin(self, url: str) -> None:
        """An address is being read from now on."""
        self._note(replace(self._run, reading=(*self._run.reading, url)))

    def end(self, url: str) -> None:
        """An address was read; it is no suspect any more."""
        run = self._run
        self._note(replace(run, reading=_without(url, run.reading), suspects=_without(url, run.suspects)))

    def close(self) -> None:
        """The crawl stops in order; whoever comes next may go on."""
        self._note(replace(self._run, is_running=False, reading=()))

    def _note(self, run: Run) -> None:
        self._run = run
        write_run(self._claim, run)


def _without(url: str, urls: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(one for one in urls if one != url)
