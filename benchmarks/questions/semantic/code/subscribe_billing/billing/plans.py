"""What we sell."""
from dataclasses import dataclass
from decimal import Decimal


@dataclass(frozen=True)
class Plan:
    code: str
    monthly: Decimal
    seats: int
    trial_days: int = 0


PLANS = {
    p.code: p
    for p in (
        Plan("starter", Decimal("9.00"), 1, trial_days=14),
        Plan("team", Decimal("39.00"), 5, trial_days=14),
        Plan("business", Decimal("149.00"), 25),
    )
}


def seat_overage(plan: Plan, active_users: int, per_seat: Decimal = Decimal("7.50")) -> Decimal:
    extra = max(0, active_users - plan.seats)
    return extra * per_seat


def yearly_price(plan: Plan) -> Decimal:
    """Twelve months for the price of ten."""
    return plan.monthly * 10
