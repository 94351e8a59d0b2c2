"""Job queue in PostgreSQL. `job_worker` runs the jobs."""

from __future__ import annotations

import hashlib
import json
import secrets
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

_URGENT, _NORMAL, _BACKGROUND = 10, 0, -10  # priorities; a caller waits for the result of an urgent job
_BACKOFF_FACTOR = 3  # the delay before each further attempt is multiplied by this factor
_MAX_REASON_CHARACTERS = 500
_MAX_HEARTBEAT_AGE_SECONDS = 60.0
_MAX_TRIES = 5

# Of several equal jobs, at most one waits and at most one runs. This queue replaces the tables of the library
# procrastinate.
JOBS_004 = Migration(
    "jobs-004-queue",
    """
    DROP TABLE IF EXISTS job_failure, job_taker, procrastinate_events, procrastinate_periodic_defers,
        procrastinate_jobs, procrastinate_workers CASCADE;
    DO $$
    DECLARE old regprocedure;
    BEGIN
        FOR old IN SELECT oid FROM pg_proc
            WHERE pronamespace = current_schema()::regnamespace AND starts_with(proname, 'procrastinate_')
        LOOP
            EXECUTE format('DROP FUNCTION %s CASCADE', old);
        END LOOP;
    END $$;
    DROP TYPE IF EXISTS procrastinate_job_status, procrastinate_job_event_type, procrastinate_job_to_defer_v1 CASCADE;
    CREATE TABLE job (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        key text COLLATE "C" NOT NULL,
        kind text NOT NULL,
        subject text NOT NULL,
        arguments jsonb NOT NULL,
        priority integer NOT NULL,
        state text NOT NULL DEFAULT 'waiting',
        due_at timestamptz NOT NULL DEFAULT now(),
        worker text NOT NULL DEFAULT '',
        failures integer NOT NULL DEFAULT 0,
        reason text NOT NULL DEFAULT ''
    );
    CREATE UNIQUE INDEX job_waits_once ON job (key) WHERE state = 'waiting';
    CREATE TABLE job_worker (
        name text COLLATE "C" PRIMARY KEY,
        id bigint GENERATED ALWAYS AS IDENTITY,
        seen_at timestamptz NOT NULL DEFAULT now()
    );
    CREATE TABLE job_schedule (kind text COLLATE "C" PRIMARY KEY, due_at timestamptz NOT NULL);
    """
    + "".join(row_security_sql(table, SERVER) for table in ("job", "job_worker", "job_schedule")),
    replaces=("jobs-001-procrastinate-3.10", "jobs-002-failures", "jobs-003-rights"),
)
_SELECT_JOBS = "SELECT id, kind, subject, state, failures, reason FROM job"
_QUEUE_ORDER = f"ORDER BY state = '{SET_ASIDE}', state = '{WAITING}', priority DESC, id"
_TAKE_JOB = f"""UPDATE job SET state = '{RUNNING}', worker = %s WHERE id = (
        SELECT id FROM job WHERE state = '{WAITING}' AND due_at <= now()
        AND NOT EXISTS (SELECT 1 FROM job AS other WHERE other.key = job.key AND other.state = '{RUNNING}')
        ORDER BY priority DESC, id LIMIT 1 FOR UPDATE SKIP LOCKED
    ) RETURNING id, kind, subject, arguments"""
_SELECT_STALLED = f"""SELECT job.id, job.worker, failures + 1 FROM job LEFT JOIN job_worker ON name = job.worker
    WHERE state = '{RUNNING}' AND job.worker <> %s
    AND (name IS NULL OR seen_at < now() - make_interval(secs => %s)) FOR UPDATE OF job SKIP LOCKED"""
_DISCONNECT_WORKERS = """SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE application_name = ANY(%s) AND datname = current_database() AND usename = current_user
    AND pid <> pg_backend_pid()"""
_LOST_WORKER_REASON = "its worker died or lost its connection"


def request_key(request: JobRequest) -> str:
    """Return the key that prevents a request from being queued or run twice at the same time."""
    digest = hashlib.sha256(request.subject.encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return f"{request.kind}/{digest}"


def worker_url(url: str) -> str:
    """Return the connection string with an application name that is unique to a worker."""
    describe_address(url)  # the error for an invalid URL does not contain the password
    return make_conninfo(url, application_name=f"deltos worker {secrets.token_hex(12)}")


class PostgresJobs:
    """Implementation of `store.jobs.Jobs`, with further methods for workers."""

    def __init__(self, opened: Callable[[], PostgresDatabase]) -> None:
        self._opened = opened

    @property
    def _database(self) -> PostgresDatabase:
        return self._opened()

    @whole_store()
    def add(self, request: JobRequest, *, is_waited_for: bool = False) -> JobRow:
        check_text(request.subject)
        return self._add(request, _URGENT if is_waited_for else _NORMAL)

    def _add(self, request: JobRequest, priority: int) -> JobRow:
        key, arguments = request_key(request), json.dumps(dict(request.arguments))
        for _ in range(_MAX_TRIES):
            with self._database.write() as connection:
                connection.execute(
                    f"""UPDATE job SET priority = greatest(priority, %s), arguments = arguments || %s::jsonb
                        WHERE key = %s AND state = '{WAITING}'""",
                    (priority, arguments, key),
                )
                sql = f"{_SELECT_JOBS} WHERE key = %s AND state <> '{RUNNING}' {_QUEUE_ORDER}"
                row = connection.execute(sql, (key,)).fetchone()
                if row is None:  # another process may insert the same request at the same time
                    row = connection.execute(
                        f"""INSERT INTO job (key, kind, subject, arguments, priority) VALUES (%s, %s, %s, %s::jsonb, %s)
                            ON CONFLICT (key) WHERE state = '{WAITING}' DO NOTHING
                            RETURNING id, kind, subject, state, failures, reason""",
                        (key, request.kind, request.subject, arguments, priority),
                    ).fetchone()
            if row is not None:
                return JobRow(*row)
        raise StoreBusy("The job could not be added because the queue is busy", hint="Try again in a moment.")

    @whole_store()
    def find(self, request: JobRequest) -> JobRow | None:
        rows = self._database.query(f"{_SELECT_JOBS} WHERE key = %s {_QUEUE_ORDER}", (request_key(request),))
        return JobRow(*rows[-1]) if rows else None

    @whole_store()
    def all(self) -> list[JobRow]:
        return [JobRow(*row) for row in self._database.query(f"{_SELECT_JOBS} {_QUEUE_ORDER}")]

    @whole_store()
    def retry(self, job_id: int) -> JobRow:
        with self._database.write() as connection:
            row = self._lock_job(connection, job_id, [SET_ASIDE])
            sql = "UPDATE job SET failures = 0, reason = '', priority = %s WHERE id = %s"
            connection.execute(sql, (_URGENT, job_id))
            _requeue(connection, [job_id])
        return JobRow(job_id, row.kind, row.subject, WAITING)

    @whole_store()
    def drop(self, job_id: int) -> JobRow:
        with self._database.write() as connection:
            row = self._lock_job(connection, job_id, [SET_ASIDE, WAITING])
            connection.execute("DELETE FROM job WHERE id = %s", (job_id,))
        return row

    def _lock_job(self, connection: Connection, job_id: int, states: list[str]) -> JobRow:
        sql = f"{_SELECT_JOBS} WHERE id = %s AND state = ANY(%s) FOR UPDATE"
        row: Any = connection.execute(sql, (job_id, states)).fetchone()
        if row is None:
            raise NotFound(
                f"There is no job {job_id} in that state", hint="`deltos jobs list` shows the jobs that were set aside."
            )
        return JobRow(*row)

    @whole_store()
    def has_worker(self) -> bool:
        return bool(self.workers())

    @whole_store()
    def workers(self) -> list[WorkerRow]:
        sql = f"""SELECT id, extract(epoch FROM now() - seen_at)::double precision,
                  array(SELECT id FROM job WHERE worker = name AND state = '{RUNNING}' ORDER BY id)
                  FROM job_worker WHERE seen_at > now() - make_interval(secs => %s) ORDER BY seen_at DESC"""
        rows = self._database.query(sql, (_MAX_HEARTBEAT_AGE_SECONDS,))
        return [WorkerRow(row[0], row[1], tuple(row[2])) for row in rows]

    # --- methods for workers

    @whole_store()
    def record_heartbeat(self, worker: str) -> None:
        """Record that a worker is alive."""
        with self._database.write() as connection:
            connection.execute(
                "INSERT INTO job_worker (name) VALUES (%s) ON CONFLICT (name) DO UPDATE SET seen_at = now()", (worker,)
            )

    @whole_store()
    def forget_worker(self, worker: str) -> None:
        """Record that a worker has ended."""
        with self._database.write() as connection:
            connection.execute("DELETE FROM job_worker WHERE name = %s", (worker,))

    @whole_store()
    def add_if_due(self, kind: str, interval_seconds: float) -> None:
        """Queue a routine job unless it was queued less than an interval ago."""
        with self._database.write() as connection:
            row = connection.execute(
                """INSERT INTO job_schedule VALUES (%s, now() + make_interval(secs => %s)) ON CONFLICT (kind)
                   DO UPDATE SET due_at = excluded.due_at WHERE job_schedule.due_at <= now() RETURNING kind""",
                (kind, interval_seconds),
            ).fetchone()
        if row:
            self._add(JobRequest(kind), _BACKGROUND)

    @whole_store()
    def take(self, worker: str) -> tuple[int, JobRequest] | None:
        """Assign the next job to a worker, and return the id and the request, or None if no job is due.

        Jobs that this worker started but did not finish, for example because of an outage, are queued again.
        """
        with self._database.write() as connection:
            sql = f"SELECT id FROM job WHERE worker = %s AND state = '{RUNNING}'"
            _requeue(connection, [row[0] for row in connection.execute(sql, (worker,))])
            row = connection.execute(_TAKE_JOB, (worker,)).fetchone()
        return (row[0], JobRequest(row[1], row[2], row[3])) if row else None

    @whole_store()
    def finish(self, job_id: int, worker: str) -> bool:
        """Delete a job that a worker has done. Return False if the job was assigned to another worker meanwhile."""
        with self._database.write() as connection:
            sql = f"DELETE FROM job WHERE id = %s AND worker = %s AND state = '{RUNNING}'"
            return bool(connection.execute(sql, (job_id, worker)).rowcount)

    @whole_store()
    def record_failure(self, job_id: int, worker: str, reason: str, settings: WorkerSettings) -> None:
        """Queue a failed job again after a delay, or set it aside if it failed too often."""
        with self._database.write() as connection:
            sql = f"SELECT id, failures + 1 FROM job WHERE id = %s AND worker = %s AND state = '{RUNNING}' FOR UPDATE"
            _record_failures(connection, connection.execute(sql, (job_id, worker)).fetchall(), reason, settings)

    @whole_store()
    def requeue(self, job_ids: Sequence[int], worker: str) -> None:
        """Queue jobs again that a worker started but cannot finish."""
        with self._database.write() as connection:
            sql = f"SELECT id FROM job WHERE id = ANY(%s) AND worker = %s AND state = '{RUNNING}' FOR UPDATE"
            _requeue(connection, [row[0] for row in connection.execute(sql, (list(job_ids), worker))])

    @whole_store()
    def requeue_stalled(self, settings: WorkerSettings, worker: str) -> list[JobRow]:
        """Queue the jobs of dead workers again, or set the jobs aside if they failed too often. Return these jobs.

        Jobs of the calling worker do not change, even if the last heartbeat was written late.
        """
        with self._database.write() as connection:
            rows = connection.execute(_SELECT_STALLED, (worker, settings.silence_seconds)).fetchall()
            sql = "DELETE FROM job_worker WHERE name <> %s AND seen_at < now() - make_interval(secs => %s)"
            connection.execute(sql, (worker, settings.silence_seconds))
            if not rows:
                return []
            # The worker may still be alive. Its connections are closed, so that it can neither write nor hold a lock.
            connection.execute(_DISCONNECT_WORKERS, ([row[1] for row in rows],))
            _record_failures(connection, [(row[0], row[2]) for row in rows], _LOST_WORKER_REASON, settings)
            found = connection.execute(f"{_SELECT_JOBS} WHERE id = ANY(%s)", ([row[0] for row in rows],))
            return [JobRow(*row) for row in found]


def delete_request(connection: Connection, request: JobRequest) -> None:
    """Delete the job of a request if it is waiting or was set aside after failures. A running job is not deleted."""
    connection.execute(f"DELETE FROM job WHERE key = %s AND state <> '{RUNNING}'", (request_key(request),))


def _record_failures(
    connection: Connection, jobs: Sequence[Sequence[Any]], reason: str, settings: WorkerSettings
) -> None:
    """Record why jobs failed. `jobs` contains the id and the number of failures of each job."""
    for job_id, failures in jobs:
        sql = "UPDATE job SET failures = %s, reason = %s WHERE id = %s"
        connection.execute(sql, (failures, reason[:_MAX_REASON_CHARACTERS], job_id))
        if failures >= settings.attempts:
            connection.execute(f"UPDATE job SET state = '{SET_ASIDE}' WHERE id = %s", (job_id,))
        else:
            _requeue(connection, [job_id], settings.backoff_seconds * _BACKOFF_FACTOR ** (failures - 1))


def _requeue(connection: Connection, job_ids: list[int], wait_seconds: float = 0.0) -> None:
    """Let jobs wait again. If an equal job waits already, only that job remains, with the arguments of both jobs."""
    for job_id in job_ids:
        merged = connection.execute(
            f"""UPDATE job AS other SET priority = greatest(other.priority, given.priority),
                arguments = given.arguments || other.arguments
                FROM job AS given WHERE given.id = %s AND other.key = given.key AND other.state = '{WAITING}'""",
            (job_id,),
        ).rowcount
        if merged:
            connection.execute("DELETE FROM job WHERE id = %s", (job_id,))
        else:
            connection.execute(
                f"""UPDATE job SET state = '{WAITING}', worker = '', due_at = now() + make_interval(secs => %s)
                    WHERE id = %s""",
                (wait_seconds, job_id),
            )
