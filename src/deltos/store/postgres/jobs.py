"""Job queue in PostgreSQL: the tables and functions of procrastinate, and a table of failures. `job_worker` runs the
jobs."""

from __future__ import annotations

import hashlib
import json
import secrets
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from psycopg.conninfo import make_conninfo

from deltos.confinement import whole_store
from deltos.errors import NotFound, StoreBusy
from deltos.store.jobs import RUNNING, SET_ASIDE, WAITING, JobRequest, JobRow, WorkerRow
from deltos.store.migration import Migration
from deltos.store.postgres.errors import describe_address
from deltos.store.postgres.row_security import SERVER, row_security_sql
from deltos.store.valid_text import check_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from deltos.store.jobs import WorkerSettings
    from deltos.store.postgres.database import Connection, PostgresDatabase

QUEUE = "deltos"
TASK_PREFIX = "deltos:"
PRIORITY = {True: 10, False: 0}  # priority of a job, by whether a caller waits for the result
_MAX_REASON_CHARACTERS = 500
_MAX_HEARTBEAT_AGE_SECONDS = 60.0
_DEFAULT_ATTEMPTS = 5

_LAST_FILE_OF_FIRST_STEP = "03.04.00_50_post_add_retry_failed_job_procedure"


def queue_steps() -> tuple[Migration, ...]:
    """Return the migrations of the installed procrastinate version, without importing procrastinate.

    All migrations up to release 3.10 are combined in one migration. Each later migration is separate.
    """
    spec = find_spec("procrastinate")
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError("No module named 'procrastinate'", name="procrastinate")
    files = sorted(Path(spec.submodule_search_locations[0], "sql", "migrations").glob("*.sql"))
    first = "\n".join(file.read_text("utf-8") for file in files if file.stem <= _LAST_FILE_OF_FIRST_STEP)
    later = [file for file in files if file.stem > _LAST_FILE_OF_FIRST_STEP]
    return (
        Migration("jobs-001-procrastinate-3.10", first),
        *(Migration(f"jobs-procrastinate-{file.stem}", file.read_text("utf-8")) for file in later),
    )


JOBS_002 = Migration(
    "jobs-002-failures",
    """
    CREATE TABLE job_failure (
        job bigint NOT NULL REFERENCES procrastinate_jobs (id) ON DELETE CASCADE,
        failed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        reason text NOT NULL
    );
    CREATE INDEX job_failure_by_job ON job_failure (job);
    CREATE TABLE job_taker (
        job bigint PRIMARY KEY REFERENCES procrastinate_jobs (id) ON DELETE CASCADE,
        application text NOT NULL
    );
    """,
)
# This migration is newer than the policies of older tables. Callers may not read jobs, because jobs contain folders of
# all projects.
JOBS_003 = Migration(
    "jobs-003-rights",
    "".join(
        row_security_sql(f"procrastinate_{name}", SERVER) for name in ("jobs", "workers", "events", "periodic_defers")
    )
    + row_security_sql("job_failure", SERVER)
    + row_security_sql("job_taker", SERVER),
)
_STATES = {"todo": WAITING, "doing": RUNNING, "failed": SET_ASIDE}
_SELECT_JOBS = """SELECT id, task_name, args->>'subject', status::text,
           (SELECT count(*) FROM job_failure WHERE job = id),
           coalesce((SELECT reason FROM job_failure WHERE job = id ORDER BY failed_at DESC LIMIT 1), '')
           FROM procrastinate_jobs WHERE status IN ('todo', 'doing', 'failed')"""
_SELECT_STALLED = """SELECT job.id FROM procrastinate_jobs AS job
              LEFT JOIN procrastinate_workers AS worker ON worker.id = job.worker_id
              WHERE job.status = 'doing'
              AND (worker.id IS NULL OR worker.last_heartbeat < now() - make_interval(secs => %s))
              AND worker.id IS DISTINCT FROM %s
              FOR UPDATE OF job SKIP LOCKED"""
_DISCONNECT_WORKERS = """SELECT pg_terminate_backend(pid) FROM pg_stat_activity
              WHERE application_name IN (SELECT application FROM job_taker WHERE job = ANY(%s))
              AND datname = current_database() AND usename = current_user AND pid <> pg_backend_pid()
              AND application_name <> current_setting('application_name')"""
_LOST_WORKER_REASON = "its worker died or lost its connection"
_QUEUE_ORDER = "ORDER BY status = 'failed', status = 'todo', priority DESC, id"


def request_key(request: JobRequest) -> str:
    """Return the lock key that prevents a request from being queued or run twice at the same time."""
    digest = hashlib.sha256(request.subject.encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return f"{QUEUE}/{request.kind}/{digest}"


def worker_url(url: str) -> str:
    """Return the connection string with an application name that is unique to a worker."""
    describe_address(url)  # the error for an invalid URL does not contain the password
    return make_conninfo(url, application_name=f"deltos worker {secrets.token_hex(12)}")


class PostgresJobs:
    """Implementation of `store.jobs.Jobs` that also records failures for workers."""

    def __init__(self, opened: Callable[[], PostgresDatabase]) -> None:
        self._opened = opened

    @property
    def _database(self) -> PostgresDatabase:
        return self._opened()

    @whole_store()
    def add(self, request: JobRequest, *, is_waited_for: bool = False) -> JobRow:
        check_text(request.subject)
        for _ in range(_DEFAULT_ATTEMPTS):
            if queued := self._find_queued(request, PRIORITY[is_waited_for]):
                return queued
            if job_id := self._insert_job(request, PRIORITY[is_waited_for]):
                return JobRow(job_id, request.kind, request.subject, WAITING)
        raise StoreBusy("The job could not be added because the queue is busy", hint="Try again in a moment.")

    @whole_store()
    def find(self, request: JobRequest) -> JobRow | None:
        rows = self._database.query(f"{_SELECT_JOBS} AND queueing_lock = %s {_QUEUE_ORDER}", (request_key(request),))
        return _job_from_row(rows[-1]) if rows else None

    @whole_store()
    def all(self) -> list[JobRow]:
        return [_job_from_row(row) for row in self._database.query(f"{_SELECT_JOBS} {_QUEUE_ORDER}")]

    @whole_store()
    def retry(self, job_id: int) -> JobRow:
        database = self._database
        with database.write() as connection:
            found = self._lock_job(connection, job_id, ["failed"])
            connection.execute("DELETE FROM job_failure WHERE job = %s", (job_id,))
            waits = "SELECT 1 FROM procrastinate_jobs WHERE queueing_lock = %s AND status = 'todo'"
            if connection.execute(waits, (found[1],)).fetchone():  # an equal request has been queued meanwhile
                connection.execute("DELETE FROM procrastinate_jobs WHERE id = %s", (job_id,))
            else:
                retry = "SELECT procrastinate_retry_job_v2(%s, now(), %s, NULL, NULL)"
                connection.execute(retry, (job_id, PRIORITY[True]))
                _notify_workers(connection)
        return JobRow(job_id, found[0].kind, found[0].subject, WAITING)

    @whole_store()
    def drop(self, job_id: int) -> JobRow:
        with self._database.write() as connection:
            row, _ = self._lock_job(connection, job_id, ["failed", "todo"])
            connection.execute("DELETE FROM procrastinate_jobs WHERE id = %s", (job_id,))
        return row

    @whole_store()
    def has_worker(self) -> bool:
        alive = "SELECT 1 FROM procrastinate_workers WHERE last_heartbeat > now() - make_interval(secs => %s) LIMIT 1"
        return bool(self._database.query(alive, (_MAX_HEARTBEAT_AGE_SECONDS,)))

    @whole_store()
    def workers(self) -> list[WorkerRow]:
        sql = """SELECT worker.id, extract(epoch FROM now() - last_heartbeat)::double precision,
                 array(SELECT job.id FROM procrastinate_jobs AS job
                       WHERE job.worker_id = worker.id AND status = 'doing' ORDER BY job.id)
                 FROM procrastinate_workers AS worker
                 WHERE last_heartbeat > now() - make_interval(secs => %s) ORDER BY last_heartbeat DESC"""
        rows = self._database.query(sql, (_MAX_HEARTBEAT_AGE_SECONDS,))
        return [WorkerRow(row[0], row[1], tuple(row[2])) for row in rows]

    # --- methods for workers

    def record_worker(self, job_id: int) -> None:
        """Record which worker process runs a job. The application name identifies the worker."""
        with self._database.write() as connection:
            connection.execute(
                """INSERT INTO job_taker SELECT id, current_setting('application_name') FROM procrastinate_jobs
                   WHERE id = %s ON CONFLICT (job) DO UPDATE SET application = excluded.application""",
                (job_id,),
            )

    def record_failure(self, job_id: int, reason: str) -> int:
        """Record why a job failed, and return the number of failures of the job."""
        with self._database.write() as connection:
            sql = "INSERT INTO job_failure (job, reason) SELECT id, %s FROM procrastinate_jobs WHERE id = %s"
            connection.execute(sql, (reason[:_MAX_REASON_CHARACTERS], job_id))
            row = connection.execute("SELECT count(*) FROM job_failure WHERE job = %s", (job_id,)).fetchone()
        return int(row[0]) if row else 0

    def requeue(self, job_ids: Sequence[int]) -> None:
        """Requeue jobs that a worker started but cannot finish."""
        with self._database.write() as connection:
            _requeue_jobs(connection, list(job_ids), 0.0)

    def is_running_on(self, job_id: int, worker_id: int) -> bool:
        """Whether the queue lists a job as running on the given worker."""
        sql = "SELECT 1 FROM procrastinate_jobs WHERE id = %s AND status = 'doing' AND worker_id = %s"
        return bool(self._database.query(sql, (job_id, worker_id)))

    def orphaned_jobs(self, worker_id: int, running: Sequence[int]) -> list[int]:
        """Return the jobs that the queue lists as running on a worker, but that are not in `running`."""
        sql = "SELECT id FROM procrastinate_jobs WHERE status = 'doing' AND worker_id = %s AND id <> ALL(%s)"
        return [row[0] for row in self._database.query(sql, (worker_id, list(running)))]

    def requeue_stalled(self, settings: WorkerSettings, worker_id: int | None) -> list[JobRow]:
        """Queue the jobs of dead workers again, or set the jobs aside if they failed too often. Return these jobs.

        Jobs of the calling worker (`worker_id`) do not change, even if the last heartbeat was written late.
        """
        with self._database.write() as connection:
            rows = connection.execute(_SELECT_STALLED.encode(), (settings.silence_seconds, worker_id or 0)).fetchall()
            ids = [row[0] for row in rows]
            if not ids:
                return []
            # The worker may still be alive. Without connections, it can neither write nor hold a lock.
            connection.execute(_DISCONNECT_WORKERS.encode(), (ids,))
            noted = "INSERT INTO job_failure (job, reason) SELECT unnest(%s::bigint[]), %s"
            connection.execute(noted, (ids, _LOST_WORKER_REASON))
            counts = "SELECT job FROM job_failure WHERE job = ANY(%s) GROUP BY job HAVING count(*) >= %s"
            exhausted = [row[0] for row in connection.execute(counts, (ids, settings.attempts))]
            aside = "SELECT procrastinate_finish_job_v1(id, 'failed', false) FROM unnest(%s::bigint[]) AS id"
            connection.execute(aside, (exhausted,))
            _requeue_jobs(connection, [job_id for job_id in ids if job_id not in exhausted], settings.backoff_seconds)
            return [
                _job_from_row(row) for row in connection.execute(f"{_SELECT_JOBS} AND id = ANY(%s)".encode(), (ids,))
            ]

    def _find_queued(self, request: JobRequest, priority: int) -> JobRow | None:
        """Return the job of an equal request that is waiting or set aside. Raise its priority if it is waiting."""
        with self._database.write() as connection:
            connection.execute(
                """UPDATE procrastinate_jobs SET priority = greatest(priority, %s),
                   args = jsonb_set(args, '{arguments}', coalesce(args->'arguments', '{}') || %s::jsonb)
                   WHERE queueing_lock = %s AND status = 'todo'""",
                (priority, json.dumps(dict(request.arguments)), request_key(request)),
            )
            sql = f"{_SELECT_JOBS} AND queueing_lock = %s AND status <> 'doing' {_QUEUE_ORDER}"
            row = connection.execute(sql.encode(), (request_key(request),)).fetchone()
        return _job_from_row(row) if row else None

    def _insert_job(self, request: JobRequest, priority: int) -> int:
        """Insert a new job and return its id, or 0 if another process has inserted the same request."""
        # procrastinate is not used here, because it needs error details that PostgreSQL hides from this role.
        with self._database.write() as connection:
            row = connection.execute(
                """INSERT INTO procrastinate_jobs (queue_name, task_name, priority, lock, queueing_lock, args)
                   VALUES (%s, %s, %s, %s, %s, %s::jsonb)
                   ON CONFLICT (queueing_lock) WHERE status = 'todo' DO NOTHING RETURNING id""",
                (
                    QUEUE,
                    TASK_PREFIX + request.kind,
                    priority,
                    request_key(request),
                    request_key(request),
                    json.dumps({"subject": request.subject, "arguments": dict(request.arguments)}),
                ),
            ).fetchone()
        return int(row[0]) if row else 0

    def _lock_job(self, connection: Connection, job_id: int, states: list[str]) -> tuple[JobRow, str]:
        row: Any = connection.execute(
            """SELECT id, task_name, args->>'subject', status::text, 0, '', queueing_lock FROM procrastinate_jobs
               WHERE id = %s AND status::text = ANY(%s) FOR UPDATE""",
            (job_id, states),
        ).fetchone()
        if row is None:
            raise NotFound(
                f"There is no job {job_id} in that state", hint="`deltos jobs list` shows the jobs that were set aside."
            )
        return _job_from_row(row[:6]), row[6]


def delete_request(connection: Connection, request: JobRequest) -> None:
    """Delete the job of a request if it is waiting or was set aside after failures. A running job is not deleted."""
    sql = "DELETE FROM procrastinate_jobs WHERE queueing_lock = %s AND status IN ('todo', 'failed')"
    connection.execute(sql, (request_key(request),))


def _requeue_jobs(connection: Connection, job_ids: list[int], wait_seconds: float) -> None:
    # If an equal request has been queued meanwhile, only the queued job remains, with the arguments of both jobs.
    connection.execute(
        """UPDATE procrastinate_jobs AS other SET priority = greatest(other.priority, given.priority),
           args = jsonb_set(other.args, '{arguments}',
                            coalesce(given.args->'arguments', '{}') || coalesce(other.args->'arguments', '{}'))
           FROM procrastinate_jobs AS given WHERE given.id = ANY(%s) AND given.status = 'doing'
           AND other.queueing_lock = given.queueing_lock AND other.status = 'todo'""",
        (job_ids,),
    )
    connection.execute(
        """DELETE FROM procrastinate_jobs WHERE id = ANY(%s) AND status = 'doing' AND EXISTS (
           SELECT 1 FROM procrastinate_jobs AS other
           WHERE other.queueing_lock = procrastinate_jobs.queueing_lock AND other.status = 'todo')""",
        (job_ids,),
    )
    connection.execute(
        """UPDATE procrastinate_jobs SET status = 'todo', worker_id = NULL,
           scheduled_at = now() + make_interval(secs => %s) WHERE id = ANY(%s) AND status = 'doing'""",
        (wait_seconds, job_ids),
    )
    _notify_workers(connection)


def _notify_workers(connection: Connection) -> None:
    """Notify waiting workers. The triggers of the queue announce only new jobs."""
    payload = '{"type": "job_inserted", "job_id": 0}'
    connection.execute("SELECT pg_notify('procrastinate_any_queue_v1', %s)", (payload,))
    connection.execute("SELECT pg_notify(%s, %s)", (f"procrastinate_queue_v1#{QUEUE}", payload))


def _job_from_row(row: Sequence[Any]) -> JobRow:
    job_id, task, subject, status, failures, reason = row
    return JobRow(job_id, str(task).removeprefix(TASK_PREFIX), subject or "", _STATES[status], failures, reason)
