"""A database that any earlier version of Deltos created is migrated when it is opened."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from deltos.store.code import FileScope
from deltos.store.jobs import INDEX, JobRequest
from deltos.store.migration import Migration
from deltos.store.postgres.database import PostgresDatabase
from deltos.store.postgres.jobs import JOBS_004, PostgresJobs
from deltos.store.postgres.migrations import SCHEMA_STEPS
from deltos.store.postgres.projects import PostgresProjects
from deltos.store.postgres.row_security import RIGHTS_001
from tests.postgres_server import empty_database
from tests.store.test_project import add_code

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deltos.store.project import ProjectStore

FIRST_RELEASE = SCHEMA_STEPS.index(RIGHTS_001) + 1
# The queue of earlier versions consisted of the tables and functions of a library.
OLD_QUEUE = (
    Migration(
        "jobs-001-procrastinate-3.10",
        """CREATE TYPE procrastinate_job_status AS ENUM ('todo', 'doing');
           CREATE TABLE procrastinate_jobs (id bigint PRIMARY KEY, status procrastinate_job_status);
           CREATE FUNCTION procrastinate_fetch(given procrastinate_job_status) RETURNS bigint LANGUAGE sql
               AS 'SELECT id FROM procrastinate_jobs WHERE status = given'; """,
    ),
    Migration("jobs-002-failures", "CREATE TABLE job_failure (job bigint REFERENCES procrastinate_jobs (id));"),
    Migration("jobs-003-rights", "INSERT INTO procrastinate_jobs VALUES (1, 'todo');"),
)


def create_database(steps: Sequence[Migration]) -> str:
    """Create a database with an incomplete schema, and return its URL."""
    url = empty_database()
    with closing(PostgresDatabase(url, migrations=None)) as database, database.write() as connection:
        connection.execute(f'DROP SCHEMA IF EXISTS "{database.schema}" CASCADE'.encode())
    PostgresDatabase(url, migrations=steps).close()
    return url


def open_project(database: PostgresDatabase) -> ProjectStore:
    return PostgresProjects(lambda: database).store_of(Path("/src/tool"))


@pytest.mark.parametrize("step_count", range(FIRST_RELEASE, len(SCHEMA_STEPS)))
def test_a_database_without_the_latest_steps_is_migrated_and_can_be_used(step_count: int) -> None:
    url = create_database(SCHEMA_STEPS[:step_count])
    with closing(PostgresDatabase(url, migrations=SCHEMA_STEPS)) as database, closing(open_project(database)) as store:
        with store.writing() as writer:
            add_code(writer, "a.py", "run", "quokka")
        assert [match.file_id for match in store.code.match_chunks(["quokka"], [], FileScope(), limit=9)] == [1]


def test_projects_with_an_earlier_form_of_the_index_are_indexed_again() -> None:
    url = create_database(
        [step for step in SCHEMA_STEPS if step.name not in ("graph-002-compact", "code-004-chunk-text")]
    )
    with closing(PostgresDatabase(url, migrations=None)) as database, database.write() as connection:
        connection.execute("INSERT INTO project (name, root) VALUES ('tool', '/src/tool')")
        for key in ("complete", "synced_at", "indexers", "root"):
            connection.execute("INSERT INTO meta (project, key, value) SELECT id, %s, '1' FROM project", (key,))
        connection.execute(
            """INSERT INTO chunk SELECT id, 1, 1, 1, 3, 'run', 'function', '', 'run', '', 'quokka' FROM project"""
        )
    with closing(PostgresDatabase(url, migrations=SCHEMA_STEPS)) as database:
        assert database.query("SELECT key FROM meta ORDER BY key") == [("root",), ("synced_at",)]
        assert database.query("SELECT count(*) FROM chunk") == [(0,)]


def test_the_queue_of_a_library_is_replaced() -> None:
    steps = [step for step in SCHEMA_STEPS if step != JOBS_004]
    url = create_database([*steps, *OLD_QUEUE])
    with closing(PostgresDatabase(url, migrations=SCHEMA_STEPS)) as database:
        assert PostgresJobs(lambda: database).add(JobRequest(INDEX, "/a")).subject == "/a"
        left = "SELECT proname FROM pg_proc WHERE proname LIKE 'procrastinate%%'"
        assert (
            database.query(f"{left} UNION ALL SELECT relname FROM pg_class WHERE relname LIKE 'procrastinate%%'") == []
        )
