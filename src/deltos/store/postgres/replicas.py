"""Standbys that searches read from, where one has all that was written to the project which is asked.

A project's row counts the transactions that wrote to it. A standby whose count is not behind the primary's has seen all
of them. Documentation and memory have no such count: a standby is asked that has replayed all that the primary's log
has. One that is behind is not asked, and neither is one that failed a moment ago: then the primary answers.
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
# None on a server that follows nobody: that is no standby.
_REPLAYED = "SELECT coalesce(pg_last_wal_replay_lsn() >= %s::text::pg_lsn, false)"
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

        def has_version(database: Database, snapshot: ExitStack) -> bool:
            snapshot.enter_context(database.snapshot())
            database.note_projects([key])
            rows = database.query(VERSION, (key,))
            return bool(rows) and rows[0][0] >= version

        return self._first(opened, has_version)

    def read_up_to(self, opened: ExitStack, written: str) -> Database | None:
        """A standby that has replayed the log up to a place, with a snapshot that `opened` ends; None when there is
        none."""

        def has_replayed(database: Database, snapshot: ExitStack) -> bool:
            # Before the snapshot begins: within it, this would tell of what came after.
            has_all = bool(database.query(_REPLAYED, (written,))[0][0])
            if has_all:
                snapshot.enter_context(database.snapshot())
            return has_all

        return self._first(opened, has_replayed)

    def _first(self, opened: ExitStack, begin: Callable[[Database, ExitStack], bool]) -> Database | None:
        """The first standby, in turns, whose snapshot `begin` has begun and found to lack nothing."""
        turn = next(self._turns)
        for n in range(len(self._replicas)):
            replica = self._replicas[(turn + n) % len(self._replicas)]
            if replica.is_quiet:
                continue
            try:
                with ExitStack() as trial:
                    database = replica.database()
                    lacks_nothing = begin(database, trial)
                    replica.note_success()
                    if lacks_nothing:
                        opened.push(trial.pop_all().__exit__)
                        return database
            except StoreError as error:
                replica.note_failure(error)
        return None
