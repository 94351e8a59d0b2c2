"""Working-time law and local agreements, each as a predicate."""
from datetime import timedelta

from .models import Assignment, Nurse, Shift

REST_HOURS = 11
MAX_NIGHTS = 4


def has_rest(nurse: Nurse, shift: Shift, plan: list[Assignment]) -> bool:
    """At least eleven hours must lie between two duties."""
    gap = timedelta(hours=REST_HOURS)
    for a in plan:
        if a.nurse.id != nurse.id:
            continue
        if a.shift.ends + gap > shift.starts and shift.ends + gap > a.shift.starts:
            return False
    return True


def under_weekly_cap(nurse: Nurse, shift: Shift, plan: list[Assignment], cap: float = 48) -> bool:
    year, week, _ = shift.starts.isocalendar()
    total = shift.hours
    for a in plan:
        if a.nurse.id == nurse.id and a.shift.starts.isocalendar()[:2] == (year, week):
            total += a.shift.hours
    return total <= cap


def night_streak_ok(nurse: Nurse, shift: Shift, plan: list[Assignment]) -> bool:
    if not shift.is_night:
        return True
    nights = {a.shift.starts.date() for a in plan if a.nurse.id == nurse.id and a.shift.is_night}
    run, day = 1, shift.starts.date() - timedelta(days=1)
    while day in nights:
        run += 1
        day -= timedelta(days=1)
    return run <= MAX_NIGHTS


def skill_mix_ok(shift: Shift, crew: list[Nurse]) -> bool:
    # somebody experienced has to be on the floor
    return any(n.can_lead() for n in crew)


ALL = [has_rest, under_weekly_cap, night_streak_ok]
