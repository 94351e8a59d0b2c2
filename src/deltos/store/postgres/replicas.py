"""Standbys that searches read from, where one has all that was written to the project which is asked.

A project's row counts the transactions that wrote to it. A standby whose count is not behind the primary's has seen all
of them; one that is behind is not asked, and neither is one that failed a moment ago: then the primary answers.
"""

from __future__ import annotations

import itertools
import sys
import threading
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING

from deltos.errors import StoreError
from deltos.store.postgres.database import Database
from deltos.store.postgres.errors import place_of
from deltos.store.postgres.migration import Migration

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

REPLICAS_001 = Migration("replicas-001", "ALTER TABLE project ADD COLUMN version bigint NOT NULL DEFAULT 0;")
VERSION = "SELECT version FROM project WHERE id = %s"
_QUIET_SECONDS = 10.0
_WAIT_SECONDS = 1.0  # for a connection: the primary has some too


class Replica:
    """One standby, connected to when it is first needed."""

    def __init__(self, url: str, clock: Callable[[], float]) -> None:
        self.place = place_of(url)
        self._url = url
        self._clock = clock
        self._opening = threading.Lock()
        self._database: Database | None = None
        self._quiet_until = 0.0
        self.failure = ""

    @property
    def is_quiet(self) -> bool:
        """Whether it failed a moment ago."""
        return self._clock() < self._quiet_until

    def database(self) -> Database:
        """It, with transactions of its own."""
        with self._opening:
            if self._database is None:
                self._database = Database(self._url, migrations=None, wait_seconds=_WAIT_SECONDS)
            return self._database.beside()

    def note_failure(self, error: StoreError) -> None:
        """Leave it alone for a while."""
        if not self.failure:
            sys.stderr.write(f"deltos: {self.place} is not read from ({error.message}); the primary answers\n")
        self.failure = error.message
        self._quiet_until = self._clock() + _QUIET_SECONDS

    def note_success(self) -> None:
        """It is there."""
        self.failure = ""


class Replicas:
    """All standbys, asked in turns."""

    def __init__(self, urls: Sequence[str], clock: Callable[[], float] = time.monotonic) -> None:
        self._replicas = [Replica(url, clock) for url in urls]
        self._turns = itertools.count()

    def __bool__(self) -> bool:
        return bool(self._replicas)

    def notes(self) -> tuple[str, ...]:
        """What a reader should know: which of them cannot be read from."""
        failed = [replica.place for replica in self._replicas if replica.failure]
        return (f"Note: {', '.join(failed)} cannot be read from; the primary answers.",) if failed else ()

    def read(self, opened: ExitStack, key: int, version: int) -> Database | None:
        """A standby that has that version of a project, with a snapshot that `opened` ends; None when there is none."""
        turn = next(self._turns)
        for n in range(len(self._replicas)):
            replica = self._replicas[(turn + n) % len(self._replicas)]
            if replica.is_quiet:
                continue
            try:
                if database := self._current(replica, opened, key, version):
                    return database
            except StoreError as error:
                replica.note_failure(error)
        return None

    def _current(self, replica: Replica, opened: ExitStack, key: int, version: int) -> Database | None:
        database = replica.database()
        with ExitStack() as trial:
            trial.enter_context(database.snapshot())
            database.note_projects([key])
            rows = database.query(VERSION, (key,))
            replica.note_success()
            if not rows or rows[0][0] < version:
                return None
            opened.push(trial.pop_all().__exit__)
        return database
