"""The nouns of memory: what is to be remembered, where to look, and what was found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from pinakes.store.memory import Observation

KINDS = ("decision", "finding", "change", "reference", "preference")
# Kinds that only capture produces: what a user asked for, what went wrong, what a whole session came to.
CAPTURED_KINDS = ("request", "error", "summary")

# The project that is no project: what is kept there is found from everywhere.
PERSONAL = "personal"
# Asks for every project at once.
ALL_PROJECTS = "all"

ID_PREFIX = "obs:"
MAX_TEXT_CHARACTERS = 100_000


class Clock(Protocol):
    """Tells the time, with its zone."""

    def __call__(self) -> datetime:
        """Now."""


@dataclass(frozen=True, slots=True)
class Draft:
    """What someone wants remembered, before it is cleaned, redacted and compared with what is known."""

    text: str
    kind: str = "finding"
    source: str = ""
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Place:
    """Where an observation belongs: the project, the folder it was seen in, and the session if there is one."""

    project_id: str
    root: Path | None = None
    session_id: str | None = None
    agent: str = ""


@dataclass(frozen=True, slots=True)
class Remembered:
    """What became of a draft: its id, whether it joined an older observation, and which kinds of secret were taken out."""

    id: str
    merged: bool = False
    redacted: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Hit:
    """One observation that answers a question. Scores compare within one answer; the best is 1."""

    observation: Observation
    score: float
    snippet: str


@dataclass(frozen=True, slots=True)
class Found:
    """The best hits, and among how many they were found."""

    hits: tuple[Hit, ...]
    matching: int
    searched: int
    elsewhere: int


def shown_id(observation_id: str) -> str:
    """An id as tools show it: its kind first."""
    return ID_PREFIX + observation_id


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
