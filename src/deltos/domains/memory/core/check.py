"""Implement `deltos memory check`: rebuild the full-text index, and recover observations from damaged files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltos.domains.memory.core.transfer import import_lines, observation_line

if TYPE_CHECKING:
    from deltos.domains.memory.core.memory import Memory
    from deltos.store.observations import MemoryCopy


@dataclass(frozen=True, slots=True)
class RecoveredCopy:
    """A damaged file or a snapshot, with the numbers of observations that were readable and that were recovered."""

    name: str
    size_bytes: int
    modified_at: float
    readable_count: int
    recovered_count: int


@dataclass(frozen=True, slots=True)
class CheckReport:
    """Result of checking the memory file; `problems` is empty if no problems were found."""

    observations: int
    problems: tuple[str, ...]
    set_aside: tuple[RecoveredCopy, ...] = ()
    snapshots: tuple[RecoveredCopy, ...] = ()

    @property
    def is_repaired(self) -> bool:
        """Whether the check found and repaired problems."""
        return bool(self.problems)

    @property
    def recovered_count(self) -> int:
        """Number of recovered observations."""
        return sum(copy.recovered_count for copy in (*self.set_aside, *self.snapshots))

    @property
    def unreadable_files(self) -> tuple[RecoveredCopy, ...]:
        """The damaged files from which no observation could be read."""
        return tuple(copy for copy in self.set_aside if not copy.readable_count)

    def snapshot_before(self, damaged: RecoveredCopy) -> str:
        """Return the name of the last snapshot taken before a file was damaged, or an empty string."""
        return next((copy.name for copy in self.snapshots if copy.modified_at <= damaged.modified_at), "")


def check(memory: Memory) -> CheckReport:
    """Check the memory file, rebuild the full-text index, and recover observations from damaged files and snapshots."""
    mended = memory.store.repair()
    aside = tuple(_recover_observations(memory, copy) for copy in mended.set_aside)
    # If the file is undamaged, only purged observations are missing in it, which must not be restored from snapshots.
    snapshots = tuple(_recover_observations(memory, copy) for copy in mended.snapshots) if aside else ()
    return CheckReport(memory.store.counts().observations, mended.problems, aside, snapshots)


def _recover_observations(memory: Memory, copy: MemoryCopy) -> RecoveredCopy:
    """Import the readable observations of a damaged file or snapshot, and return the counts."""
    lines = (observation_line(row, ()) for row in copy.readable)
    done = import_lines(memory, lines, project_id="", overwrite=False)
    return RecoveredCopy(copy.name, copy.size_bytes, copy.modified_at, done.added + done.unchanged, done.added)
