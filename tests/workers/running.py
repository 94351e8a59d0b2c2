"""Worker processes for tests, and their output."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from deltos.store.postgres.database import PostgresDatabase
from deltos.store.postgres.jobs import PostgresJobs
from deltos.store.postgres.project import index_lock_key
from deltos.store.postgres.project_tables import project_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from deltos.store.jobs import JobRow

WAIT_TIMEOUT_SECONDS = 60.0


class WorkerProcess:
    """A running `deltos worker` and its output lines."""

    def __init__(
        self, url: str, home: Path, *options: str, max_file_bytes: int | None = None, **variables: str
    ) -> None:
        """Start the worker; `max_file_bytes` limits the size of files, as on a full disk."""
        settings = {"DELTOS_DATABASE": url, "DELTOS_HOME": str(home), "DELTOS_EMBED": "off", **variables}
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "deltos", "worker", "--heartbeat=1", "--backoff=1", *options],
            env={**os.environ, **settings},
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
            preexec_fn=None if max_file_bytes is None else lambda: _limit_files(max_file_bytes),  # noqa: PLW1509
        )
        self.lines: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        self.lines.extend(self.process.stderr)

    def has_logged(self, words: str) -> bool:
        return any(words in line for line in list(self.lines))

    def end(self) -> int:
        """Wait until the worker ends; return its exit code."""
        code = self.process.wait(WAIT_TIMEOUT_SECONDS)
        self._reader.join(WAIT_TIMEOUT_SECONDS)
        return code

    def kill(self) -> None:
        self.process.kill()
        self.end()


def _limit_files(max_bytes: int) -> None:
    import resource  # imported here because the module does not exist on Windows

    resource.setrlimit(resource.RLIMIT_FSIZE, (max_bytes, max_bytes))


def wait_until(condition: Callable[[], object], what: Callable[[], object] = lambda: "") -> None:
    """Wait until a condition holds; fail after a timeout."""
    deadline = time.monotonic() + WAIT_TIMEOUT_SECONDS
    while not condition():
        assert time.monotonic() < deadline, what()
        time.sleep(0.05)


@contextmanager
def open_queue(url: str) -> Iterator[tuple[PostgresDatabase, PostgresJobs]]:
    """Open the database of a test and yield its job queue."""
    database = PostgresDatabase(url, migrations=None)
    try:
        yield database, PostgresJobs(lambda: database)
    finally:
        database.close()


@contextmanager
def indexing_blocked(database: PostgresDatabase, root: Path) -> Iterator[None]:
    """Hold a lock during the block, so that no worker can index the project."""
    with database.try_lock(index_lock_key(project_name(root))) as is_held:
        assert is_held
        yield


def job_of(jobs: PostgresJobs, job_id: int) -> JobRow | None:
    return next((job for job in jobs.all() if job.id == job_id), None)
