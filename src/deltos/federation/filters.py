"""What narrows `search` to a kind, a stretch of time or a tag. Observations and commits have these."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.domains.memory.model import CAPTURED_KINDS, KINDS
from deltos.errors import BadArgument
from deltos.model import LAST_MOMENT, Filters
from deltos.text.dates import TimeSpan, spoken_spans
from deltos.text.tags import tag_of
from deltos.text.times import parse_iso

if TYPE_CHECKING:
    from datetime import datetime

COMMIT = "commit"
FILTERED_KINDS = ("obs", COMMIT)  # kinds of results that have what is filtered by
_DAY_MICROS = 86_400_000_000
_DAY_CHARACTERS = len("2026-11-16")
_SHOWN_CHARACTERS = 80


def parse_filters(*, kind: str, since: str, until: str, tag: str, now: datetime) -> Filters:
    """The filters of a call; raises BadArgument on what is not understood."""
    start = _span("since", since, now).start if since.strip() else 0
    end = _span("until", until, now).end if until.strip() else LAST_MOMENT
    if start >= end:
        raise BadArgument("`since` is not before `until`", hint="Swap them.")
    if tag.strip() and not tag_of(tag):
        raise BadArgument(f"`tag` is no word: {tag[:_SHOWN_CHARACTERS]!r}", hint="Such as auth, or 123 of #123.")
    return Filters(_kinds(kind), start, end, tag_of(tag))


def _kinds(text: str) -> tuple[str, ...]:
    known = (*KINDS, *CAPTURED_KINDS, COMMIT)
    wanted = tuple(dict.fromkeys(name.strip().lower() for name in text.split(",") if name.strip()))
    for name in wanted:
        if name not in known:
            raise BadArgument(f"Unknown kind: {name[:_SHOWN_CHARACTERS]}", hint=f"Choose from {', '.join(known)}.")
    return wanted


def _span(name: str, text: str, now: datetime) -> TimeSpan:
    """A moment or a day as ISO 8601 writes it, or a time as people say it."""
    given = text.strip()
    if (moment := parse_iso(given)) is not None:
        return TimeSpan(moment, moment + (_DAY_MICROS if len(given) == _DAY_CHARACTERS else 1))
    spans = spoken_spans(given, now) if len(given) <= _SHOWN_CHARACTERS else ()
    if not spans:
        raise BadArgument(
            f"`{name}` is no time: {given[:_SHOWN_CHARACTERS]!r}",
            hint="Such as 2026-11-16, 2026-11-16T09:30, '2 weeks ago' or 'last Tuesday'.",
        )
    return spans[0]
