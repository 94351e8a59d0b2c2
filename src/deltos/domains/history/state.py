"""How far the history of a project is known, as recorded beside it, and what a reader should be told of that."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from deltos.store.history import MAX_RELATED_FILES
from deltos.text.counts import counted

if TYPE_CHECKING:
    from collections.abc import Callable

    from deltos.store.history import HistoryTotals
    from deltos.store.project import ProjectFiles

MAX_COMMITS = 50_000
_KEY = "history/"


@dataclass(frozen=True, slots=True)
class HistoryState:
    """What was read. `tip` is the newest known commit; from `start` on, `walked` commits were read backwards.

    `layout` is what all of it depends on, `ends` why there is nothing older (shallow, limit), `stopped` why reading
    ended before its time, `older` how many commits the limit leaves out, where that is known, `removed` how many
    were removed since `start`, whose words are still in the index, `summary` what a person is told of all this, and
    `seen` what tells the state of the repository up to which nothing is missing.
    """

    layout: str = ""
    tip: str = ""
    start: str = ""
    walked: str = ""
    complete: str = ""
    ends: str = ""
    stopped: str = ""
    older: str = ""
    removed: str = ""
    summary: str = ""
    seen: str = ""

    @classmethod
    def read(cls, fact: Callable[[str], str]) -> HistoryState:
        """The state that was recorded."""
        return cls(*(fact(_KEY + field.name) for field in fields(cls)))

    def facts(self) -> dict[str, str]:
        """The state as it is recorded."""
        return {_KEY + field.name: getattr(self, field.name) for field in fields(self)}

    @property
    def removed_count(self) -> int:
        """How many commits were removed since the history was read as a whole."""
        return int(self.removed) if self.removed.isdecimal() else 0

    @property
    def walked_count(self) -> int:
        """How many commits were read backwards from `start`."""
        return int(self.walked) if self.walked.isdecimal() else 0


def limits_of(store: ProjectFiles) -> str:
    """What of the history is not known, in one sentence; empty where all of it is."""
    return describe_limits(HistoryState.read(store.meta))


def describe_limits(state: HistoryState) -> str:
    """The same of a state."""
    if state.stopped and not state.walked_count:
        return f"The history could not be read: {state.stopped}."
    if not state.tip:
        return ""
    if state.stopped and state.complete:
        return f"Commits made since may be missing: {state.stopped}."
    if state.stopped:
        return f"Only {counted(state.walked_count, 'commit')} could be read: {state.stopped}; `deltos index` reads on."
    if not state.complete:
        return f"History is still being read ({counted(state.walked_count, 'commit')} so far)."
    if state.ends == "limit":
        older = f"{int(state.older):,} older ones" if state.older.isdecimal() else "Older ones"
        return f"{older} than the newest {MAX_COMMITS:,} commits are left out."
    if state.ends == "shallow":
        return "This is a shallow clone: older commits are not there (git fetch --unshallow gets them)."
    return ""


def summary_of(totals: HistoryTotals, state: HistoryState) -> str:
    """What is known, for `deltos status`, `deltos doctor` and `deltos index`."""
    limits = describe_limits(state)
    if not totals.commits:
        return limits or "no commits"
    parts = [f"{counted(totals.commits, 'commit')} since {day(totals.oldest)}"]
    if totals.sweeping:
        sweeps = f"{totals.sweeping:,} of them changed more than {MAX_RELATED_FILES} files"
        parts.append(f"{sweeps} (not counted for what changes together)")
    return ", ".join(parts) + (f". {limits}" if limits else "")


def day(seconds: int) -> str:
    """The day of a commit."""
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d")
    except (OverflowError, OSError, ValueError):  # a commit may claim any time
        return "at an unknown time"
