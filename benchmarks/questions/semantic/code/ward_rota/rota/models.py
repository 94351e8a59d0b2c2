from __future__ import annotations

import enum
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta


class Grade(enum.IntEnum):
    ASSISTANT = 1
    REGISTERED = 2
    SENIOR = 3
    CHARGE = 4


@dataclass(frozen=True)
class Shift:
    kind: str
    starts: datetime
    ends: datetime
    minimum: int = 2

    @property
    def hours(self) -> float:
        return (self.ends - self.starts) / timedelta(hours=1)

    @property
    def is_night(self) -> bool:
        return self.ends.date() > self.starts.date()


@dataclass
class Nurse:
    id: int
    name: str
    grade: Grade
    contract_hours: float = 38.5
    email: str = ""
    unavailable: set[date] = field(default_factory=set)
    wishes: dict[date, str] = field(default_factory=dict)

    def can_lead(self) -> bool:
        return self.grade >= Grade.SENIOR


@dataclass
class Assignment:
    nurse: Nurse
    shift: Shift
    locked: bool = False
