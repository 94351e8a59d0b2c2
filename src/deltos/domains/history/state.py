"""Progress of indexing a project's git history, and messages about commits that are not indexed."""

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

MAX_COMMITS = 50_000  # maximum number of indexed commits of a repository
_KEY_PREFIX = "history/"


@dataclass(frozen=True, slots=True)
class HistoryState:
    """Progress of indexing the history. All values are stored as strings.

    - `layout`: key computed from the settings of the index; if the key changes, the index is rebuilt.
    - `tip`: newest indexed commit.
    - `start`, `walked`: the commit at which indexing began, and the number of older commits indexed since.
    - `complete`: set when all older commits up to the limit are indexed.
    - `ends`: reason why older commits are missing: `shallow` or `limit`; empty if none are missing.
    - `stopped`: reason why the last run ended early.
    - `older`: number of commits beyond the limit, if known.
    - `removed`: number of removed commits whose terms are still in the index.
    - `summary`: text for `deltos status`.
    - `seen`: digest of the last fully indexed repository state.
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
        """Return the stored state; `fact` returns the stored value of a key."""
        return cls(*(fact(_KEY_PREFIX + field.name) for field in fields(cls)))

    def facts(self) -> dict[str, str]:
        """Return the state as stored key-value pairs."""
        return {_KEY_PREFIX + field.name: getattr(self, field.name) for field in fields(self)}

    @property
    def removed_count(self) -> int:
        """Number of commits removed since the index was last rebuilt."""
        return int(self.removed) if self.removed.isdecimal() else 0

    @property
    def walked_count(self) -> int:
        """Number of commits indexed backwards from `start`."""
        return int(self.walked) if self.walked.isdecimal() else 0


def limits_of(store: ProjectFiles) -> str:
    """Return a sentence about a project's commits that are not indexed, or an empty string if there are none."""
    return describe_limits(HistoryState.read(store.meta))


def describe_limits(state: HistoryState) -> str:
    """Return a sentence about commits that are not indexed, or an empty string if there are none."""
    if state.stopped and not state.walked_count:
        return f"The history could not be read: {state.stopped}."
    if not state.tip:
        return ""
    if state.stopped and state.complete:
        return f"Recent commits may be missing: {state.stopped}."
    if state.stopped:
        return f"Only {counted(state.walked_count, 'commit')} could be read: {state.stopped}. `deltos index` continues."
    if not state.complete:
        return f"History is still being read ({counted(state.walked_count, 'commit')} so far)."
    if state.ends == "limit":
        older = f"{int(state.older):,} commits older" if state.older.isdecimal() else "Commits older"
        return f"{older} than the newest {MAX_COMMITS:,} commits are not indexed."
    if state.ends == "shallow":
        return "This is a shallow clone without older commits. Run `git fetch --unshallow` to fetch older commits."
    return ""


def summary_of(totals: HistoryTotals, state: HistoryState) -> str:
    """Return a summary of the indexed history for `deltos status`, `deltos doctor` and `deltos index`."""
    limits = describe_limits(state)
    if not totals.commits:
        return limits or "no commits"
    parts = [f"{counted(totals.commits, 'commit')} since {commit_date(totals.oldest)}"]
    if totals.sweeping:
        sweeps = f"{totals.sweeping:,} of them changed more than {MAX_RELATED_FILES} files"
        parts.append(f"{sweeps} (not used to find files that change together)")
    return ", ".join(parts) + (f". {limits}" if limits else "")


def commit_date(seconds: int) -> str:
    """Return a commit time as a date in ISO format."""
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d")
    except (OverflowError, OSError, ValueError):  # git does not validate the time of a commit
        return "at an unknown time"
