"""Absences: annual leave, sickness and training."""
from datetime import date, timedelta

from .models import Assignment, Nurse

ANNUAL_DAYS = 25


def remaining_days(nurse: Nurse, taken: list[tuple[date, date]], year: int) -> int:
    used = 0
    for first, last in taken:
        day = first
        while day <= last:
            if day.year == year and day.weekday() < 5:
                used += 1
            day += timedelta(days=1)
    return ANNUAL_DAYS - used


def report_sick(nurse: Nurse, first: date, last: date, plan: list[Assignment]) -> list[Assignment]:
    """Drop the ill person's duties and return the gaps that must be refilled."""
    day = first
    while day <= last:
        nurse.unavailable.add(day)
        day += timedelta(days=1)
    gaps = [a for a in plan if a.nurse is nurse and first <= a.shift.starts.date() <= last]
    for a in gaps:
        plan.remove(a)
    return gaps


def blocked_by_quota(requests: dict[date, int], day: date, quota: int = 3) -> bool:
    return requests.get(day, 0) >= quota
