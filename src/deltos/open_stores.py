"""Opens the stores of a data folder or of a database: the one place that chooses an engine, which is imported then."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from deltos.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from deltos.store.calls import CallRecords
    from deltos.store.http_sessions import SessionRecords
    from deltos.store.jobs import JobHandlers, Jobs, WorkerSettings
    from deltos.store.library import LibraryStore
    from deltos.store.observations import Observations
    from deltos.store.pools import PoolUse
    from deltos.store.postgres.health import Health
    from deltos.store.project import ProjectStores
    from deltos.store.sqlite.external_tables import ExternalTables
    from deltos.store.tokens import TokenRecords
    from deltos.store.workspaces import WorkspaceRecords


def open_projects(home: Path, database: str = "", standbys: Sequence[str] = ()) -> ProjectStores:
    """The stores of all projects; code, graph and history are searched in standbys where these are up to date."""
    if database:
        with _driver():
            from deltos.store.postgres.projects import PostgresProjects
            from deltos.store.postgres.shared_databases import shared_database, shared_replicas

        return PostgresProjects(lambda: shared_database(database), shared_replicas(standbys))
    from deltos.store.sqlite.projects import SqliteProjects

    return SqliteProjects(home)


def open_library(home: Path, database: str = "", standbys: Sequence[str] = ()) -> LibraryStore:
    """Documentation and API descriptions; searches are read from standbys where these lack nothing."""
    if database:
        with _driver():
            from deltos.store.postgres.library import PostgresLibrary
            from deltos.store.postgres.shared_databases import shared_database, shared_replicas

        return PostgresLibrary(shared_database(database, "library").with_standbys(shared_replicas(standbys)))
    from deltos.store.sqlite.library import FILE_NAME, SqliteLibrary

    return SqliteLibrary(home / FILE_NAME)


def has_library(home: Path, database: str = "") -> bool:
    """Whether anything may ever have been kept in the library."""
    if database:
        return True
    from deltos.store.sqlite.library import FILE_NAME

    return (home / FILE_NAME).exists()


def open_observations(
    home: Path,
    database: str = "",
    standbys: Sequence[str] = (),
    *,
    busy_timeout_seconds: float | None = None,
    reads_a_copy: bool = True,
) -> Observations:
    """What memory keeps; another writer is waited for so long, or as long as elsewhere. Standbys as for the library.

    Where nothing can be written, a copy of the file is read, unless all that is wanted is to keep something.
    """
    if database:
        with _driver():
            from deltos.store.postgres.memory.reader import PostgresObservations
            from deltos.store.postgres.shared_databases import shared_database, shared_replicas, short_timeout_database

        if busy_timeout_seconds is None:
            return PostgresObservations(shared_database(database, "memory").with_standbys(shared_replicas(standbys)))
        return PostgresObservations(short_timeout_database(database, busy_timeout_seconds))
    from deltos.store.sqlite.database import BUSY_TIMEOUT_SECONDS
    from deltos.store.sqlite.memory.reader import SqliteObservations

    return SqliteObservations(
        home / "memory.db",
        busy_timeout_seconds=busy_timeout_seconds or BUSY_TIMEOUT_SECONDS,
        reads_a_copy=reads_a_copy,
    )


def open_foreign_tables(path: Path) -> AbstractContextManager[ExternalTables]:
    """The tables of a database that another program keeps."""
    from deltos.store.sqlite.external_tables import open_external_tables

    return open_external_tables(path)


def open_tokens(home: Path, database: str = "") -> TokenRecords:
    """Access tokens."""
    if database:
        with _driver():
            from deltos.store.postgres.shared_databases import shared_database
            from deltos.store.postgres.tokens import PostgresTokens

        return PostgresTokens(shared_database(database, "access"))
    from deltos.store.sqlite.tokens import SqliteTokens

    return SqliteTokens(home)


def open_calls(home: Path, database: str = "") -> CallRecords:
    """The ring of the last calls of tools."""
    if database:
        with _driver():
            from deltos.store.postgres.calls import PostgresCalls
            from deltos.store.postgres.shared_databases import shared_database

        return PostgresCalls(shared_database(database, "access"))
    from deltos.store.sqlite.calls import SqliteCalls

    return SqliteCalls(home)


def open_workspaces(home: Path, database: str = "") -> WorkspaceRecords:
    """Named sets of projects."""
    if database:
        with _driver():
            from deltos.store.postgres.shared_databases import shared_database
            from deltos.store.postgres.workspaces import PostgresWorkspaces

        return PostgresWorkspaces(lambda: shared_database(database))
    from deltos.store.sqlite.workspaces import SqliteWorkspaces

    return SqliteWorkspaces(home)


def open_jobs(database: str) -> Jobs:
    """The queue of jobs for workers."""
    with _driver():
        from deltos.store.postgres.jobs import PostgresJobs
        from deltos.store.postgres.shared_databases import shared_database

    return PostgresJobs(lambda: shared_database(database, "jobs"))


def address_of_worker(database: str) -> str:
    """The address of a database by which its server tells this worker's connections from all others."""
    with _driver():
        from deltos.store.postgres.jobs import worker_url

    return worker_url(database)


def take_jobs(database: str, work: JobHandlers, settings: WorkerSettings) -> None:
    """Take jobs from the queue until told to end."""
    with _driver():
        from deltos.store.postgres.job_worker import JobWorker
        from deltos.store.postgres.jobs import PostgresJobs
        from deltos.store.postgres.shared_databases import shared_database

    opened = shared_database(database, "jobs")
    JobWorker(opened, PostgresJobs(lambda: opened), work, settings).run()


def open_http_sessions(database: str, idle_seconds: float) -> SessionRecords | None:
    """Sessions that servers share; None without a database: then each process has its own."""
    if not database:
        return None
    with _driver():
        from deltos.store.postgres.http_sessions import PostgresHttpSessions
        from deltos.store.postgres.shared_databases import shared_database

    return PostgresHttpSessions(lambda: shared_database(database, "access"), idle_seconds)


def describe_database(database: str) -> str:
    """Where a database is and what its server is, once it has been connected to and brought up to date."""
    with _driver():
        from deltos.store.postgres.shared_databases import shared_database

    return shared_database(database).describe()


def admit_role(database: str, name: str) -> bool:
    """Let a role use the tables, held by row-level security; whether it was made now."""
    with _driver():
        from deltos.store.postgres.rights import admit_role as admit
        from deltos.store.postgres.shared_databases import shared_database

    with shared_database(database).write() as connection:
        return admit(connection, name)


def examine_database(database: str) -> Health:
    """How much a database keeps, and what of its server's settings is risky."""
    with _driver():
        from deltos.store.postgres.health import examine
        from deltos.store.postgres.shared_databases import shared_database

    return examine(shared_database(database))


def database_trouble(database: str) -> str:
    """What keeps a database from being used, in words without its address; empty when nothing does, or there is none.

    Raises StoreError where it cannot be reached.
    """
    if not database:
        return ""
    with _driver():
        from deltos.store.postgres.health import schema_problem
        from deltos.store.postgres.shared_databases import shared_database

    return schema_problem(shared_database(database))


def database_pools(database: str) -> list[PoolUse]:
    """How the connections of this process to a database are used; none where there is no database."""
    if not database:
        return []
    with _driver():
        from deltos.store.postgres.shared_databases import pools_of

    return pools_of(database)


def describe_standbys(urls: Sequence[str]) -> list[str]:
    """Where each standby is, and whether it follows."""
    with _driver():
        from deltos.store.postgres.health import standby_state

    return [standby_state(url) for url in urls]


@contextmanager
def _driver() -> Iterator[None]:
    """Says what to install where the driver of PostgreSQL is missing."""
    try:
        yield
    except ModuleNotFoundError as exc:
        if (exc.name or "").partition(".")[0] not in ("psycopg", "psycopg_pool", "procrastinate", "zstandard"):
            raise
        raise StoreError(
            "DELTOS_DATABASE is set, but the driver of PostgreSQL is not installed",
            hint="Install `deltos[postgres]`, or unset DELTOS_DATABASE.",
        ) from exc
