"""Fixtures: a memory in a temporary folder, with a clock that tests set."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import count
from typing import TYPE_CHECKING

import pytest

from deltos.domains.memory.core.memory import Memory
from deltos.domains.memory.core.model import Draft, ObservationOrigin
from deltos.model import Clean
from deltos.store.sqlite.memory.reader import SqliteObservations

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Clock:
    """A clock that returns the time set by the test."""

    def __init__(self) -> None:
        self.now = datetime(2025, 5, 14, 12, 0, tzinfo=UTC)  # this date is a Wednesday

    def __call__(self) -> datetime:
        return self.now

    def pass_time(self, **amount: float) -> None:
        """Advance the clock; negative amounts turn it back."""
        self.now += timedelta(**amount)


class Notes:
    """Methods that store and search texts in a memory, with default values for tests."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory

    def remember(
        self, text: str, *, kind: str = "finding", project: str = "p", session: str | None = None, source: str = ""
    ) -> str:
        """Store a text and return its id."""
        return self.memory.remember(Draft(text, kind, source), ObservationOrigin(project, None, session)).id

    def search(self, query: str, *, project: str = "p", limit: int = 10) -> list[str]:
        """Return the texts found for a query, best first."""
        return [hit.observation.text for hit in self.memory.search(query, project, limit=limit).hits]

    def texts(self) -> list[str]:
        """Return the texts of all observations, including forgotten ones."""
        return [row.text for row in self.memory.store.all()]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def memory(tmp_path: Path, clock: Clock) -> Iterator[Memory]:
    numbers = count(1)
    store = SqliteObservations(tmp_path / "home" / "memory.db")
    yield Memory(store, clock=clock, new_id=lambda: Clean(f"n{next(numbers)}"))
    store.close()


@pytest.fixture
def notes(memory: Memory) -> Notes:
    return Notes(memory)
