"""The queue of jobs: tables and functions of procrastinate, and beside them why jobs failed. Taking them: `taking`."""

from __future__ import annotations

import hashlib
import json
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Any

from psycopg.conninfo import make_conninfo

from deltos.confinement import whole_store
from deltos.errors import NotFound, StoreBusy
from deltos.store.jobs import RUNNING, SET_ASIDE, WAITING, JobRow, Order, WorkerRow
from deltos.store.postgres.database import Migration
from deltos.store.postgres.errors import place_of
from deltos.store.postgres.rights import SERVER, protected
from deltos.store.postgres.rows import check_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from deltos.store.jobs import WorkerSettings
    from deltos.store.postgres.database import Connection, Database

QUEUE = "deltos"
TASK_PREFIX = "deltos:"
PRIORITY = {True: 10, False: 0}  # by whether somebody waits for it
_REASON_CHARACTERS = 500
_LATELY_SECONDS = 60.0
_ATTEMPTS = 5

# The steps of procrastinate's own schema are ours: a release of it that changes its tables becomes a step here.
JOBS_001 = Migration("jobs-001-procrastinate-3.10", Path(__file__).with_name("procrastinate.sql").read_text("utf-8"))
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
# After the rules of the tables before them: jobs name folders of every project, and are for no caller.
JOBS_003 = Migration(
    "jobs-003-rights",
    "".join(protected(f"procrastinate_{name}", SERVER) for name in ("jobs", "workers", "events", "periodic_defers"))
    + protected("job_failure", SERVER)
    + protected("job_taker", SERVER),
)
_STATES = {"todo": WAITING, "doing": RUNNING, "failed": SET_ASIDE}
_ROWS = """SELECT id, task_name, args->>'subject', status::text,
           (SELECT count(*) FROM job_failure WHERE job = id),
           coalesce((SELECT reason FROM job_failure WHERE job = id ORDER BY failed_at DESC LIMIT 1), '')
           FROM procrastinate_jobs WHERE status IN ('todo', 'doing', 'failed')"""
_STALLED = """SELECT job.id FROM procrastinate_jobs AS job
              LEFT JOIN procrastinate_workers AS worker ON worker.id = job.worker_id
              WHERE job.status = 'doing'
              AND (worker.id IS NULL OR worker.last_heartbeat < now() - make_interval(secs => %s))
              AND worker.id IS DISTINCT FROM %s
              FOR UPDATE OF job SKIP LOCKED"""
_CUT_OFF = """SELECT pg_terminate_backend(pid) FROM pg_stat_activity
              WHERE application_name IN (SELECT application FROM job_taker WHERE job = ANY(%s))
              AND datname = current_database() AND usename = current_user AND pid <> pg_backend_pid()
              AND application_name <> current_setting('application_name')"""
_WORKER_GONE = "its worker died, or was cut off, while it ran"
_IN_TURN = "ORDER BY status = 'failed', status = 'todo', priority DESC, id"


def key_of(order: Order) -> str:
    """What keeps an order from being queued, or carried out, twice at a time."""
    digest = hashlib.sha256(order.subject.encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return f"{QUEUE}/{order.kind}/{digest}"


def named_for_worker(url: str) -> str:
    """An address whose connections bear a name that no other worker's have."""
    place_of(url)  # says what is wrong with it, without the password
    return make_conninfo(url, application_name=f"deltos worker {secrets.token_hex(12)}")


class PostgresJobs:
    """Implements `store.jobs.Jobs`, and keeps the record of failures for workers."""

    def __init__(self, opened: Callable[[], Database]) -> None:
        self._opened = opened

    @property
    def _database(self) -> Database:
        return self._opened()

    @whole_store()
    def add(self, order: Order, *, is_waited_for: bool = False) -> JobRow:
        check_text(order.subject)
        for _ in range(_ATTEMPTS):
            if queued := self._queued(order, PRIORITY[is_waited_for]):
                return queued
            if job_id := self._defer(order, PRIORITY[is_waited_for]):
                return JobRow(job_id, order.kind, order.subject, WAITING)
        raise StoreBusy("The queue changes faster than a job can be added", hint="Try again in a moment.")

    @whole_store()
    def find(self, order: Order) -> JobRow | None:
        rows = self._database.query(f"{_ROWS} AND queueing_lock = %s {_IN_TURN}", (key_of(order),))
        return _row(rows[-1]) if rows else None

    @whole_store()
    def every(self) -> list[JobRow]:
        return [_row(row) for row in self._database.query(f"{_ROWS} {_IN_TURN}")]

    @whole_store()
    def retry(self, job_id: int) -> JobRow:
        database = self._database
        with database.write() as connection:
            found = self._locked(connection, job_id, ["failed"])
            connection.execute("DELETE FROM job_failure WHERE job = %s", (job_id,))
            waits = "SELECT 1 FROM procrastinate_jobs WHERE queueing_lock = %s AND status = 'todo'"
            if connection.execute(waits, (found[1],)).fetchone():  # it was queued again meanwhile
                connection.execute("DELETE FROM procrastinate_jobs WHERE id = %s", (job_id,))
            else:
                retry = "SELECT procrastinate_retry_job_v2(%s, now(), %s, NULL, NULL)"
                connection.execute(retry, (job_id, PRIORITY[True]))
                _notify(connection)
        return JobRow(job_id, found[0].kind, found[0].subject, WAITING)

    @whole_store()
    def drop(self, job_id: int) -> JobRow:
        with self._database.write() as connection:
            row, _ = self._locked(connection, job_id, ["failed", "todo"])
            connection.execute("DELETE FROM procrastinate_jobs WHERE id = %s", (job_id,))
        return row

    @whole_store()
    def has_worker(self) -> bool:
        alive = "SELECT 1 FROM procrastinate_workers WHERE last_heartbeat > now() - make_interval(secs => %s) LIMIT 1"
        return bool(self._database.query(alive, (_LATELY_SECONDS,)))

    @whole_store()
    def workers(self) -> list[WorkerRow]:
        sql = """SELECT worker.id, extract(epoch FROM now() - last_heartbeat)::double precision,
                 array(SELECT job.id FROM procrastinate_jobs AS job
                       WHERE job.worker_id = worker.id AND status = 'doing' ORDER BY job.id)
                 FROM procrastinate_workers AS worker ORDER BY last_heartbeat DESC"""
        return [WorkerRow(row[0], row[1], tuple(row[2])) for row in self._database.query(sql)]

    # --- for workers

    def note_taker(self, job_id: int) -> None:
        """Keep who carries a job out: the name by which the server knows this process's connections."""
        with self._database.write() as connection:
            connection.execute(
                """INSERT INTO job_taker SELECT id, current_setting('application_name') FROM procrastinate_jobs
                   WHERE id = %s ON CONFLICT (job) DO UPDATE SET application = excluded.application""",
                (job_id,),
            )

    def note_failure(self, job_id: int, reason: str) -> int:
        """Keep why a job failed; how often it has."""
        with self._database.write() as connection:
            sql = "INSERT INTO job_failure (job, reason) SELECT id, %s FROM procrastinate_jobs WHERE id = %s"
            connection.execute(sql, (reason[:_REASON_CHARACTERS], job_id))
            row = connection.execute("SELECT count(*) FROM job_failure WHERE job = %s", (job_id,)).fetchone()
        return int(row[0]) if row else 0

    def give_back(self, job_ids: Sequence[int]) -> None:
        """Queue jobs again that a worker had begun and cannot end."""
        with self._database.write() as connection:
            _queue_again(connection, list(job_ids), 0.0)

    def is_carried_out_by(self, job_id: int, worker_id: int) -> bool:
        """Whether a job is that worker's by the record."""
        sql = "SELECT 1 FROM procrastinate_jobs WHERE id = %s AND status = 'doing' AND worker_id = %s"
        return bool(self._database.query(sql, (job_id, worker_id)))

    def lost(self, worker_id: int, running: Sequence[int]) -> list[int]:
        """The jobs that a worker has by the record, but does not carry out."""
        sql = "SELECT id FROM procrastinate_jobs WHERE status = 'doing' AND worker_id = %s AND id <> ALL(%s)"
        return [row[0] for row in self._database.query(sql, (worker_id, list(running)))]

    def take_over(self, settings: WorkerSettings, taker: int | None) -> list[JobRow]:
        """Queue again what workers had begun that were not heard of since; set aside what did so too often.

        The worker that asks (`taker`) is alive, however late the last beat of its heart was written down.
        """
        with self._database.write() as connection:
            rows = connection.execute(_STALLED.encode(), (settings.silence_seconds, taker or 0)).fetchall()
            ids = [row[0] for row in rows]
            if not ids:
                return []
            # It may still live, and only be cut off: without its connections it can neither write nor keep a claim.
            connection.execute(_CUT_OFF.encode(), (ids,))
            noted = "INSERT INTO job_failure (job, reason) SELECT unnest(%s::bigint[]), %s"
            connection.execute(noted, (ids, _WORKER_GONE))
            counts = "SELECT job FROM job_failure WHERE job = ANY(%s) GROUP BY job HAVING count(*) >= %s"
            hopeless = [row[0] for row in connection.execute(counts, (ids, settings.attempts))]
            aside = "SELECT procrastinate_finish_job_v1(id, 'failed', false) FROM unnest(%s::bigint[]) AS id"
            connection.execute(aside, (hopeless,))
            _queue_again(connection, [job_id for job_id in ids if job_id not in hopeless], settings.backoff_seconds)
            return [_row(row) for row in connection.execute(f"{_ROWS} AND id = ANY(%s)".encode(), (ids,))]

    def _queued(self, order: Order, priority: int) -> JobRow | None:
        """The same order where it waits, then at least as urgent as this one, or was set aside."""
        with self._database.write() as connection:
            connection.execute(
                """UPDATE procrastinate_jobs SET priority = greatest(priority, %s),
                   args = jsonb_set(args, '{arguments}', coalesce(args->'arguments', '{}') || %s::jsonb)
                   WHERE queueing_lock = %s AND status = 'todo'""",
                (priority, json.dumps(dict(order.arguments)), key_of(order)),
            )
            sql = f"{_ROWS} AND queueing_lock = %s AND status <> 'doing' {_IN_TURN}"
            row = connection.execute(sql.encode(), (key_of(order),)).fetchone()
        return _row(row) if row else None

    def _defer(self, order: Order, priority: int) -> int:
        """The number of a new job; 0 where another process was faster."""
        # Not by procrastinate: it takes that from the details of an error, which a role of servers is not told.
        with self._database.write() as connection:
            row = connection.execute(
                """INSERT INTO procrastinate_jobs (queue_name, task_name, priority, lock, queueing_lock, args)
                   VALUES (%s, %s, %s, %s, %s, %s::jsonb)
                   ON CONFLICT (queueing_lock) WHERE status = 'todo' DO NOTHING RETURNING id""",
                (
                    QUEUE,
                    TASK_PREFIX + order.kind,
                    priority,
                    key_of(order),
                    key_of(order),
                    json.dumps({"subject": order.subject, "arguments": dict(order.arguments)}),
                ),
            ).fetchone()
        return int(row[0]) if row else 0

    def _locked(self, connection: Connection, job_id: int, states: list[str]) -> tuple[JobRow, str]:
        row: Any = connection.execute(
            """SELECT id, task_name, args->>'subject', status::text, 0, '', queueing_lock FROM procrastinate_jobs
               WHERE id = %s AND status::text = ANY(%s) FOR UPDATE""",
            (job_id, states),
        ).fetchone()
        if row is None:
            raise NotFound(
                f"There is no such job: {job_id}", hint="`deltos jobs list` names those that were set aside."
            )
        return _row(row[:6]), row[6]


def forget_orders(connection: Connection, order: Order) -> None:
    """Take an order back where nobody carries it out yet."""
    sql = "DELETE FROM procrastinate_jobs WHERE queueing_lock = %s AND status IN ('todo', 'failed')"
    connection.execute(sql, (key_of(order),))


def _queue_again(connection: Connection, job_ids: list[int], wait_seconds: float) -> None:
    # Where the same order was given again meanwhile, that one remains, with what both asked for.
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
    _notify(connection)


def _notify(connection: Connection) -> None:
    """Wake workers up: the queue's own triggers tell of new jobs alone."""
    told = '{"type": "job_inserted", "job_id": 0}'
    connection.execute("SELECT pg_notify('procrastinate_any_queue_v1', %s)", (told,))
    connection.execute("SELECT pg_notify(%s, %s)", (f"procrastinate_queue_v1#{QUEUE}", told))


def _row(row: Sequence[Any]) -> JobRow:
    job_id, task, subject, status, failures, reason = row
    return JobRow(job_id, str(task).removeprefix(TASK_PREFIX), subject or "", _STATES[status], failures, reason)
