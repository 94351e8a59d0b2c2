"""The worker process: runs jobs from the queue, and handles failures, shutdown and outages."""

from __future__ import annotations

import errno
import os
import signal
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING
from urllib.parse import quote

from psycopg.conninfo import conninfo_to_dict

from deltos.errors import DeltosError, StoreError
from deltos.store.jobs import SET_ASIDE, JobRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from deltos.store.jobs import JobHandlers, WorkerSettings
    from deltos.store.postgres.database import PostgresDatabase
    from deltos.store.postgres.jobs import PostgresJobs

# A worker ends within five seconds after a signal. A job that has not stopped by then is requeued and abandoned.
_REQUEUE_AFTER_SECONDS = 3.0
_EXIT_AFTER_SECONDS = 4.5
_POLL_SECONDS = 0.5
_RECONNECT_DELAYS_SECONDS = (0.5, 1.0, 2.0, 5.0, 10.0)
_MINUTE, _HOUR = 60.0, 3_600.0
# errno.EDQUOT does not exist on Windows
_DISK_FULL_ERRORS = (errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC))


class _JobProgress:
    """Implementation of `progress.Progress` that cancels the job when the worker shuts down."""

    def __init__(self, stopping: threading.Event) -> None:
        self._stopping = stopping

    def report(self, done: int, total: int, what: str) -> None:
        """Do nothing, because the progress of background jobs is not shown."""

    def cancelled(self) -> bool:
        return self._stopping.is_set()


class JobWorker:
    """Worker process that runs one job at a time until it receives a signal."""

    def __init__(
        self, database: PostgresDatabase, jobs: PostgresJobs, work: JobHandlers, settings: WorkerSettings
    ) -> None:
        self._address = database.address
        self._url = database.connection_settings[0]
        self._name = str(conninfo_to_dict(self._url)["application_name"])
        self._jobs = jobs
        self._work = work
        self._settings = settings
        self._stopping = threading.Event()
        self._running: dict[int, str] = {}

    def run(self) -> None:
        """Run jobs until SIGTERM or SIGINT arrives, or until the queue is empty if `ends_when_idle` is true."""
        before = {number: signal.signal(number, self._on_signal) for number in (signal.SIGTERM, signal.SIGINT)}
        heartbeats = threading.Thread(target=self._beat, name="deltos-worker-heartbeat", daemon=True)
        try:
            self._take_jobs(heartbeats)
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
            with suppress(StoreError):
                self._jobs.forget_worker(self._name)

    def _take_jobs(self, heartbeats: threading.Thread) -> None:
        """Run jobs. If the queue cannot be used, try again with growing delays."""
        attempt = 0
        while not self._stopping.is_set():
            try:
                if attempt or not heartbeats.ident:
                    self._jobs.record_heartbeat(self._name)
                    self._requeue_stalled()
                    self._work.log("Reconnected to the queue" if heartbeats.ident else "worker started")
                if not heartbeats.ident:
                    heartbeats.start()
                attempt = 0
                taken = self._jobs.take(self._name)
                if taken:
                    self._run_job(*taken)
                elif self._settings.ends_when_idle:
                    return
                else:
                    self._stopping.wait(_POLL_SECONDS)
            except StoreError as exc:
                self._log_failure("Cannot use the queue", exc)
                self._stopping.wait(_RECONNECT_DELAYS_SECONDS[min(attempt, len(_RECONNECT_DELAYS_SECONDS) - 1)])
                attempt += 1

    # --- heartbeats

    def _beat(self) -> None:
        """Write heartbeats, requeue jobs of dead workers and queue routine jobs until the worker stops."""
        while not self._stopping.is_set():
            with self._logging_failures("Cannot write the heartbeat"):
                self._jobs.record_heartbeat(self._name)
                self._requeue_stalled()
            if not self._settings.ends_when_idle:
                with self._logging_failures("Routine jobs cannot be queued"):
                    for kind, seconds in self._schedule().items():
                        self._jobs.add_if_due(kind, seconds)
            self._stopping.wait(self._settings.heartbeat_seconds)

    def _schedule(self) -> dict[str, float]:
        """Return the interval of each kind of routine job in seconds."""
        return dict.fromkeys(self._work.every_minute, _MINUTE) | dict.fromkeys(self._work.every_hour, _HOUR)

    @contextmanager
    def _logging_failures(self, what: str) -> Iterator[None]:
        """Log a storage error that the `with` block raises, and continue. `what` describes the failed action."""
        try:
            yield
        except StoreError as exc:
            self._log_failure(what, exc)

    def _requeue_stalled(self) -> None:
        if self._stopping.is_set():
            return
        for job in self._jobs.requeue_stalled(self._settings, self._name):
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
        self._work.interrupt()

    def _requeue_and_exit(self) -> None:
        """Requeue the running job and end the process immediately."""
        running = dict(self._running)
        with suppress(DeltosError):
            self._jobs.requeue(list(running), self._name)
        for label in running.values():
            self._work.log(f"{label} is returned to the queue")
        os._exit(0)

    # --- running a job

    def _run_job(self, job_id: int, request: JobRequest) -> None:
        label = f"job {job_id} ({' '.join(filter(None, (request.kind, request.subject)))})"
        is_routine = request.kind in self._schedule()
        log: Callable[[str], None] = (lambda _: None) if is_routine else self._work.log
        started_at = time.monotonic()
        self._running[job_id] = label
        try:
            log(f"{label} is started")
            self._work.by_kind[request.kind](request, _JobProgress(self._stopping))
        except Exception as exc:  # noqa: BLE001 (the worker's outermost handler: the failure is recorded and logged)
            if self._stopping.is_set():
                self._jobs.requeue([job_id], self._name)
                self._work.log(f"{label} is returned to the queue")
                return
            reason = self._describe(exc)
            self._work.log(f"{label} failed: {reason}")
            if is_routine:  # a routine job is not retried, because it is queued again regularly
                self._jobs.finish(job_id, self._name)
            else:
                self._jobs.record_failure(job_id, self._name, reason, self._settings)
        else:
            if self._jobs.finish(job_id, self._name):
                log(f"{label} is done after {time.monotonic() - started_at:.1f} s")
            else:
                log(f"{label} was assigned to another worker meanwhile")
        finally:
            self._running.pop(job_id, None)

    # --- log

    def _log_failure(self, what: str, exc: BaseException) -> None:
        self._work.log(f"{what}: {self._describe(exc)}")

    def _describe(self, exc: BaseException) -> str:
        """Return a one-line description of an error without the passwords of the connection string."""
        if isinstance(exc, OSError) and exc.errno in _DISK_FULL_ERRORS:
            where = f": {exc.filename}" if exc.filename else ""
            text = f"The worker's disk is full ({exc.strerror}){where}"
        else:
            message = " ".join(str(exc).split())
            text = message if isinstance(exc, DeltosError) else f"{type(exc).__name__}: {message}"
        if password := str(conninfo_to_dict(self._url).get("password") or ""):
            text = text.replace(password, "***").replace(quote(password, safe=""), "***")
        return text
