"""Conversion of moments to microseconds since 1970 and to ISO 8601. For dates in natural language, see dates.py."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def micros(moment: datetime) -> int:
    """Return a moment in microseconds since 1970, assuming UTC if it has no time zone."""
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (aware - _EPOCH) // _MICROSECOND


def moment_of(number: int) -> datetime:
    """Return the UTC moment that is `number` microseconds after 1970."""
    return _EPOCH + timedelta(microseconds=number)


def iso(number: int) -> str:
    """Format microseconds since 1970 as ISO 8601 in UTC."""
    return moment_of(number).isoformat().replace("+00:00", "Z")


def day(number: int) -> str:
    """Return the date of a moment in microseconds since 1970."""
    return moment_of(number).date().isoformat()


def parse_iso(text: str) -> int | None:
    """Parse an ISO 8601 text to microseconds since 1970; return None if it is invalid."""
    try:
        return micros(datetime.fromisoformat(text.strip()))
    except (ValueError, OverflowError):
        return None
