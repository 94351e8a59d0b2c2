"""Verifies memory and mends it: the word index from the observations, a damaged store from what can be read of it and
from its snapshots."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltos.domains.memory.transfer import import_lines, observation_line

if TYPE_CHECKING:
    from deltos.domains.memory.memory import Memory
    from deltos.store.observations import Copy


@dataclass(frozen=True, slots=True)
class Recovered:
    """What a damaged file or a snapshot still told: how many observations, and how many of those were missing."""

    name: str
    size_bytes: int
    modified_at: float
    read: int
    saved: int


@dataclass(frozen=True, slots=True)
class Checked:
    """What a check found and did; `problems` is empty when nothing is wrong now."""

    observations: int
    problems: tuple[str, ...]
    set_aside: tuple[Recovered, ...] = ()
    snapshots: tuple[Recovered, ...] = ()

    @property
    def repaired(self) -> bool:
        """Whether something was wrong."""
        return bool(self.problems)

    @property
    def saved(self) -> int:
        """How many observations were brought back."""
        return sum(copy.saved for copy in (*self.set_aside, *self.snapshots))

    @property
    def unreadable(self) -> tuple[Recovered, ...]:
        """The damaged files that tell nothing any more: what they held is lost, save what snapshots have."""
        return tuple(copy for copy in self.set_aside if not copy.read)

    def snapshot_before(self, damaged: Recovered) -> str:
        """The name of the last snapshot that was taken before a file was damaged; empty when there is none."""
        return next((copy.name for copy in self.snapshots if copy.modified_at <= damaged.modified_at), "")


def check(memory: Memory) -> Checked:
    """Check what is kept, rebuild what can be rebuilt, and bring back what damaged copies and snapshots still hold."""
    mended = memory.store.mend()
    aside = tuple(_recovered(memory, copy) for copy in mended.set_aside)
    # Snapshots know nothing that a sound file has not, except what was purged since by an older version.
    snapshots = tuple(_recovered(memory, copy) for copy in mended.snapshots) if aside else ()
    return Checked(memory.store.counts().observations, mended.problems, aside, snapshots)


def _recovered(memory: Memory, copy: Copy) -> Recovered:
    lines = (observation_line(row, ()) for row in copy.readable)
    done = import_lines(memory, lines, project_id="", overwrite=False)
    return Recovered(copy.name, copy.size_bytes, copy.modified_at, done.added + done.unchanged, done.added)
