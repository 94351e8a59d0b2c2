"""Conversion between datetimes, microseconds since 1970 and ISO 8601. See dates.py for natural language."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def micros(moment: datetime) -> int:
    """Convert a datetime to microseconds since 1970. UTC is the default time zone."""
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (aware - _EPOCH) // _MICROSECOND


def moment_of(number: int) -> datetime:
    """Convert microseconds since 1970 to a UTC datetime."""
    return _EPOCH + timedelta(microseconds=number)


def iso(number: int) -> str:
    """Format microseconds since 1970 as ISO 8601 in UTC."""
    return moment_of(number).isoformat().replace("+00:00", "Z")


def day(number: int) -> str:
    """Format a time in microseconds since 1970 as a date."""
    return moment_of(number).date().isoformat()


def parse_iso(text: str) -> int | None:
    """Parse an ISO 8601 text to microseconds since 1970. Return None if it is invalid."""
    try:
        return micros(datetime.fromisoformat(text.strip()))
    except (ValueError, OverflowError):
        return None
