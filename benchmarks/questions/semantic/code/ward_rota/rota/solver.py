"""Greedy assignment followed by local repair."""
import random
from collections import Counter

from . import rules
from .models import Assignment, Nurse, Shift


class Understaffed(Exception):
    def __init__(self, shift: Shift, missing: int):
        super().__init__(f"{shift.kind} on {shift.starts:%d.%m.} lacks {missing}")
        self.shift = shift
        self.missing = missing


def eligible(nurse: Nurse, shift: Shift, plan: list[Assignment]) -> bool:
    if shift.starts.date() in nurse.unavailable:
        return False
    return all(rule(nurse, shift, plan) for rule in rules.ALL)


def cost(nurse: Nurse, shift: Shift, worked: Counter) -> float:
    """Lower is better: honours wishes and evens out the load."""
    score = worked[nurse.id] / nurse.contract_hours
    wish = nurse.wishes.get(shift.starts.date())
    if wish == shift.kind:
        score -= 0.5
    elif wish == "free":
        score += 2.0
    return score


def build(nurses: list[Nurse], shifts: list[Shift], seed: int = 0) -> list[Assignment]:
    rng = random.Random(seed)
    plan: list[Assignment] = []
    worked: Counter = Counter()
    for shift in sorted(shifts, key=lambda s: (not s.is_night, s.starts)):
        pool = [n for n in nurses if eligible(n, shift, plan)]
        rng.shuffle(pool)
        pool.sort(key=lambda n: cost(n, shift, worked))
        crew = pool[: shift.minimum]
        if len(crew) < shift.minimum:
            raise Understaffed(shift, shift.minimum - len(crew))
        if not rules.skill_mix_ok(shift, crew):
            leader = next((n for n in pool if n.can_lead()), None)
            if leader:
                crew[-1] = leader
        for n in crew:
            plan.append(Assignment(n, shift))
            worked[n.id] += shift.hours
    return plan
