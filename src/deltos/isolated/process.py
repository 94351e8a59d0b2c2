"""The parent's side: children that run our functions within limits, kept for the next task and replaced when they die.

Any thread may use `Workers`. Whoever waits for a child waits in a read, which holds neither the interpreter nor a lock.
"""

from __future__ import annotations

import math
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar, cast

from deltos.errors import Cancelled, ParserCrashed, ReadingStopped, TookTooLong
from deltos.isolated.launch import command, fixed_folder, parser_environment
from deltos.isolated.wire import Reply, Request, TaskLimits, read_frame, write_frame

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

IDLE_SECONDS = 60.0
# The last one stays for longer: its imports and caches are slow to build again.
LAST_IDLE_SECONDS = 600.0
# After so many items a child holds memory that Python does not give back: it ends, and starts without others idling.
LONG_ITEMS = 200
# Single tasks at once; the next one waits. Bulk work has children of its own.
MOST_AT_ONCE = 8
MOST_FOR_BULK = 4
# Room for results that the parent has not fetched yet, where the system lets us choose.
_PIPE_BYTES = 1 << 20
_END_SECONDS = 5.0

_T = TypeVar("_T")
_Item = TypeVar("_Item")


class Worker:
    """One child process. One thread at a time uses it; any may kill it."""

    def __init__(self, importable_from: Sequence[str] = ()) -> None:
        self._process = subprocess.Popen(
            command("deltos.isolated.child", importable_from=importable_from),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=fixed_folder(),
            env=parser_environment(),
            start_new_session=sys.platform != "win32",  # Ctrl-C in a terminal is for the parent alone
        )
        self._requests, self._replies = cast("BinaryIO", self._process.stdin), cast("BinaryIO", self._process.stdout)
        _widen(self._replies)
        self._timed_out = False
        self._pending = 0
        self.is_fresh = True
        self.deadline = math.inf

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def is_free(self) -> bool:
        """Whether it lives and owes no reply."""
        return not self._pending and not self._timed_out and self._process.poll() is None

    def ask(self, request: Request) -> None:
        """Send a request; `reply` brings what comes of its items, one by one."""
        self._pending = len(request.items)
        payload = pickle.dumps(request, pickle.HIGHEST_PROTOCOL)
        with suppress(OSError):  # it has died: reading will tell
            write_frame(self._requests, payload)

    def reply(self, limits: TaskLimits) -> Reply:
        """What came of the next item. A child that dies over it, or is killed, is told as the error that it is."""
        frame = read_frame(self._replies)
        if frame is None:
            return Reply(error=self._cause_of_death(limits))
        self._pending -= 1
        self.is_fresh = False
        reply: Reply = pickle.loads(frame)  # noqa: S301 (from our own child)
        return reply

    def time_out(self) -> None:
        """Kill it because its task takes too long."""
        self._timed_out = True
        self.kill()

    def kill(self) -> None:
        """End it now, whatever it does."""
        with suppress(OSError):
            self._process.kill()

    def end(self) -> None:
        """Kill it and let the system forget it."""
        self.kill()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_SECONDS)
        for pipe in (self._requests, self._replies):
            with suppress(OSError):
                pipe.close()

    def _cause_of_death(self, limits: TaskLimits) -> ReadingStopped:
        memory_bytes = _memory_limit(self.pid)  # as long as nobody has asked how it ended, the system knows
        code = self._process.wait()
        if self._timed_out:
            return TookTooLong(f"reading it took more than {limits.wall_seconds:.3g} s")
        if sys.platform != "win32" and code == -signal.SIGPROF:
            return TookTooLong(f"reading it took more than {limits.cpu_seconds:.3g} s of CPU time")
        if sys.platform != "win32" and code == -signal.SIGVTALRM:
            return TookTooLong("parsing it took more CPU time than a file of this size may")
        # A parser in C that gets no memory crashes like any other; that it had a limit of its own is what can be known.
        had_bound = code < 0 and 0 < memory_bytes < limits.memory_bytes
        at_limit = ", probably at its limit of memory for a file of this size" if had_bound else ""
        return ParserCrashed(f"the parser crashed ({_exit_name(code)}){at_limit}")


@dataclass(frozen=True, slots=True)
class _Job:
    """What one caller has running: the children that work for it, and whether it still waits."""

    workers: set[Worker] = field(default_factory=set)
    stopped: threading.Event = field(default_factory=threading.Event)


class Workers:
    """Children for single tasks and for bulk work. They start when needed and end when they have long been idle."""

    def __init__(
        self,
        *,
        importable_from: Sequence[str] = (),
        idle_seconds: float = IDLE_SECONDS,
        last_idle_seconds: float = LAST_IDLE_SECONDS,
    ) -> None:
        self._importable_from = tuple(importable_from)
        self._idle_seconds = idle_seconds
        self._last_idle_seconds = last_idle_seconds
        self._change = threading.Condition()
        self._idle: list[Worker] = []
        self._busy: set[Worker] = set()
        self._tasks = 0
        self._closed = False
        self._keeper: threading.Thread | None = None
        self._keeper_wakes_at = math.inf

    def run(self, function: Callable[..., _T], *arguments: Any, limits: TaskLimits) -> _T:
        """What `function(*arguments)` returns or raises in a child; raises ReadingStopped when it had to be ended."""
        *common, item = arguments
        (reply,) = self.run_each(function, tuple(common), [item], lambda _: limits)
        if reply.error is not None:
            raise reply.error
        return cast("_T", reply.value)

    def run_each(
        self,
        function: Callable[..., Any],
        common: tuple[Any, ...],
        items: Sequence[_Item],
        limits: Callable[[_Item], TaskLimits],
    ) -> list[Reply]:
        """What came of `function(*common, item)` for each item, one after the other in a child."""
        with self._turn():
            return list(self._replies(function, common, [(item, limits(item)) for item in items], _Job()))

    def stream(
        self,
        function: Callable[..., Any],
        common: tuple[Any, ...],
        items: Sequence[_Item],
        limits: Callable[[_Item], TaskLimits],
    ) -> Generator[Reply]:
        """The same for long work, as the replies come; it does not count towards the limit of single tasks.

        A child has one `common` for all its items, and can keep there what it has learnt.
        """
        is_long = len(items) > LONG_ITEMS
        if is_long:
            self._end_idle()
        return self._replies(function, common, [(item, limits(item)) for item in items], _Job(), keep=not is_long)

    def start_ahead(self, function: Callable[..., Any], *common: Any) -> None:
        """Have a child that is idle, with `function` and what it needs imported, by the time that it is wanted."""
        with self._change:
            if self._idle or self._closed:
                return
        with self._worker(_Job(), fresh=True) as worker:
            worker.ask(Request(function, common, ()))

    def run_batches(
        self,
        function: Callable[..., Any],
        common: tuple[Any, ...],
        batches: Sequence[Sequence[_Item]],
        limits: Callable[[_Item], TaskLimits],
    ) -> Iterator[list[tuple[_Item, Reply]]]:
        """`function(*common, item)` for all items in several children; batches come in any order, items in theirs."""
        from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait  # deferred: single tasks need none

        job = _Job()

        def work(batch: Sequence[_Item]) -> list[tuple[_Item, Reply]]:
            limited = [(item, limits(item)) for item in batch]
            return list(zip(batch, self._replies(function, common, limited, job), strict=True))

        count = min(MOST_FOR_BULK, os.cpu_count() or 1, len(batches))
        todo = iter(batches)
        with ThreadPoolExecutor(max(1, count), thread_name_prefix="deltos-bulk") as threads:
            running = {threads.submit(work, batch) for batch in islice(todo, count + 1)}
            try:
                while running:
                    done, running = wait(running, return_when=FIRST_COMPLETED)
                    running |= {threads.submit(work, batch) for batch in islice(todo, len(done))}
                    for future in done:
                        yield future.result()
            finally:
                for future in running:
                    future.cancel()
                self._stop(job)

    def close(self) -> None:
        """End all children now; callers that wait for one get `Cancelled`."""
        with self._change:
            self._closed = True
            for worker in self._busy:  # the thread that uses it ends it
                worker.kill()
            self._change.notify_all()
        self._end_idle()

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """One of the slots for single tasks."""
        with self._change:
            self._change.wait_for(lambda: self._tasks < MOST_AT_ONCE)
            self._tasks += 1
        try:
            yield
        finally:
            with self._change:
                self._tasks -= 1
                self._change.notify_all()

    def _replies(
        self,
        function: Callable[..., Any],
        common: tuple[Any, ...],
        items: Sequence[tuple[Any, TaskLimits]],
        job: _Job,
        *,
        keep: bool = True,
    ) -> Generator[Reply]:
        """A reply for each item. A child that an item ends is replaced by a fresh one, and the rest go to that."""
        done = 0
        while done < len(items):
            rest = tuple(items[done:])
            with self._worker(job, fresh=done > 0, keep=keep) as worker:
                worker.ask(Request(function, common, rest))
                for reply in self._collect(worker, rest, job):
                    done += 1
                    yield reply

    def _collect(self, worker: Worker, items: Sequence[tuple[Any, TaskLimits]], job: _Job) -> Iterator[Reply]:
        """The replies of one child, up to an item that ends it; without that where a fresh one has to try it again."""
        for _, limits in items:
            was_fresh = worker.is_fresh
            reply = self._await(worker, limits)
            if self._closed or job.stopped.is_set():
                raise _cancelled()
            if reply.error is not None and reply.is_about_request:
                raise reply.error
            is_stopped = isinstance(reply.error, ReadingStopped)
            if is_stopped:
                worker.kill()  # it may live, with its memory used up
            if not is_stopped or was_fresh or isinstance(reply.error, TookTooLong):  # else it may have died of others
                yield reply
            if is_stopped:
                return

    def _await(self, worker: Worker, limits: TaskLimits) -> Reply:
        with self._change:
            worker.deadline = time.monotonic() + limits.wall_seconds
            if worker.deadline < self._keeper_wakes_at:
                self._change.notify_all()
        try:
            return worker.reply(limits)
        finally:
            worker.deadline = math.inf

    @contextmanager
    def _worker(self, job: _Job, *, fresh: bool, keep: bool = True) -> Iterator[Worker]:
        """A child for one request: one that is idle, or a new one; kept afterwards if it is still of use."""
        worker = None if fresh else self._take_idle()
        worker = worker or Worker(self._importable_from)
        try:
            with self._change:
                if self._closed or job.stopped.is_set():
                    raise _cancelled()
                self._busy.add(worker)
                job.workers.add(worker)
                self._keep_watch()
            yield worker
        finally:
            with self._change:
                self._busy.discard(worker)
                job.workers.discard(worker)
                keep = keep and worker.is_free and not self._closed
                if keep:
                    # Those that were idle before it go first; `_take_idle` takes the one that came last.
                    worker.deadline = time.monotonic() + self._last_idle_seconds
                    for other in self._idle:
                        other.deadline = min(other.deadline, time.monotonic() + self._idle_seconds)
                    self._idle.append(worker)
                    self._change.notify_all()
            if not keep:
                worker.end()

    def _take_idle(self) -> Worker | None:
        while True:
            with self._change:
                if not self._idle:
                    return None
                worker = self._idle.pop()
                worker.deadline = math.inf
            if worker.is_free:
                return worker
            worker.end()

    def _end_idle(self) -> None:
        with self._change:
            idle = tuple(self._idle)
            self._idle.clear()
        for worker in idle:
            worker.end()

    def _stop(self, job: _Job) -> None:
        with self._change:
            job.stopped.set()
            for worker in job.workers:
                worker.kill()

    def _keep_watch(self) -> None:
        """Have a thread that kills what takes too long and ends what is idle for too long."""
        if self._keeper is None:
            self._keeper = threading.Thread(target=self._watch, name="deltos-workers", daemon=True)
            self._keeper.start()

    def _watch(self) -> None:
        while True:
            expired = self._expire()
            for worker in expired:
                worker.end()
            with self._change:
                workers = (*self._busy, *self._idle)
                if not workers:
                    self._keeper = None
                    return
                self._keeper_wakes_at = min(worker.deadline for worker in workers)
                self._change.wait(min(max(0.0, self._keeper_wakes_at - time.monotonic()), threading.TIMEOUT_MAX))

    def _expire(self) -> list[Worker]:
        """Kill children that work for too long; end those that were idle for too long."""
        now = time.monotonic()
        with self._change:
            for worker in self._busy:
                if worker.deadline <= now:
                    worker.deadline = math.inf
                    worker.time_out()
            expired = [worker for worker in self._idle if worker.deadline <= now]
            self._idle = [worker for worker in self._idle if worker not in expired]
        return expired


def _cancelled() -> Cancelled:
    return Cancelled("Reading was cancelled")


def _exit_name(code: int) -> str:
    try:
        return signal.Signals(-code).name if code < 0 else f"exit code {code}"
    except ValueError:
        return f"signal {-code}"


def _memory_limit(pid: int) -> int:
    """The limit of address space that a child has, or had when it died; 0 where unknown, negative for none."""
    try:
        import resource

        return resource.prlimit(pid, resource.RLIMIT_AS)[0]
    except (ImportError, AttributeError, OSError):
        return 0


def _widen(pipe: BinaryIO) -> None:
    """Enlarge the pipe's buffer, so that a child goes on before its results are fetched."""
    try:
        import fcntl

        fcntl.fcntl(pipe.fileno(), fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
    except (ImportError, AttributeError, OSError):
        pass  # only Linux can, and only up to a limit
