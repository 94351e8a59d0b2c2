"""Parse what comes from outside where it can be stopped: in a child process, within limits that grow with its size.

What exceeded a limit is remembered by its content and not tried again until that changes, or until another version of
Deltos may read it better.
"""

from __future__ import annotations

import hashlib
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar, cast

from deltos import __version__
from deltos.errors import ReadingStopped
from deltos.isolated.wire import Reply, TaskLimits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from deltos.isolated.process import Workers
    from deltos.store.unreadable_content import UnreadableContent

# The largest real pages took a ninth of this: docs/docs.md.
CPU_SECONDS = 10.0
CPU_SECONDS_PER_MB = 1.0
WALL_PER_CPU_SECOND = 6.0  # the clock also runs while a machine is busy with others
MEMORY_BYTES = 1 << 30
MEMORY_PER_BYTE = 30
RESULT_BYTES = 32 << 20
RESULT_PER_BYTE = 4
# Small tasks go to the child together: to wait for it costs as much as to parse a small page.
_TOGETHER_BYTES = 250_000
_NOT_AGAIN = "It is not tried again until it changes."
_T = TypeVar("_T")


class Task(NamedTuple):
    """`function(*arguments)` interprets `content`, which comes from outside."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    content: tuple[bytes, ...]


class Parser(Protocol):
    """Runs functions that interpret content from outside."""

    def run(self, function: Callable[..., _T], *arguments: Any, content: Iterable[bytes]) -> _T:
        """What `function(*arguments)` returns or raises; raises ReadingStopped when `content` takes too much."""

    def run_all(self, tasks: Sequence[Task]) -> list[Reply]:
        """What comes of several tasks, each for itself."""


class GuardedParser:
    """Runs them in a child process; `turn` is held meanwhile, so that bulk work leaves children to others."""

    def __init__(
        self,
        workers: Workers,
        stopped: UnreadableContent,
        *,
        limits: Callable[[int], TaskLimits] | None = None,
        turn: AbstractContextManager[object] | None = None,
    ) -> None:
        self._workers = workers
        self._stopped = stopped
        self._limits = limits or limits_for
        self._turn = turn or nullcontext()

    def taking_turns(self, turn: AbstractContextManager[object]) -> GuardedParser:
        """The same, for work that waits for its turn before every task."""
        return type(self)(self._workers, self._stopped, limits=self._limits, turn=turn)

    def run(self, function: Callable[..., _T], *arguments: Any, content: Iterable[bytes]) -> _T:
        """What `function(*arguments)` returns or raises; raises ReadingStopped when `content` takes too much."""
        (reply,) = self.run_all([Task(function, arguments, tuple(content))])
        if reply.error is not None:
            raise reply.error
        return cast("_T", reply.value)

    def run_all(self, tasks: Sequence[Task]) -> list[Reply]:
        """What comes of several tasks, each for itself; small ones share a way to the child and back."""
        digests = list(map(_digest, tasks))
        replies: dict[int, Reply] = {}
        for position, digest in enumerate(digests):
            if reason := self._stopped.reason(digest):
                replies[position] = Reply(error=ReadingStopped(reason, hint=_NOT_AGAIN))
        waiting = [position for position in range(len(tasks)) if position not in replies]
        for group in _groups(tasks, waiting):
            together = self._try_together([tasks[position] for position in group])
            if together is None:
                together = [self._alone(tasks[position], digests[position]) for position in group]
            replies.update(zip(group, together, strict=True))
        return [replies[position] for position in range(len(tasks))]

    def _try_together(self, tasks: Sequence[Task]) -> list[Reply] | None:
        """None when they have to be run one by one: one of them is to blame, and only that one."""
        if len(tasks) == 1:
            return None
        calls = [(task.function, task.arguments) for task in tasks]
        try:
            with self._turn:
                return self._workers.run(run_together, calls, limits=self._limits(sum(map(_size, tasks))))
        except Exception:  # noqa: BLE001 (tried again one by one, and then told)
            return None

    def _alone(self, task: Task, digest: bytes) -> Reply:
        try:
            with self._turn:
                return Reply(self._workers.run(task.function, *task.arguments, limits=self._limits(_size(task))))
        except ReadingStopped as exc:
            self._stopped.remember(digest, exc.message)
            return Reply(error=ReadingStopped(exc.message, hint=_NOT_AGAIN))
        except Exception as exc:  # noqa: BLE001 (whoever asked is told)
            return Reply(error=exc)


def run_together(calls: Sequence[tuple[Callable[..., Any], tuple[Any, ...]]]) -> list[Reply]:
    """Several tasks, in the child."""
    return [_reply(function, arguments) for function, arguments in calls]


def _reply(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Reply:
    try:
        return Reply(function(*arguments))
    except MemoryError:
        raise  # not to be taken for an error in the content
    except Exception as exc:  # noqa: BLE001 (whoever asked is told)
        return Reply(error=exc)


def limits_for(size_bytes: int) -> TaskLimits:
    """What parsing content of a size may take."""
    cpu_seconds = CPU_SECONDS + CPU_SECONDS_PER_MB * size_bytes / 1_000_000
    return TaskLimits(
        cpu_seconds=cpu_seconds,
        wall_seconds=cpu_seconds * WALL_PER_CPU_SECOND,
        memory_bytes=MEMORY_BYTES + MEMORY_PER_BYTE * size_bytes,
        result_bytes=RESULT_BYTES + RESULT_PER_BYTE * size_bytes,
    )


def _groups(tasks: Sequence[Task], positions: Iterable[int]) -> Iterator[list[int]]:
    """Consecutive tasks that together are small; a large one is alone."""
    group: list[int] = []
    size = 0
    for position in positions:
        if group and size + _size(tasks[position]) > _TOGETHER_BYTES:
            yield group
            group, size = [], 0
        group.append(position)
        size += _size(tasks[position])
    if group:
        yield group


def _size(task: Task) -> int:
    return sum(map(len, task.content))


def _digest(task: Task) -> bytes:
    """The content's identity for a parser: another version of it may do better."""
    name = f"{__version__} {task.function.__module__}.{task.function.__qualname__}"
    hasher = hashlib.blake2b(name.encode(), digest_size=16)
    for piece in task.content:
        hasher.update(len(piece).to_bytes(8))
        hasher.update(piece)
    return hasher.digest()
