"""Types and constants of memory: drafts, origins, results of `remember`, and the format of ids and titles.

Named tuples for the same reason as in events.py: hooks must start fast.
"""

# No `from __future__ import annotations`: a named tuple would compile each annotation at import, and slow every hook.
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from deltos.store.observations import Observation

    # Returns the current time, with its time zone.
    Clock = Callable[[], datetime]

# Kind of a text that may be a decision or a preference, but is too uncertain to be shown without a query.
NOTE = "note"
KINDS = ("decision", "finding", "change", "reference", "preference")
# Kinds that only capture produces.
CAPTURED_KINDS = ("request", "error", "summary", NOTE)

# Pseudo-project whose observations are searched from every project.
PERSONAL = "personal"
# Selects every project.
ALL_PROJECTS = "all"

# Line prefixes of an answered question: the chosen option, and the other options, separated by semicolons.
DECISION_PREFIX = "The user decided: "
ALTERNATIVES_PREFIX = "Offered as well: "

MEASURED = "Measured with "  # start of the text of a measurement
APPROVED_PLAN = "Plan that the user approved:"

ID_PREFIX = "obs:"
MAX_TEXT_CHARACTERS = 100_000


class Draft(NamedTuple):
    """Text to remember, before it is cleaned, redacted and compared with existing observations."""

    text: str
    kind: str = "finding"  # empty: classified from the text
    source: str = ""
    files: tuple[str, ...] = ()
    score: float | None = None  # confidence of the kind; None if the kind was given


class ObservationOrigin(NamedTuple):
    """Where an observation was made: project, root of its relative paths, session and agent.

    `folder` is the folder inside the repository; if it is None, it is derived from `root`.
    """

    project_id: str
    root: Path | None = None
    session_id: str | None = None
    agent: str = ""
    folder: str | None = None


class RememberResult(NamedTuple):
    """Result of storing a draft: the id, whether it was merged into an older observation, the kinds of redacted
    secrets, the ids of superseded observations, and statements that may contradict it."""

    id: str
    merged: bool = False
    redacted: tuple[str, ...] = ()
    superseded: tuple[str, ...] = ()
    conflicts: "tuple[Observation, ...]" = ()


def format_id(observation_id: str) -> str:
    """Return the id as tools show it: with the prefix `obs:`."""
    return ID_PREFIX + observation_id


def format_kind(kind: str, score: float | None) -> str:
    """Return the kind as lists show it: with its confidence if it was classified."""
    return kind if score is None else f"{kind} ({score:.2f})"


def possible_ids(shown: str) -> tuple[str, ...]:
    """Return the stored ids that an id given by a caller may refer to, most probable first."""
    bare = shown.strip().removeprefix(ID_PREFIX)
    return (bare,) if bare == shown else (bare, shown)


def title_of(text: str, *, characters: int = 60) -> str:
    """Return the first non-empty line of a text, truncated between words."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    if len(line) <= characters:
        return line
    return line[: characters - 1].rsplit(" ", 1)[0].rstrip(" ,;:.") + "…"
