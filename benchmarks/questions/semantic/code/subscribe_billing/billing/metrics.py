"""Numbers for the Monday board.

All in euro, before VAT.
"""
from datetime import date
from decimal import Decimal

from .db import Customer, session
from .plans import PLANS


def mrr(day: date) -> Decimal:
    rows = session.query(Customer).filter(Customer.active.is_(True), Customer.started_on <= day)
    return sum((PLANS[c.plan].monthly for c in rows), Decimal(0))


def churn(first: date, last: date) -> float:
    """Share of those who were there at the start and had gone by the end."""
    base = session.query(Customer).filter(Customer.started_on < first)
    lost = base.filter(Customer.ended_on.between(first, last)).count()
    alive = base.filter((Customer.ended_on.is_(None)) | (Customer.ended_on >= first)).count()
    return lost / alive if alive else 0.0
