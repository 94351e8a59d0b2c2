"""Types and constants of memory: new observations (drafts), origins, and the formats of ids and titles.

Named tuples are used instead of dataclasses because hooks must start fast, as explained in events.py.
"""

# `from __future__ import annotations` is not used: named tuples would compile each annotation at import, which slows
# hooks.
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from deltos.store.observations import Observation

    # Function that returns the current time with its time zone.
    Clock = Callable[[], datetime]

# Kind of observation that may be a decision or preference, but is too uncertain to be shown without a query.
NOTE = "note"
KINDS = ("decision", "finding", "change", "reference", "preference")
# Kind of observation that describes the state of the agent's list of steps.
PROGRESS = "progress"
# Kinds of observation that are created only from hook events.
CAPTURED_KINDS = ("request", "error", "summary", PROGRESS, NOTE)

# Id of a pseudo-project whose observations are found from every project.
PERSONAL = "personal"
# Value of `project_id` that selects every project.
ALL_PROJECTS = "all"

# Line prefixes in the text of an answered question: for the chosen option, and for the other options.
DECISION_PREFIX = "The user decided: "
ALTERNATIVES_PREFIX = "Offered as well: "

MEASURED = "Measured with "  # first words of an observation about a measurement
FIXED = "Fixed: "  # first word of an observation about an error that was fixed
RECORD_PREFIXES = (FIXED, MEASURED)  # first words of records of past events, which stay valid
APPROVED_PLAN = "Plan that the user approved:"

ID_PREFIX = "obs:"
MAX_TEXT_CHARACTERS = 100_000


class Draft(NamedTuple):
    """An observation that is not stored yet: its text is not cleaned, redacted or compared with stored observations."""

    text: str
    kind: str = "finding"  # kind of observation; if empty, the text is classified
    source: str = ""
    files: tuple[str, ...] = ()
    score: float | None = None  # confidence of a classified kind, None for a given kind


class ObservationOrigin(NamedTuple):
    """Where an observation was made: project, folder to which paths are relative (`root`), session and agent.

    `folder` is the folder inside the repository; None means that it is derived from `root`.
    """

    project_id: str
    root: Path | None = None
    session_id: str | None = None
    agent: str = ""
    folder: str | None = None


class RememberResult(NamedTuple):
    """Result of storing a new observation.

    It contains the id, whether the draft was merged, the kinds of redacted secrets, the superseded ids, and statements
    that may contradict the draft.
    """

    id: str
    merged: bool = False
    redacted: tuple[str, ...] = ()
    superseded: tuple[str, ...] = ()
    conflicts: "tuple[Observation, ...]" = ()


def format_id(observation_id: str) -> str:
    """Return an observation id as shown by tools, with the prefix `obs:`."""
    return ID_PREFIX + observation_id


def format_kind(kind: str, score: float | None) -> str:
    """Return a kind as shown in lists, with its confidence if it was classified."""
    return kind if score is None else f"{kind} ({score:.2f})"


def possible_ids(shown: str) -> tuple[str, ...]:
    """Return the stored ids to which an id given by a caller may refer, most probable first."""
    bare = shown.strip().removeprefix(ID_PREFIX)
    return (bare,) if bare == shown else (bare, shown)


def title_of(text: str, *, characters: int = 60) -> str:
    """Return the first non-empty line of a text as the title, truncated between words."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    if len(line) <= characters:
        return line
    return line[: characters - 1].rsplit(" ", 1)[0].rstrip(" ,;:.") + "…"
