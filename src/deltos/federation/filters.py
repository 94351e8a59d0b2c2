"""Filters of `search` by kind, time and tag, which apply only to observations and commits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.domains.memory.core.model import CAPTURED_KINDS, KINDS
from deltos.errors import BadArgument
from deltos.model import LAST_MOMENT, Filters
from deltos.text.dates import TimeSpan, mentioned_spans
from deltos.text.tags import tag_of
from deltos.text.times import parse_iso

if TYPE_CHECKING:
    from datetime import datetime

COMMIT = "commit"
FILTERED_KINDS = ("obs", COMMIT)  # kinds of results to which filters apply
KNOWN_KINDS = (*KINDS, *CAPTURED_KINDS, COMMIT)  # valid values of the kind filter
_DAY_MICROSECONDS = 86_400_000_000
_DAY_CHARACTERS = len("2026-11-16")
_MAX_SHOWN_CHARACTERS = 80


def parse_filters(*, kind: str, since: str, until: str, tag: str, now: datetime) -> Filters:
    """Parse the filters of a call. Raise BadArgument if a value is invalid."""
    start = _parse_time_span("since", since, now).start if since.strip() else 0
    end = _parse_time_span("until", until, now).end if until.strip() else LAST_MOMENT
    if start >= end:
        raise BadArgument("`since` is not before `until`", hint="Swap them.")
    if tag.strip() and not tag_of(tag):
        raise BadArgument(
            f"`tag` is not a word: {tag[:_MAX_SHOWN_CHARACTERS]!r}", hint="For example auth, or 123 for #123."
        )
    return Filters(_parse_kinds(kind), start, end, tag_of(tag))


def _parse_kinds(text: str) -> tuple[str, ...]:
    wanted = tuple(dict.fromkeys(name.strip().lower() for name in text.split(",") if name.strip()))
    for name in wanted:
        if name not in KNOWN_KINDS:
            raise BadArgument(
                f"Unknown kind: {name[:_MAX_SHOWN_CHARACTERS]}", hint=f"Choose from {', '.join(KNOWN_KINDS)}."
            )
    return wanted


def _parse_time_span(name: str, text: str, now: datetime) -> TimeSpan:
    """Parse a time filter: an ISO 8601 moment or day, or a phrase such as "2 weeks ago"."""
    given = text.strip()
    if (moment := parse_iso(given)) is not None:
        return TimeSpan(moment, moment + (_DAY_MICROSECONDS if len(given) == _DAY_CHARACTERS else 1))
    spans = mentioned_spans(given, now) if len(given) <= _MAX_SHOWN_CHARACTERS else ()
    if not spans:
        raise BadArgument(
            f"`{name}` is not a time: {given[:_MAX_SHOWN_CHARACTERS]!r}",
            hint="For example 2026-11-16, 2026-11-16T09:30, '2 weeks ago' or 'last Tuesday'.",
        )
    return spans[0]
