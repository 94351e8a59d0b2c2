"""Functions that open stores in a data folder or in PostgreSQL. No other module imports a database engine."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from deltos.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from deltos.store.calls import CallRecords
    from deltos.store.jobs import JobHandlers, Jobs, WorkerSettings
    from deltos.store.library import LibraryStore
    from deltos.store.observations import Observations
    from deltos.store.pools import PoolStatistics
    from deltos.store.postgres.health import Health
    from deltos.store.project import ProjectStores
    from deltos.store.sqlite.external_tables import ExternalTables
    from deltos.store.tokens import TokenRecords
    from deltos.store.workspaces import WorkspaceRecords


def open_projects(home: Path, database: str = "") -> ProjectStores:
    """Open the stores of all projects."""
    if database:
        with _driver():
            from deltos.store.postgres.projects import PostgresProjects
            from deltos.store.postgres.shared_databases import shared_database

        return PostgresProjects(lambda: shared_database(database))
    from deltos.store.sqlite.projects import SqliteProjects

    return SqliteProjects(home)


def open_library(home: Path, database: str = "") -> LibraryStore:
    """Open the library: the store of documentation and API descriptions."""
    if database:
        with _driver():
            from deltos.store.postgres.library import PostgresLibrary
            from deltos.store.postgres.shared_databases import shared_database

        return PostgresLibrary(shared_database(database, "library"))
    from deltos.store.sqlite.library import FILE_NAME, SqliteLibrary

    return SqliteLibrary(home / FILE_NAME)


def has_library(home: Path, database: str = "") -> bool:
    """Whether a library exists, even if it is empty."""
    if database:
        return True
    from deltos.store.sqlite.library import FILE_NAME

    return (home / FILE_NAME).exists()


def open_observations(
    home: Path,
    database: str = "",
    *,
    busy_timeout_seconds: float | None = None,
    reads_a_copy: bool = True,
) -> Observations:
    """Open the memory store, with a timeout for locks of other writers.

    If `reads_a_copy`, a copy of the file is opened if the file is not writable.
    """
    if database:
        with _driver():
            from deltos.store.postgres.memory.reader import PostgresObservations
            from deltos.store.postgres.shared_databases import shared_database, short_timeout_database

        if busy_timeout_seconds is None:
            return PostgresObservations(shared_database(database, "memory"))
        return PostgresObservations(short_timeout_database(database, busy_timeout_seconds))
    from deltos.store.sqlite.database import BUSY_TIMEOUT_SECONDS
    from deltos.store.sqlite.memory.reader import SqliteObservations

    return SqliteObservations(
        home / "memory.db",
        busy_timeout_seconds=busy_timeout_seconds or BUSY_TIMEOUT_SECONDS,
        reads_a_copy=reads_a_copy,
    )


def open_foreign_tables(path: Path) -> AbstractContextManager[ExternalTables]:
    """Open the tables in the database of another program."""
    from deltos.store.sqlite.external_tables import open_external_tables

    return open_external_tables(path)


def open_tokens(home: Path, database: str = "") -> TokenRecords:
    """Open the access token store."""
    if database:
        with _driver():
            from deltos.store.postgres.shared_databases import shared_database
            from deltos.store.postgres.tokens import PostgresTokens

        return PostgresTokens(shared_database(database, "access"))
    from deltos.store.sqlite.tokens import SqliteTokens

    return SqliteTokens(home)


def open_calls(home: Path, database: str = "") -> CallRecords:
    """Open the log of tool calls."""
    if database:
        with _driver():
            from deltos.store.postgres.calls import PostgresCalls
            from deltos.store.postgres.shared_databases import shared_database

        return PostgresCalls(shared_database(database, "access"))
    from deltos.store.sqlite.calls import SqliteCalls

    return SqliteCalls(home)


def open_workspaces(home: Path, database: str = "") -> WorkspaceRecords:
    """Open the workspace store."""
    if database:
        with _driver():
            from deltos.store.postgres.shared_databases import shared_database
            from deltos.store.postgres.workspaces import PostgresWorkspaces

        return PostgresWorkspaces(lambda: shared_database(database))
    from deltos.store.sqlite.workspaces import SqliteWorkspaces

    return SqliteWorkspaces(home)


def open_jobs(database: str) -> Jobs:
    """Open the job queue."""
    with _driver():
        from deltos.store.postgres.jobs import PostgresJobs
        from deltos.store.postgres.shared_databases import shared_database

    return PostgresJobs(lambda: shared_database(database, "jobs"))


def address_of_worker(database: str) -> str:
    """Return the database URL with an application name that identifies the connections of this worker."""
    with _driver():
        from deltos.store.postgres.jobs import worker_url

    return worker_url(database)


def take_jobs(database: str, work: JobHandlers, settings: WorkerSettings) -> None:
    """Run jobs from the queue until the worker is stopped."""
    with _driver():
        from deltos.store.postgres.job_worker import JobWorker
        from deltos.store.postgres.jobs import PostgresJobs
        from deltos.store.postgres.shared_databases import shared_database

    opened = shared_database(database, "jobs")
    JobWorker(opened, PostgresJobs(lambda: opened), work, settings).run()


def describe_database(database: str) -> str:
    """Connect to a database and migrate it. Return its URL without the password, and the server version."""
    with _driver():
        from deltos.store.postgres.shared_databases import shared_database

    return shared_database(database).describe()


def admit_role(database: str, name: str, password: str = "") -> bool:
    """Grant a role access to the tables under row-level security. Return whether the role was created."""
    with _driver():
        from deltos.store.postgres.row_security import admit_role as admit
        from deltos.store.postgres.shared_databases import shared_database

    with shared_database(database).write() as connection:
        return admit(connection, name, password)


def examine_database(database: str) -> Health:
    """Return the size of a database and risky settings of its server."""
    with _driver():
        from deltos.store.postgres.health import read_health
        from deltos.store.postgres.shared_databases import shared_database

    return read_health(shared_database(database))


def database_trouble(database: str) -> str:
    """Return the reason why a database cannot be used, without the URL, or an empty string.

    Raises StoreError if the database cannot be reached.
    """
    if not database:
        return ""
    with _driver():
        from deltos.store.postgres.health import find_schema_problem
        from deltos.store.postgres.shared_databases import shared_database

    return find_schema_problem(shared_database(database))


def database_pool(database: str) -> PoolStatistics | None:
    """Return the number of used database connections of this process, or None if no database is open."""
    if not database:
        return None
    with _driver():
        from deltos.store.postgres.shared_databases import pool_use

    return pool_use(database)


@contextmanager
def _driver() -> Iterator[None]:
    """Convert the import error for a missing PostgreSQL driver to a StoreError in the `with` block."""
    try:
        yield
    except ModuleNotFoundError as exc:
        if (exc.name or "").partition(".")[0] not in ("psycopg", "psycopg_pool", "zstandard"):
            raise
        raise StoreError(
            "DELTOS_DATABASE is set, but the PostgreSQL driver is not installed",
            hint="Install `deltos[postgres]`, or unset DELTOS_DATABASE.",
        ) from exc
