"""A database with an empty queue, and workers that end with their test."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from tests.postgres_server import empty_database, role_url
from tests.workers.running import WorkerProcess, open_queue

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from deltos.store.postgres.database import PostgresDatabase
    from deltos.store.postgres.jobs import PostgresJobs


@pytest.fixture
def url() -> str:
    """The database URL for servers and workers, with a role that is subject to row-level security."""
    empty_database()
    return role_url()


@pytest.fixture
def queue(url: str) -> Iterator[tuple[PostgresDatabase, PostgresJobs]]:
    with open_queue(url) as (database, jobs):
        yield database, jobs


@pytest.fixture
def worker(url: str, tmp_path: Path) -> Iterator[Callable[..., WorkerProcess]]:
    with ExitStack() as ending:

        def start(*options: str, max_file_bytes: int | None = None, **variables: str) -> WorkerProcess:
            started = WorkerProcess(url, tmp_path / "home", *options, max_file_bytes=max_file_bytes, **variables)
            ending.callback(started.kill)
            return started

        yield start
