"""Parsing of untrusted content in child processes, with limits proportional to its size.

Content that exceeds a limit is recorded by its digest. It is not parsed again until it changes or another version of
Deltos is installed.
"""

from __future__ import annotations

import hashlib
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar, cast

from deltos import __version__
from deltos.errors import ParserStopped
from deltos.isolated.wire import Reply, TaskLimits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from deltos.isolated.process_pool import ProcessPool
    from deltos.store.unreadable_content import UnreadableContent

# Limit of CPU time per task, nine times the CPU time for the largest known pages.
CPU_SECONDS = 10.0
CPU_SECONDS_PER_MB = 1.0
# Elapsed time allowed per second of CPU time; generous, because the machine may be busy.
WALL_SECONDS_PER_CPU_SECOND = 6.0
MEMORY_BYTES = 1 << 30  # memory limit of a task
MEMORY_BYTES_PER_BYTE = 30  # additional memory for each byte of content
RESULT_BYTES = 32 << 20  # size limit of the result of a task
RESULT_BYTES_PER_BYTE = 4  # additional result size for each byte of content
# Maximum total size of the tasks in one request. Small tasks are grouped, because a request costs as much time as a
# small page.
_MAX_GROUP_BYTES = 250_000
_NO_RETRY_HINT = "It is not tried again until it changes."
_T = TypeVar("_T")


class Task(NamedTuple):
    """A call `function(*arguments)` that parses the untrusted `content`."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    content: tuple[bytes, ...]


class Parser(Protocol):
    """Interface for running functions that parse untrusted content."""

    def run(self, function: Callable[..., _T], *arguments: Any, content: Iterable[bytes]) -> _T:
        """Return the result of `function(*arguments)` or raise its error. Raise ParserStopped at a limit."""

    def run_all(self, tasks: Sequence[Task]) -> list[Reply]:
        """Run several tasks, and return the result or error of each."""


class IsolatedParser:
    """Parser that runs tasks in a child process. The lock `turn` is held during each task, to limit concurrency."""

    def __init__(
        self,
        workers: ProcessPool,
        stopped: UnreadableContent,
        *,
        limits: Callable[[int], TaskLimits] | None = None,
        turn: AbstractContextManager[object] | None = None,
    ) -> None:
        self._workers = workers
        self._stopped = stopped
        self._limits = limits or limits_for
        self._turn = turn or nullcontext()

    def taking_turns(self, turn: AbstractContextManager[object]) -> IsolatedParser:
        """Return a copy of this parser that holds the lock `turn` during each task."""
        return type(self)(self._workers, self._stopped, limits=self._limits, turn=turn)

    def run(self, function: Callable[..., _T], *arguments: Any, content: Iterable[bytes]) -> _T:
        """Return the result of `function(*arguments)` or raise its error. Raise ParserStopped at a limit."""
        (reply,) = self.run_all([Task(function, arguments, tuple(content))])
        if reply.error is not None:
            raise reply.error
        return cast("_T", reply.value)

    def run_all(self, tasks: Sequence[Task]) -> list[Reply]:
        """Run several tasks, and return the result or error of each. Small tasks are sent in groups."""
        digests = list(map(_task_digest, tasks))
        replies: dict[int, Reply] = {}
        for position, digest in enumerate(digests):
            if reason := self._stopped.reason(digest):
                replies[position] = Reply(error=ParserStopped(reason, hint=_NO_RETRY_HINT))
        waiting = [position for position in range(len(tasks)) if position not in replies]
        for group in _group_small_tasks(tasks, waiting):
            together = self._try_together([tasks[position] for position in group])
            if together is None:
                together = [self._run_separately(tasks[position], digests[position]) for position in group]
            replies.update(zip(group, together, strict=True))
        return [replies[position] for position in range(len(tasks))]

    def _try_together(self, tasks: Sequence[Task]) -> list[Reply] | None:
        """Run tasks in one request. Return None if a limit is exceeded, because the tasks must then run one by one."""
        if len(tasks) == 1:
            return None
        calls = [(task.function, task.arguments) for task in tasks]
        try:
            with self._turn:
                return self._workers.run(run_together, calls, limits=self._limits(sum(map(_content_bytes, tasks))))
        except Exception:  # noqa: BLE001 (the tasks are run again one by one, which reports the error)
            return None

    def _run_separately(self, task: Task, digest: bytes) -> Reply:
        try:
            with self._turn:
                return Reply(
                    self._workers.run(task.function, *task.arguments, limits=self._limits(_content_bytes(task)))
                )
        except ParserStopped as exc:
            self._stopped.record(digest, exc.message)
            return Reply(error=ParserStopped(exc.message, hint=_NO_RETRY_HINT))
        except Exception as exc:  # noqa: BLE001 (returned to the caller)
            return Reply(error=exc)


def run_together(calls: Sequence[tuple[Callable[..., Any], tuple[Any, ...]]]) -> list[Reply]:
    """Run several calls in a child process, and return their replies."""
    return [_call_and_reply(function, arguments) for function, arguments in calls]


def _call_and_reply(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Reply:
    try:
        return Reply(function(*arguments))
    except MemoryError:
        raise  # other tasks may use the memory
    except Exception as exc:  # noqa: BLE001 (returned to the caller)
        return Reply(error=exc)


def limits_for(size_bytes: int) -> TaskLimits:
    """Return the limits for parsing content of `size_bytes`."""
    cpu_seconds = CPU_SECONDS + CPU_SECONDS_PER_MB * size_bytes / 1_000_000
    return TaskLimits(
        cpu_seconds=cpu_seconds,
        wall_seconds=cpu_seconds * WALL_SECONDS_PER_CPU_SECOND,
        memory_bytes=MEMORY_BYTES + MEMORY_BYTES_PER_BYTE * size_bytes,
        result_bytes=RESULT_BYTES + RESULT_BYTES_PER_BYTE * size_bytes,
    )


def _group_small_tasks(tasks: Sequence[Task], positions: Iterable[int]) -> Iterator[list[int]]:
    """Yield groups of task positions: consecutive small tasks together, and large tasks separately."""
    group: list[int] = []
    size = 0
    for position in positions:
        if group and size + _content_bytes(tasks[position]) > _MAX_GROUP_BYTES:
            yield group
            group, size = [], 0
        group.append(position)
        size += _content_bytes(tasks[position])
    if group:
        yield group


def _content_bytes(task: Task) -> int:
    return sum(map(len, task.content))


def _task_digest(task: Task) -> bytes:
    """Return the digest of a task, which depends on its function, its content and the version of Deltos."""
    name = f"{__version__} {task.function.__module__}.{task.function.__qualname__}"
    hasher = hashlib.blake2b(name.encode(), digest_size=16)
    for piece in task.content:
        hasher.update(len(piece).to_bytes(8))
        hasher.update(piece)
    return hasher.digest()
