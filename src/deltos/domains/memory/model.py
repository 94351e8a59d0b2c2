"""The nouns of memory: what is to be remembered and where it belongs, and how ids and titles are shown.

Named tuples for the same reason as in events.py: hooks must start fast.
"""

# Annotations are evaluated here: as texts, each field of a named tuple would be compiled whenever a hook starts.
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    # Tells the time, with its zone.
    Clock = Callable[[], datetime]

KINDS = ("decision", "finding", "change", "reference", "preference")
# Kinds that only capture produces: what a user asked for, what went wrong, what a whole session came to, and what may
# be a decision or a preference.
CAPTURED_KINDS = ("request", "error", "summary", "note")

# Not a project: what is kept under this name is found from every project.
PERSONAL = "personal"
# Asks for every project at once.
ALL_PROJECTS = "all"

# Begin the lines of a choice: what the user took, and what not; labels with semicolons between them.
DECIDED = "The user decided: "
OFFERED_AS_WELL = "Offered as well: "

ID_PREFIX = "obs:"
MAX_TEXT_CHARACTERS = 100_000


class Draft(NamedTuple):
    """What someone wants remembered, before it is cleaned, redacted and compared with what is known."""

    text: str
    kind: str = "finding"  # empty: judged by what the text says
    source: str = ""
    files: tuple[str, ...] = ()
    score: float | None = None  # how sure the kind is, where it was judged and not given


class ObservationOrigin(NamedTuple):
    """Where an observation belongs: the project, the folder that its paths are relative to, and the session if there
    is one; `folder` is where in the repository it was made, unless `root` tells."""

    project_id: str
    root: Path | None = None
    session_id: str | None = None
    agent: str = ""
    folder: str | None = None


class Remembered(NamedTuple):
    """What became of a draft: its id, whether it joined an older observation, which kinds of secret were taken out, and
    the ids of older observations that it replaces."""

    id: str
    merged: bool = False
    redacted: tuple[str, ...] = ()
    superseded: tuple[str, ...] = ()


def shown_id(observation_id: str) -> str:
    """An id as tools show it: its kind first."""
    return ID_PREFIX + observation_id


def shown_kind(kind: str, score: float | None) -> str:
    """A kind as lists show it, with how sure it is where it was judged."""
    return kind if score is None else f"{kind} ({score:.2f})"


def possible_ids(given: str) -> tuple[str, ...]:
    """The stored ids that a given one can mean, likeliest first."""
    bare = given.strip().removeprefix(ID_PREFIX)
    return (bare,) if bare == given else (bare, given)


def title_of(text: str, *, characters: int = 60) -> str:
    """The first line of a text, shortened at a word."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    if len(line) <= characters:
        return line
    return line[: characters - 1].rsplit(" ", 1)[0].rstrip(" ,;:.") + "…"
