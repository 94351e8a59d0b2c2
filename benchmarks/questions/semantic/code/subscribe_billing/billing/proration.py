from datetime import date
from decimal import ROUND_HALF_UP, Decimal

from .plans import Plan

CENT = Decimal("0.01")


def days_left(period_end: date, today: date) -> int:
    return max(0, (period_end - today).days)


def prorate(old: Plan, new: Plan, period_start: date, period_end: date, today: date) -> Decimal:
    """Difference owed when switching plans mid-period; negative means credit."""
    span = (period_end - period_start).days
    share = Decimal(days_left(period_end, today)) / Decimal(span)
    return ((new.monthly - old.monthly) * share).quantize(CENT, ROUND_HALF_UP)


def round_half_cent(amount: Decimal) -> Decimal:
    return amount.quantize(CENT, ROUND_HALF_UP)
