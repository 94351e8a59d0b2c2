"""Verifies memory and mends it: the word index from the observations, a damaged store from what can be read of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltos.domains.memory.transfer import import_lines, observation_line

if TYPE_CHECKING:
    from deltos.domains.memory.memory import Memory


@dataclass(frozen=True, slots=True)
class Checked:
    """What a check found and did; `problems` is empty when all was well."""

    observations: int
    problems: tuple[str, ...]
    repaired: bool
    saved: int
    set_aside: tuple[str, ...]


def check(memory: Memory) -> Checked:
    """Check what is kept, rebuild what can be rebuilt, and bring back what damaged copies still hold."""
    mended = memory.store.mend()
    lines = (observation_line(row, ()) for row in mended.readable)
    saved = import_lines(memory, lines, project_id="", overwrite=False).added
    count = memory.store.counts().observations
    return Checked(count, mended.problems, bool(mended.problems), saved, mended.set_aside)
