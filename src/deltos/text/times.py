"""Convert moments to microseconds since 1970 and to ISO 8601. For dates in natural language, see dates.py."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def micros(moment: datetime) -> int:
    """Return a moment in microseconds; one without a time zone is taken as UTC."""
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (aware - _EPOCH) // _MICROSECOND


def moment_of(number: int) -> datetime:
    """Return the moment of a number of microseconds, in UTC."""
    return _EPOCH + timedelta(microseconds=number)


def iso(number: int) -> str:
    """Return a number of microseconds as ISO 8601 in UTC."""
    return moment_of(number).isoformat().replace("+00:00", "Z")


def day(number: int) -> str:
    """Return the date of a number of microseconds."""
    return moment_of(number).date().isoformat()


def parse_iso(text: str) -> int | None:
    """Return an ISO 8601 text in microseconds; None if it is not valid."""
    try:
        return micros(datetime.fromisoformat(text.strip()))
    except (ValueError, OverflowError):
        return None
