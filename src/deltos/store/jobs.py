"""Protocol and row types of the job queue.

A job that failed too often is set aside: it remains in the queue and does not run until a user retries it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from deltos.progress import Progress

# Kinds of jobs; the values are stored in the queue.
INDEX = "index"  # index code, graph and history of a project
CRAWL = "crawl"  # crawl a documentation source
CHECK_FRESHNESS = "look"  # find projects whose index is not up to date
SWEEP_BLOBS = "sweep"  # delete blobs that no file refers to

WAITING = "waiting"
RUNNING = "running"
SET_ASIDE = "set aside"


@dataclass(frozen=True, slots=True)
class JobRequest:
    """Request for a job. Equal requests from several callers are executed once.

    `subject` is the path of a project or the id of a documentation source.
    """

    kind: str
    subject: str = ""
    arguments: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class JobRow:
    """A job in the queue. `failures` is the number of failed attempts, `reason` describes the last failure."""

    id: int
    kind: str
    subject: str
    state: str
    failures: int = 0
    reason: str = ""

    def describe(self) -> str:
        """Return a short description of the job for users."""
        return f"job {self.id} ({self.kind} {self.subject})" if self.subject else f"job {self.id} ({self.kind})"


@dataclass(frozen=True, slots=True)
class WorkerRow:
    """A worker process, with the number of seconds since the last heartbeat and the ids of running jobs."""

    id: int
    seconds_ago: float
    job_ids: tuple[int, ...]


class Jobs(Protocol):
    """Job queue, as used by callers that request work. A job that failed too often is set aside."""

    def add(self, request: JobRequest, *, is_waited_for: bool = False) -> JobRow:
        """Queue a request and return the job. An equal job that is waiting or set aside is returned instead.

        `is_waited_for` raises the priority, because a caller waits for the result.
        """

    def find(self, request: JobRequest) -> JobRow | None:
        """Return the queued, running or set-aside job of a request, or None if there is none."""

    def all(self) -> list[JobRow]:
        """Return all jobs that are waiting, running or set aside, in queue order."""

    def retry(self, job_id: int) -> JobRow:
        """Queue a set-aside job again, with no failures counted. Raise NotFound if there is no such job."""

    def drop(self, job_id: int) -> JobRow:
        """Delete a job that is waiting or set aside. Raise NotFound if there is no such job."""

    def has_worker(self) -> bool:
        """Whether any worker sent a heartbeat recently."""

    def workers(self) -> list[WorkerRow]:
        """Return all workers that have neither ended nor been found dead, most recent heartbeat first."""


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """Timing and limits of a worker."""

    heartbeat_seconds: float = 10.0
    attempts: int = 5  # number of failures after which a job is not retried automatically
    backoff_seconds: float = 5.0  # delay before the second attempt; tripled for each further attempt
    ends_when_idle: bool = False

    @property
    def silence_seconds(self) -> float:
        """Seconds without a heartbeat after which a worker counts as dead and its jobs are requeued."""
        return 3 * self.heartbeat_seconds


@dataclass(frozen=True, slots=True)
class JobHandlers:
    """Functions that run the jobs of each kind, and the kinds of jobs that a worker queues regularly."""

    by_kind: Mapping[str, Callable[[JobRequest, Progress], None]]
    every_minute: tuple[str, ...] = ()
    every_hour: tuple[str, ...] = ()
    interrupt: Callable[[], None] = lambda: None  # interrupts the running job at a shutdown
    log: Callable[[str], None] = lambda _line: None
