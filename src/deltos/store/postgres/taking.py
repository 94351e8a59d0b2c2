"""A worker takes jobs from the queue: procrastinate fetches them, beats the heart and listens; here is what becomes of
a job that fails, of a worker that is told to end, and of a database that goes away."""

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
from deltos.store.jobs import SET_ASIDE, Order
from deltos.store.postgres.errors import translated
from deltos.store.postgres.jobs import QUEUE, TASK_PREFIX, key_of

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping

    from procrastinate.job_context import JobContext
    from procrastinate.jobs import Job

    from deltos.store.jobs import Work, WorkerSettings
    from deltos.store.postgres.database import Database
    from deltos.store.postgres.jobs import PostgresJobs

# A worker that is told to end has done so within five seconds: what does not stop by then is given back, and cut off.
_GIVE_BACK_SECONDS = 3.0
_EXIT_SECONDS = 4.5
_RECONNECT_SECONDS = (0.5, 1.0, 2.0, 5.0, 10.0)
_CONNECTIONS = 4
_BACKGROUND_PRIORITY = -10
_GROWTH = 3
_NO_ROOM = (errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC))  # Windows knows no quotas by that name


class _Failed(Exception):
    """A job that failed, for the so manieth time."""

    def __init__(self, failures: int) -> None:
        super().__init__(f"failed {failures} times")
        self.failures = failures


class _Stopped(Exception):
    """A job that was stopped with its worker, and is given back."""


class _Retries(BaseRetryStrategy):
    """Again after a while, which grows; not again when it failed often enough."""

    def __init__(self, settings: WorkerSettings) -> None:
        self._settings = settings

    def get_retry_decision(self, *, exception: BaseException, job: Job) -> RetryDecision | None:  # noqa: ARG002
        if isinstance(exception, _Stopped):
            return RetryDecision(retry_in={"seconds": 0})
        failures = exception.failures if isinstance(exception, _Failed) else 1
        if failures >= self._settings.attempts:
            return None
        milliseconds = round(1000 * self._settings.backoff_seconds * _GROWTH ** (failures - 1))
        return RetryDecision(retry_in={"milliseconds": milliseconds})


class _JobProgress:
    """Implements `progress.Progress`: a job stops with its worker."""

    def __init__(self, should_stop: Callable[[], bool]) -> None:
        self._should_stop = should_stop

    def report(self, done: int, total: int, what: str) -> None:
        """Nobody listens."""

    def cancelled(self) -> bool:
        return self._should_stop()


class _EndedByItself(Exception):
    """A worker that nobody told to end, and that ended without an error of the database."""


class QueueConnector(PsycopgConnector):
    """Understands that an order waits already by the index alone: procrastinate reads the order out of the server's
    details, which PostgreSQL leaves out for a role that row-level security holds."""

    @asynccontextmanager
    async def _get_cursor(self, connection: psycopg.AsyncConnection | None = None) -> AsyncGenerator[Any]:
        try:
            async with super()._get_cursor(connection) as cursor:
                yield cursor
        except psycopg.errors.UniqueViolation as exc:
            raise UniqueViolation(constraint_name=exc.diag.constraint_name, queueing_lock=None) from exc


class _SteadyWorker(Worker):
    """Leaves the record of a job alone that was taken over meanwhile: it is another worker's now.

    A job goes on while something that the worker does beside it fails: that is told, and begun again after a pause.
    Without the database the worker ends.
    """

    is_mine: Callable[[int, int], bool]
    tell: Callable[[str, BaseException], None]
    failure: BaseException | None = None

    async def _persist_job_status(self, job: Job, *arguments: Any, **named: Any) -> None:
        if job.id and self.worker_id and await asyncio.to_thread(self.is_mine, job.id, self.worker_id):
            await super()._persist_job_status(job, *arguments, **named)

    async def _periodic_deferrer(self) -> None:
        await self._persevere("Routine jobs cannot be queued", super()._periodic_deferrer)

    async def _update_heartbeat(self) -> None:
        await self._persevere("The heartbeat cannot be kept", super()._update_heartbeat)

    async def _persevere(self, trouble: str, act: Callable[[], Awaitable[None]]) -> None:
        while True:
            try:
                return await act()
            except Exception as exc:
                if _is_outage(exc):
                    raise
                self.tell(trouble, exc)
            await asyncio.sleep(self.update_heartbeat_interval)

    async def _monitor_side_tasks(self, side_tasks: list[asyncio.Task[Any]]) -> None:
        await super()._monitor_side_tasks(side_tasks)
        ended = [task for task in side_tasks if task.done() and not task.cancelled()]
        self.failure = next((exc for task in ended if (exc := task.exception())), None)
        if self.failure and not _is_outage(self.failure):
            self.shutdown_graceful_timeout = None  # what runs is carried out to its end


class JobTaker:
    """One worker process: takes jobs, one at a time, until it is told to end."""

    def __init__(self, database: Database, jobs: PostgresJobs, work: Work, settings: WorkerSettings) -> None:
        self._database = database
        self._jobs = jobs
        self._work = work
        self._settings = settings
        self._stopping = threading.Event()
        self._running: dict[int, str] = {}
        self._worker: Worker | None = None
        self._has_started = False
        # It logs with whole stacks what we say in a line.
        logging.getLogger("procrastinate").addHandler(logging.NullHandler())
        logging.getLogger("procrastinate").propagate = False

    def run(self) -> None:
        """Take jobs until SIGTERM or SIGINT, or until none is left where that is the end."""
        before = {number: signal.signal(number, self._told_to_end) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            # psycopg cannot use the loop that is usual on Windows.
            with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop if sys.platform == "win32" else None) as runner:
                runner.run(self._take_jobs())
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    # --- the life of a worker

    async def _take_jobs(self) -> None:
        attempt = 0
        while not self._stopping.is_set():
            began = time.monotonic()
            try:
                await self._take_jobs_once()
                if self._settings.ends_when_idle:
                    return
            except (ConnectorException, psycopg.Error, StoreError, _EndedByItself) as exc:
                self._tell_of_trouble("The queue cannot be used", exc)
            if time.monotonic() - began > _RECONNECT_SECONDS[-1]:
                attempt = 0
            seconds = _RECONNECT_SECONDS[min(attempt, len(_RECONNECT_SECONDS) - 1)]
            await asyncio.to_thread(self._stopping.wait, seconds)
            attempt += 1

    async def _take_jobs_once(self) -> None:
        """Register and take jobs until told to end, or until the connection to the queue is lost."""
        url, schema = self._database.opening
        connector = QueueConnector(
            conninfo=url,
            kwargs={"prepare_threshold": None},
            min_size=1,
            max_size=_CONNECTIONS,
            timeout=_RECONNECT_SECONDS[-1],
            configure=_searching(schema),
        )
        async with (app := self._app(connector)).open_async():
            worker = _SteadyWorker(
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
            worker.is_mine = self._jobs.is_carried_out_by
            worker.tell = self._tell_of_trouble
            await asyncio.to_thread(self._take_over, None)
            self._tell_of_start()
            ticks = asyncio.create_task(self._tick(worker))
            self._worker = worker
            try:
                if not self._stopping.is_set():
                    await worker.run()  # type: ignore[no-untyped-call]
            finally:
                self._worker = None
                ticks.cancel()
                with suppress(asyncio.CancelledError):
                    await ticks
            if not self._stopping.is_set() and not self._settings.ends_when_idle:
                raise _EndedByItself from worker.failure

    def _tell_of_start(self) -> None:
        """Say that the queue can be used, once it is connected to."""
        if not self._stopping.is_set():
            self._work.say("The queue can be used again" if self._has_started else "worker started")
            self._has_started = True

    def _tell_of_trouble(self, what: str, exc: BaseException) -> None:
        self._work.say(self._without_password(f"{what}: {_told(exc, self._database.place)}"))

    async def _tick(self, worker: Worker) -> None:
        """With every beat of the heart: take over what others have left, and give back what was lost on the way."""
        lost: set[int] = set()
        while True:
            await asyncio.sleep(self._settings.heartbeat_seconds)
            with suppress(StoreError):  # the worker itself notices that the database is gone
                await asyncio.to_thread(self._take_over, worker.worker_id)
                if worker.worker_id is not None:
                    # Twice in a row: one that was only just fetched, or has only just ended, is not lost.
                    now = set(await asyncio.to_thread(self._jobs.lost, worker.worker_id, list(self._running)))
                    if again := now & lost:
                        await asyncio.to_thread(self._jobs.give_back, list(again))
                    lost = now

    def _take_over(self, taker: int | None) -> None:
        if self._stopping.is_set():
            return  # its heart no longer beats: its own job would seem to be a dead worker's
        for job in self._jobs.take_over(self._settings, taker):
            what = "set aside" if job.state == SET_ASIDE else "queued again"
            self._work.say(f"{job.told()} is {what}: {job.reason}")

    # --- the end of a worker

    def _told_to_end(self, _number: int, _frame: object) -> None:
        if self._stopping.is_set():
            return
        self._stopping.set()
        threading.Thread(target=self._end, name="deltos-worker-end", daemon=True).start()

    def _end(self) -> None:
        """Ask the job to stop; what does not is given back, and the process ends without it."""
        for seconds, act in ((_EXIT_SECONDS, lambda: os._exit(0)), (_GIVE_BACK_SECONDS, self._leave)):
            timer = threading.Timer(seconds, act)
            timer.daemon = True
            timer.start()
        if worker := self._worker:
            worker.stop()  # type: ignore[no-untyped-call]
        self._work.interrupt()

    def _leave(self) -> None:
        running = dict(self._running)
        with suppress(DeltosError):
            self._jobs.give_back(list(running))
        for told in running.values():
            self._work.say(f"{told} is given back")
        os._exit(0)

    # --- a job

    def _app(self, connector: PsycopgConnector) -> App:
        app = App(connector=connector)
        retries = _Retries(self._settings)
        for kind in self._work.by_kind:
            taken = app.task(name=TASK_PREFIX + kind, queue=QUEUE, retry=retries, pass_context=True)
            task = taken(self._carrying_out(kind))
            if (cron := self._cron(kind)) and not self._settings.ends_when_idle:
                key = key_of(Order(kind))
                app.periodic(cron=cron, queue=QUEUE, lock=key, queueing_lock=key, priority=_BACKGROUND_PRIORITY)(task)
        return app

    def _cron(self, kind: str) -> str:
        if kind in self._work.every_minute:
            return "* * * * *"
        return "17 * * * *" if kind in self._work.every_hour else ""

    def _carrying_out(self, kind: str) -> Callable[..., None]:
        def carry_out(
            context: JobContext,
            subject: str = "",
            arguments: Mapping[str, object] | None = None,
            timestamp: int = 0,  # noqa: ARG001 (of what is done without being asked for: when it was due)
        ) -> None:
            order = Order(kind, subject, arguments or {})
            self._carry_out(order, context.job.id or 0, context.should_abort)

        return carry_out

    def _carry_out(self, order: Order, job_id: int, should_abort: Callable[[], bool]) -> None:
        def should_stop() -> bool:
            return self._stopping.is_set() or should_abort()

        told = f"job {job_id} ({order.kind} {order.subject})" if order.subject else f"job {job_id} ({order.kind})"
        is_routine = bool(self._cron(order.kind))
        began = time.monotonic()
        self._running[job_id] = told
        try:
            if not is_routine:
                self._jobs.note_taker(job_id)
                self._work.say(f"{told} is taken")
            self._work.by_kind[order.kind](order, _JobProgress(should_stop))
        except Exception as exc:  # noqa: BLE001 (a worker is a surface: the failure is kept, and told)
            if should_stop():
                self._give_back(job_id)
                self._work.say(f"{told} is given back")
                raise _Stopped from None
            reason = self._without_password(_told(exc, self._database.place))
            self._work.say(f"{told} failed: {reason}")
            if not is_routine:  # what is done every minute anyway is neither tried again nor set aside
                raise _Failed(self._jobs.note_failure(job_id, reason)) from None
        else:
            if not is_routine:
                self._work.say(f"{told} is done after {time.monotonic() - began:.1f} s")
        finally:
            self._running.pop(job_id, None)

    def _give_back(self, job_id: int) -> None:
        """Queue a job again that was stopped. procrastinate could not where the same order waits meanwhile: the job
        would seem to run on, without a worker, and count as a failure."""
        with suppress(StoreError):  # then it is tried as any other that did not succeed
            self._jobs.give_back([job_id])

    def _without_password(self, text: str) -> str:
        for secret in _passwords(self._database.opening[0]):
            text = text.replace(secret, "***")
        return text


def _searching(schema: str) -> Callable[[psycopg.AsyncConnection[Any]], Any]:
    async def configure(connection: psycopg.AsyncConnection[Any]) -> None:
        await connection.execute(f'SET search_path TO "{schema}"')
        await connection.execute("SELECT set_config('deltos.everything', 'on', false)")  # see `rights`
        await connection.commit()

    return configure


def _told(exc: BaseException, place: str) -> str:
    """What is told of an error, in one line."""
    if isinstance(exc, _EndedByItself):
        exc = exc.__cause__ or DeltosError("the worker ended by itself, without an error", hint="")
    if isinstance(exc, ConnectorException) and isinstance(exc.__cause__, psycopg.Error):
        exc = exc.__cause__
    if isinstance(exc, psycopg.Error):
        exc = translated(exc, place)
    if isinstance(exc, OSError) and exc.errno in _NO_ROOM:
        where = f": {exc.filename}" if exc.filename else ""
        return f"The worker's disk is full ({exc.strerror}){where}"
    said = " ".join(str(exc).split())
    return said if isinstance(exc, DeltosError) else f"{type(exc).__name__}: {said}"


def _is_outage(exc: BaseException) -> bool:
    """Whether the database is gone, or has no room for us: everything else that the worker does fails as well."""
    return isinstance(exc, ConnectorException) and isinstance(exc.__cause__, psycopg.OperationalError)


def _passwords(url: str) -> Iterator[str]:
    if password := str(conninfo_to_dict(url).get("password") or ""):
        yield password
        yield quote(password, safe="")
