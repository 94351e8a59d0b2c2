"""Protocol and rows of the job queue: requests, their state, and the tasks of a worker."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from deltos.progress import Progress

# Kinds of jobs; the values are stored in the queue.
INDEX = "index"  # index code, graph and history of a project
CRAWL = "crawl"  # crawl a documentation source
CHECK_FRESHNESS = "look"  # find checkouts that differ from their indexes
SWEEP_BLOBS = "sweep"  # delete blobs that no file refers to

WAITING = "waiting"
RUNNING = "running"
SET_ASIDE = "set aside"


@dataclass(frozen=True, slots=True)
class JobRequest:
    """A job to run once, even if several callers request it: a kind of work and its subject."""

    kind: str
    subject: str = ""
    arguments: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class JobRow:
    """A job in the queue. `failures` is its number of failures, `reason` the last one."""

    id: int
    kind: str
    subject: str
    state: str
    failures: int = 0
    reason: str = ""

    def describe(self) -> str:
        """Return a short description of the job for the user."""
        return f"job {self.id} ({self.kind} {self.subject})" if self.subject else f"job {self.id} ({self.kind})"


@dataclass(frozen=True, slots=True)
class WorkerRow:
    """A worker, the seconds since its last heartbeat, and the jobs that it is running."""

    id: int
    seconds_ago: float
    job_ids: tuple[int, ...]


class Jobs(Protocol):
    """The queue as seen by callers that request work."""

    def add(self, request: JobRequest, *, is_waited_for: bool = False) -> JobRow:
        """Queue a request unless it is queued or set aside; `is_waited_for` gives it priority. Return the job."""

    def find(self, request: JobRequest) -> JobRow | None:
        """Return the job of a request that is queued, running or set aside; None if it is done or was never added."""

    def all(self) -> list[JobRow]:
        """Return all jobs that are waiting, running or set aside, in queue order."""

    def retry(self, job_id: int) -> JobRow:
        """Queue a set-aside job again with all its attempts; raise NotFound if there is none with that id."""

    def drop(self, job_id: int) -> JobRow:
        """Delete a job that is waiting or set aside; raise NotFound if there is none with that id."""

    def has_worker(self) -> bool:
        """Whether any worker sent a heartbeat recently."""

    def workers(self) -> list[WorkerRow]:
        """Return every worker that has not ended and was not found dead, most recent heartbeat first."""


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """Timing and limits of a worker."""

    heartbeat_seconds: float = 10.0
    attempts: int = 5  # a job that failed this often is set aside
    backoff_seconds: float = 5.0  # before the second attempt; tripled for each further one
    ends_when_idle: bool = False

    @property
    def silence_seconds(self) -> float:
        """Seconds without a heartbeat after which a worker counts as dead or disconnected, and its jobs are
        requeued."""
        return 3 * self.heartbeat_seconds


@dataclass(frozen=True, slots=True)
class JobHandlers:
    """The functions of a worker by kind of job, and the routine jobs that it queues itself."""

    by_kind: Mapping[str, Callable[[JobRequest, Progress], None]]
    every_minute: tuple[str, ...] = ()
    every_hour: tuple[str, ...] = ()
    interrupt: Callable[[], None] = lambda: None  # interrupt the running job, so that it notices the shutdown
    log: Callable[[str], None] = lambda _line: None
