"""Moments as microseconds since 1970, and back as ISO 8601. Understands no spoken dates: see dates.py."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def micros(moment: datetime) -> int:
    """A moment as a number; one without a zone is taken for UTC."""
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (aware - _EPOCH) // _MICROSECOND


def moment_of(number: int) -> datetime:
    """The moment behind a number, in UTC."""
    return _EPOCH + timedelta(microseconds=number)


def iso(number: int) -> str:
    """A moment as ISO 8601 in UTC, exact to what was stored."""
    return moment_of(number).isoformat().replace("+00:00", "Z")


def day(number: int) -> str:
    """The day of a moment."""
    return moment_of(number).date().isoformat()


def parse_iso(text: str) -> int | None:
    """The moment that an ISO 8601 text names; None when it names none."""
    try:
        return micros(datetime.fromisoformat(text.strip()))
    except (ValueError, OverflowError):
        return None
