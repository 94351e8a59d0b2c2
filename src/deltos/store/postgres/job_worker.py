"""The worker process: runs jobs from the queue through procrastinate, and handles failures, shutdown and outages."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import signal
import sys
import threading
import time
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import psycopg
from procrastinate import App, BaseRetryStrategy, PsycopgConnector, RetryDecision
from procrastinate.exceptions import ConnectorException, UniqueViolation
from procrastinate.jobs import DeleteJobCondition
from procrastinate.worker import Worker
from psycopg.conninfo import conninfo_to_dict

from deltos.errors import DeltosError, StoreError
from deltos.store.jobs import SET_ASIDE, JobRequest
from deltos.store.postgres.errors import translate_error
from deltos.store.postgres.jobs import QUEUE, TASK_PREFIX, request_key

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping

    from procrastinate.job_context import JobContext
    from procrastinate.jobs import Job

    from deltos.store.jobs import JobHandlers, WorkerSettings
    from deltos.store.postgres.database import PostgresDatabase
    from deltos.store.postgres.jobs import PostgresJobs

# A worker ends within five seconds after a signal. A job that has not stopped by then is requeued and abandoned.
_REQUEUE_AFTER_SECONDS = 3.0
_EXIT_AFTER_SECONDS = 4.5
_RECONNECT_DELAYS_SECONDS = (0.5, 1.0, 2.0, 5.0, 10.0)
_MAX_CONNECTIONS = 3
_BACKGROUND_PRIORITY = -10
_BACKOFF_FACTOR = 3
_DISK_FULL_ERRORS = (
    errno.ENOSPC,
    errno.EFBIG,
    getattr(errno, "EDQUOT", errno.ENOSPC),
)  # errno.EDQUOT does not exist on Windows


class _JobFailed(Exception):
    """Error raised if a job failed. `failures` is the number of failures of the job so far."""

    def __init__(self, failures: int) -> None:
        super().__init__(f"failed {failures} times")
        self.failures = failures


class _JobStopped(Exception):
    """Error raised if a job was stopped by the shutdown of the worker. The job is queued again."""


class _RetryStrategy(BaseRetryStrategy):
    """Retry strategy with growing delays between attempts and a maximum number of attempts."""

    def __init__(self, settings: WorkerSettings) -> None:
        self._settings = settings

    def get_retry_decision(self, *, exception: BaseException, job: Job) -> RetryDecision | None:  # noqa: ARG002
        if isinstance(exception, _JobStopped):
            return RetryDecision(retry_in={"seconds": 0})
        failures = exception.failures if isinstance(exception, _JobFailed) else 1
        if failures >= self._settings.attempts:
            return None
        milliseconds = round(1000 * self._settings.backoff_seconds * _BACKOFF_FACTOR ** (failures - 1))
        return RetryDecision(retry_in={"milliseconds": milliseconds})


class _JobProgress:
    """Implementation of `progress.Progress` that cancels the job when the worker shuts down."""

    def __init__(self, should_stop: Callable[[], bool]) -> None:
        self._should_stop = should_stop

    def report(self, done: int, total: int, what: str) -> None:
        """Do nothing, because the progress of background jobs is not shown."""

    def cancelled(self) -> bool:
        return self._should_stop()


class _WorkerEnded(Exception):
    """Error raised if procrastinate's worker ends without a shutdown and without a database error."""


class QueueConnector(PsycopgConnector):
    """Connector that detects duplicate requests by the name of the violated constraint.

    procrastinate reads error details instead, which PostgreSQL hides from roles with row-level security.
    """

    @asynccontextmanager
    async def _get_cursor(self, connection: psycopg.AsyncConnection | None = None) -> AsyncGenerator[Any]:
        try:
            async with super()._get_cursor(connection) as cursor:
                yield cursor
        except psycopg.errors.UniqueViolation as exc:
            raise UniqueViolation(constraint_name=exc.diag.constraint_name, queueing_lock=None) from exc


class _ResilientWorker(Worker):
    """procrastinate worker that does not change a job if the job was requeued for another worker in the meantime.

    If a side task (heartbeats or routine jobs) fails, the running job continues, and the side task is restarted after
    a pause. If the database is not available, the worker ends.
    """

    is_own_job: Callable[[int, int], bool]
    log_failure: Callable[[str, BaseException], None]
    failure: BaseException | None = None

    async def _persist_job_status(self, job: Job, *arguments: Any, **named: Any) -> None:
        if job.id and self.worker_id and await asyncio.to_thread(self.is_own_job, job.id, self.worker_id):
            await super()._persist_job_status(job, *arguments, **named)

    async def _periodic_deferrer(self) -> None:
        await self._retry_on_error("Routine jobs cannot be queued", super()._periodic_deferrer)

    async def _update_heartbeat(self) -> None:
        await self._retry_on_error("Cannot write the heartbeat", super()._update_heartbeat)

    async def _retry_on_error(self, problem: str, act: Callable[[], Awaitable[None]]) -> None:
        """Run a side task (heartbeats or routine jobs). Log errors and run it again, but raise database outages."""
        while True:
            try:
                return await act()
            except Exception as exc:
                if _is_outage(exc):
                    raise
                self.log_failure(problem, exc)
            await asyncio.sleep(self.update_heartbeat_interval)

    async def _monitor_side_tasks(self, side_tasks: list[asyncio.Task[Any]]) -> None:
        await super()._monitor_side_tasks(side_tasks)
        ended = [task for task in side_tasks if task.done() and not task.cancelled()]
        self.failure = next((exc for task in ended if (exc := task.exception())), None)
        if self.failure and not _is_outage(self.failure):
            self.shutdown_graceful_timeout = None  # wait without limit until the running job finishes


class JobWorker:
    """Worker process that runs one job at a time until it receives a signal."""

    def __init__(
        self, database: PostgresDatabase, jobs: PostgresJobs, work: JobHandlers, settings: WorkerSettings
    ) -> None:
        self._database = database
        self._jobs = jobs
        self._work = work
        self._settings = settings
        self._stopping = threading.Event()
        self._running: dict[int, str] = {}
        self._worker: Worker | None = None
        self._has_started = False
        # procrastinate would log complete stack traces; one line is logged instead.
        logging.getLogger("procrastinate").addHandler(logging.NullHandler())
        logging.getLogger("procrastinate").propagate = False

    def run(self) -> None:
        """Run jobs until SIGTERM or SIGINT arrives, or until the queue is empty if `ends_when_idle` is true."""
        before = {number: signal.signal(number, self._on_signal) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            # psycopg does not support the default event loop of Windows.
            with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop if sys.platform == "win32" else None) as runner:
                runner.run(self._take_jobs())
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    # --- main loop

    async def _take_jobs(self) -> None:
        """Run jobs until shutdown, and reconnect with growing delays after the connection is lost."""
        attempt = 0
        while not self._stopping.is_set():
            started_at = time.monotonic()
            try:
                await self._run_worker_once()
                if self._settings.ends_when_idle:
                    return
            except (ConnectorException, psycopg.Error, StoreError, _WorkerEnded) as exc:
                self._log_failure("Cannot use the queue", exc)
            if time.monotonic() - started_at > _RECONNECT_DELAYS_SECONDS[-1]:
                attempt = 0
            seconds = _RECONNECT_DELAYS_SECONDS[min(attempt, len(_RECONNECT_DELAYS_SECONDS) - 1)]
            await asyncio.to_thread(self._stopping.wait, seconds)
            attempt += 1

    async def _run_worker_once(self) -> None:
        """Register a worker and run jobs until shutdown, or until the connection to the queue is lost."""
        url, schema = self._database.connection_settings
        connector = QueueConnector(
            conninfo=url,
            kwargs={"prepare_threshold": None},
            min_size=1,
            max_size=_MAX_CONNECTIONS,
            timeout=_RECONNECT_DELAYS_SECONDS[-1],
            configure=_configure_search_path(schema),
        )
        async with (app := self._create_app(connector)).open_async():
            worker = _ResilientWorker(
                app,
                queues=[QUEUE],
                wait=not self._settings.ends_when_idle,
                shutdown_graceful_timeout=0,
                fetch_job_polling_interval=min(5.0, self._settings.heartbeat_seconds),
                update_heartbeat_interval=self._settings.heartbeat_seconds,
                stalled_worker_timeout=self._settings.silence_seconds,
                delete_jobs=DeleteJobCondition.SUCCESSFUL,
                install_signal_handlers=False,
            )
            worker.is_own_job = self._jobs.is_running_on
            worker.log_failure = self._log_failure
            await asyncio.to_thread(self._requeue_stalled, None)
            self._log_started()
            heartbeat = asyncio.create_task(self._heartbeat_loop(worker))
            self._worker = worker
            try:
                if not self._stopping.is_set():
                    await worker.run()  # type: ignore[no-untyped-call]
            finally:
                self._worker = None
                heartbeat.cancel()
                with suppress(asyncio.CancelledError):
                    await heartbeat
            if not self._stopping.is_set() and not self._settings.ends_when_idle:
                raise _WorkerEnded from worker.failure

    def _log_started(self) -> None:
        """Log that the worker has started or has connected again."""
        if not self._stopping.is_set():
            self._work.log("Reconnected to the queue" if self._has_started else "worker started")
            self._has_started = True

    def _log_failure(self, what: str, exc: BaseException) -> None:
        self._work.log(self._without_password(f"{what}: {_describe_error(exc, self._database.address)}"))

    async def _heartbeat_loop(self, worker: Worker) -> None:
        """With each heartbeat, requeue jobs of dead workers, and jobs that the queue wrongly lists as running on this
        worker."""
        orphaned_jobs: set[int] = set()
        while True:
            await asyncio.sleep(self._settings.heartbeat_seconds)
            with suppress(StoreError):  # the main loop handles the outage
                await asyncio.to_thread(self._requeue_stalled, worker.worker_id)
                if worker.worker_id is not None:
                    # A job is requeued only if it was found twice in a row, because it may have just started or ended.
                    now = set(await asyncio.to_thread(self._jobs.orphaned_jobs, worker.worker_id, list(self._running)))
                    if again := now & orphaned_jobs:
                        await asyncio.to_thread(self._jobs.requeue, list(again))
                    orphaned_jobs = now

    def _requeue_stalled(self, worker_id: int | None) -> None:
        if self._stopping.is_set():
            return  # without heartbeats, the job of this worker would look like a job of a dead worker
        for job in self._jobs.requeue_stalled(self._settings, worker_id):
            what = "set aside" if job.state == SET_ASIDE else "queued again"
            self._work.log(f"{job.describe()} is {what}: {job.reason}")

    # --- shutdown

    def _on_signal(self, _number: int, _frame: object) -> None:
        if self._stopping.is_set():
            return
        self._stopping.set()
        threading.Thread(target=self._begin_shutdown, name="deltos-worker-end", daemon=True).start()

    def _begin_shutdown(self) -> None:
        """Ask the running job to stop. If it does not stop in time, requeue it and end the process."""
        for seconds, act in (
            (_EXIT_AFTER_SECONDS, lambda: os._exit(0)),
            (_REQUEUE_AFTER_SECONDS, self._requeue_and_exit),
        ):
            timer = threading.Timer(seconds, act)
            timer.daemon = True
            timer.start()
        if worker := self._worker:
            worker.stop()  # type: ignore[no-untyped-call]
        self._work.interrupt()

    def _requeue_and_exit(self) -> None:
        """Requeue the running jobs and end the process immediately."""
        running = dict(self._running)
        with suppress(DeltosError):
            self._jobs.requeue(list(running))
        for label in running.values():
            self._work.log(f"{label} is returned to the queue")
        os._exit(0)

    # --- running a job

    def _create_app(self, connector: PsycopgConnector) -> App:
        app = App(connector=connector)
        retries = _RetryStrategy(self._settings)
        for kind in self._work.by_kind:
            register = app.task(name=TASK_PREFIX + kind, queue=QUEUE, retry=retries, pass_context=True)
            task = register(self._task_function(kind))
            if (cron := self._schedule_of(kind)) and not self._settings.ends_when_idle:
                key = request_key(JobRequest(kind))
                app.periodic(cron=cron, queue=QUEUE, lock=key, queueing_lock=key, priority=_BACKGROUND_PRIORITY)(task)
        return app

    def _schedule_of(self, kind: str) -> str:
        """Return the cron schedule of a routine job, or an empty string for other jobs."""
        if kind in self._work.every_minute:
            return "* * * * *"
        return "17 * * * *" if kind in self._work.every_hour else ""

    def _task_function(self, kind: str) -> Callable[..., None]:
        """Return the function that procrastinate calls to run jobs of one kind."""

        def run_task(
            context: JobContext,
            subject: str = "",
            arguments: Mapping[str, object] | None = None,
            timestamp: int = 0,  # noqa: ARG001 (procrastinate passes the due time of routine jobs)
        ) -> None:
            request = JobRequest(kind, subject, arguments or {})
            self._run_job(request, context.job.id or 0, context.should_abort)

        return run_task

    def _run_job(self, request: JobRequest, job_id: int, should_abort: Callable[[], bool]) -> None:
        def should_stop() -> bool:
            return self._stopping.is_set() or should_abort()

        label = (
            f"job {job_id} ({request.kind} {request.subject})" if request.subject else f"job {job_id} ({request.kind})"
        )
        is_routine = bool(self._schedule_of(request.kind))
        started_at = time.monotonic()
        self._running[job_id] = label
        try:
            if not is_routine:
                self._jobs.record_worker(job_id)
                self._work.log(f"{label} is started")
            self._work.by_kind[request.kind](request, _JobProgress(should_stop))
        except Exception as exc:  # noqa: BLE001 (the worker's outermost handler: the failure is recorded and logged)
            if should_stop():
                self._requeue_stopped(job_id)
                self._work.log(f"{label} is returned to the queue")
                raise _JobStopped from None
            reason = self._without_password(_describe_error(exc, self._database.address))
            self._work.log(f"{label} failed: {reason}")
            if not is_routine:  # a routine job is not retried, because it is queued again regularly
                raise _JobFailed(self._jobs.record_failure(job_id, reason)) from None
        else:
            if not is_routine:
                self._work.log(f"{label} is done after {time.monotonic() - started_at:.1f} s")
        finally:
            self._running.pop(job_id, None)

    def _requeue_stopped(self, job_id: int) -> None:
        """Queue a stopped job again."""
        # procrastinate's own retry fails if an equal request is queued. The job would then look like a job of a dead
        # worker and would count as failed.
        with suppress(StoreError):  # if this fails, the job is retried like any failed job
            self._jobs.requeue([job_id])

    def _without_password(self, text: str) -> str:
        """Replace the passwords of the connection string in a text with asterisks."""
        for secret in _passwords_in(self._database.connection_settings[0]):
            text = text.replace(secret, "***")
        return text


def _configure_search_path(schema: str) -> Callable[[psycopg.AsyncConnection[Any]], Any]:
    async def configure(connection: psycopg.AsyncConnection[Any]) -> None:
        await connection.execute(f'SET search_path TO "{schema}"')
        await connection.execute("SELECT set_config('deltos.everything', 'on', false)")  # grants all permissions
        await connection.commit()

    return configure


def _describe_error(exc: BaseException, address: str) -> str:
    """Return a one-line description of an error."""
    if isinstance(exc, _WorkerEnded):
        exc = exc.__cause__ or DeltosError("the worker ended by itself, without an error", hint="")
    if isinstance(exc, ConnectorException) and isinstance(exc.__cause__, psycopg.Error):
        exc = exc.__cause__
    if isinstance(exc, psycopg.Error):
        exc = translate_error(exc, address)
    if isinstance(exc, OSError) and exc.errno in _DISK_FULL_ERRORS:
        where = f": {exc.filename}" if exc.filename else ""
        return f"The worker's disk is full ({exc.strerror}){where}"
    message = " ".join(str(exc).split())
    return message if isinstance(exc, DeltosError) else f"{type(exc).__name__}: {message}"


def _is_outage(exc: BaseException) -> bool:
    """Whether the database is unreachable or has no free connection."""
    return isinstance(exc, ConnectorException) and isinstance(exc.__cause__, psycopg.OperationalError)


def _passwords_in(url: str) -> Iterator[str]:
    if password := str(conninfo_to_dict(url).get("password") or ""):
        yield password
        yield quote(password, safe="")
