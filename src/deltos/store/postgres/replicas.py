"""Selection of standbys for searches: only standbys that have all relevant writes are used.

A counter in each project's row counts its write transactions; a standby with an equal or higher count has seen all of
them. Documentation and memory have no counter: there a standby must have replayed the whole log of the primary. The
primary answers if every standby lags behind or failed recently.
"""

from __future__ import annotations

import itertools
import sys
import threading
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING

from deltos.errors import StoreError
from deltos.store.migration import Migration
from deltos.store.postgres.database import PostgresDatabase
from deltos.store.postgres.errors import place_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

REPLICAS_001 = Migration("replicas-001", "ALTER TABLE project ADD COLUMN version bigint NOT NULL DEFAULT 0;")
VERSION = "SELECT version FROM project WHERE id = %s"
# pg_last_wal_replay_lsn() is NULL on a server that is no standby.
_REPLAYED = "SELECT coalesce(pg_last_wal_replay_lsn() >= %s::text::pg_lsn, false)"
_RETRY_SECONDS = 10.0
_WAIT_SECONDS = 1.0  # for a connection; short, because the primary can answer instead


class Replica:
    """One standby, connected to on first use."""

    def __init__(self, url: str, clock: Callable[[], float]) -> None:
        self.place = place_of(url)
        self._url = url
        self._clock = clock
        self._opening = threading.Lock()
        self._database: PostgresDatabase | None = None
        self._paused_until = 0.0
        self.failure = ""

    @property
    def is_paused(self) -> bool:
        """Whether it failed recently and is not used for now."""
        return self._clock() < self._paused_until

    def database(self) -> PostgresDatabase:
        """Return the database with its own transactions."""
        with self._opening:
            if self._database is None:
                self._database = PostgresDatabase(self._url, migrations=None, wait_seconds=_WAIT_SECONDS)
            return self._database.with_own_transactions()

    def note_failure(self, error: StoreError) -> None:
        """Stop using the standby for a while, and report that once."""
        if not self.failure:
            sys.stderr.write(f"deltos: cannot read from standby {self.place} ({error.message}); using the primary\n")
        self.failure = error.message
        self._paused_until = self._clock() + _RETRY_SECONDS

    def note_success(self) -> None:
        """Record that the standby answers again."""
        self.failure = ""


class Replicas:
    """All standbys, used in rotation."""

    def __init__(self, urls: Sequence[str], clock: Callable[[], float] = time.monotonic) -> None:
        self._replicas = [Replica(url, clock) for url in urls]
        self._turns = itertools.count()

    def __bool__(self) -> bool:
        return bool(self._replicas)

    def notes(self) -> tuple[str, ...]:
        """Return a note for the user about standbys that cannot be read."""
        failed = [replica.place for replica in self._replicas if replica.failure]
        return (f"Note: {', '.join(failed)} cannot be read from; the primary answers.",) if failed else ()

    def snapshot_with_version(self, opened: ExitStack, key: int, version: int) -> PostgresDatabase | None:
        """Return a standby that has that version of a project, with an open snapshot that ends with `opened`; None if
        there is none."""

        def has_version(database: PostgresDatabase, snapshot: ExitStack) -> bool:
            snapshot.enter_context(database.snapshot())
            database.note_projects([key])
            rows = database.query(VERSION, (key,))
            return bool(rows) and rows[0][0] >= version

        return self._first(opened, has_version)

    def snapshot_after(self, opened: ExitStack, written: str) -> PostgresDatabase | None:
        """Return a standby that has replayed the log up to `written`, with an open snapshot that ends with `opened`;
        None if there is none."""

        def has_replayed(database: PostgresDatabase, snapshot: ExitStack) -> bool:
            # Before the snapshot begins: within it, the answer would include later progress.
            has_all = bool(database.query(_REPLAYED, (written,))[0][0])
            if has_all:
                snapshot.enter_context(database.snapshot())
            return has_all

        return self._first(opened, has_replayed)

    def _first(
        self, opened: ExitStack, begin: Callable[[PostgresDatabase, ExitStack], bool]
    ) -> PostgresDatabase | None:
        """Return the first standby in rotation for which `begin` opens a snapshot and returns True."""
        turn = next(self._turns)
        for n in range(len(self._replicas)):
            replica = self._replicas[(turn + n) % len(self._replicas)]
            if replica.is_paused:
                continue
            try:
                with ExitStack() as trial:
                    database = replica.database()
                    is_up_to_date = begin(database, trial)
                    replica.note_success()
                    if is_up_to_date:
                        opened.push(trial.pop_all().__exit__)
                        return database
            except StoreError as error:
                replica.note_failure(error)
        return None
