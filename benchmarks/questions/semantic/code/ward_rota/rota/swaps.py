from dataclasses import dataclass
from datetime import datetime

from . import rules
from .models import Assignment


@dataclass
class SwapRequest:
    giver: Assignment
    taker: Assignment
    created: datetime
    approved_by: str | None = None


def validate(req: SwapRequest, plan: list[Assignment]) -> list[str]:
    problems = []
    rest = [a for a in plan if a not in (req.giver, req.taker)]
    for nurse, shift in ((req.giver.nurse, req.taker.shift), (req.taker.nurse, req.giver.shift)):
        for rule in rules.ALL:
            if not rule(nurse, shift, rest):
                problems.append(f"{nurse.name}: {rule.__name__}")
    return problems


def apply(req: SwapRequest, plan: list[Assignment]) -> None:
    """Exchange the two people; both rows become fixed."""
    if req.approved_by is None:
        raise PermissionError("needs sign-off by the charge nurse")
    req.giver.nurse, req.taker.nurse = req.taker.nurse, req.giver.nurse
    req.giver.locked = req.taker.locked = True


def expire(requests: list[SwapRequest], now: datetime) -> list[SwapRequest]:
    return [r for r in requests if r.giver.shift.starts > now]
