"""Verifies memory and mends it: the word index from the rows, a damaged file from whatever can still be read of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltos.domains.memory.memory import Memory
from deltos.domains.memory.transfer import import_lines, observation_line
from deltos.store.sqlite.database import move_aside
from deltos.store.sqlite.memory.reader import MemoryStore
from deltos.store.sqlite.memory.repair import problems_of, readable, set_aside_files, words_agree

if TYPE_CHECKING:
    from pathlib import Path

    from deltos.domains.memory.model import Clock


@dataclass(frozen=True, slots=True)
class Checked:
    """What a check found and did; `problems` is empty when all was well."""

    observations: int
    problems: tuple[str, ...]
    repaired: bool
    saved: int
    set_aside: tuple[str, ...]


def check(path: Path, clock: Clock) -> Checked:
    """Check the file at `path`, rebuild what can be rebuilt, and bring back what damaged files still hold."""
    store = MemoryStore(path)
    problems = problems_of(path)
    if problems:
        store.close()
        move_aside(path)
        store = MemoryStore(path)
    elif not words_agree(store):
        problems = ["the word index did not match the observations"]
        with store.writing() as writer:
            writer.rebuild_words()
    aside = set_aside_files(path)
    saved = sum(_save(Memory(store, clock=clock), damaged) for damaged in aside)
    count = store.counts().observations
    store.close()
    return Checked(count, tuple(problems), bool(problems), saved, tuple(damaged.name for damaged in aside))


def _save(memory: Memory, damaged: Path) -> int:
    """Take over what a damaged file still tells; how many observations are new."""
    return import_lines(
        memory, (observation_line(row, ()) for row in readable(damaged)), project_id="", overwrite=False
    ).added
