"""Work that is queued for workers: what is to be done, what became of it, and how a worker takes it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from deltos.progress import Progress

INDEX = "index"  # a project: its code, graph and history
CRAWL = "crawl"  # a source of documentation
READ = "read"  # a project's code, as a whole, for search by meaning
EMBED = "embed"  # vectors of documentation that has none of the present model
LOOK = "look"  # whether checkouts differ from their indexes
SWEEP = "sweep"  # blobs that nothing refers to any more

WAITING = "waiting"
RUNNING = "running"
SET_ASIDE = "set aside"


@dataclass(frozen=True, slots=True)
class Order:
    """Something to be done once, however many ask for it: a kind of work, and what it is about."""

    kind: str
    subject: str = ""
    arguments: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class JobRow:
    """An order in the queue. `failures` is how often it failed, `reason` how it did so last."""

    id: int
    kind: str
    subject: str
    state: str
    failures: int = 0
    reason: str = ""

    def told(self) -> str:
        """The job in a few words, for a person."""
        return f"job {self.id} ({self.kind} {self.subject})" if self.subject else f"job {self.id} ({self.kind})"


@dataclass(frozen=True, slots=True)
class WorkerRow:
    """A worker that was heard of `seconds_ago`, and the jobs that it carries out."""

    id: int
    seconds_ago: float
    job_ids: tuple[int, ...]


class Jobs(Protocol):
    """The queue as those see it who want something done."""

    def add(self, order: Order, *, is_waited_for: bool = False) -> JobRow:
        """Queue an order, unless it waits already or was set aside; what somebody waits for comes before the rest."""

    def find(self, order: Order) -> JobRow | None:
        """The order where it is queued, running or set aside; None when it is done or was never given."""

    def every(self) -> list[JobRow]:
        """All that waits, runs or was set aside, in the order in which it is taken."""

    def retry(self, job_id: int) -> JobRow:
        """Queue a job again that was set aside, with all its attempts; raises NotFound where there is none."""

    def drop(self, job_id: int) -> JobRow:
        """Forget a job that waits or was set aside; raises NotFound where there is none."""

    def has_worker(self) -> bool:
        """Whether any worker was heard of lately."""

    def workers(self) -> list[WorkerRow]:
        """Every worker that has not ended, or was not found dead yet; the one that was heard of last comes first."""


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """How a worker goes about its jobs."""

    heartbeat_seconds: float = 10.0
    attempts: int = 5  # a job that failed so often is set aside
    backoff_seconds: float = 5.0  # before the second attempt; each further one waits three times as long
    ends_when_idle: bool = False

    @property
    def silence_seconds(self) -> float:
        """A worker that was not heard of for so long has died, or is cut off: others take its jobs over."""
        return 3 * self.heartbeat_seconds


@dataclass(frozen=True, slots=True)
class Work:
    """What a worker can do: by kind of job, and by how often it is done without being asked for."""

    by_kind: Mapping[str, Callable[[Order, Progress], None]]
    every_minute: tuple[str, ...] = ()
    every_hour: tuple[str, ...] = ()
    interrupt: Callable[[], None] = lambda: None  # end at once what keeps a job from noticing that it shall stop
    say: Callable[[str], None] = lambda _line: None
