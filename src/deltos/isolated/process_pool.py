"""Pool of child processes that run functions within limits.

Idle children are reused, and dead children are replaced. `ProcessPool` is thread-safe. A waiting thread blocks in a
read and holds neither the interpreter lock nor another lock.
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

from deltos.errors import Cancelled, ParserCrashed, ParserStopped, TimeLimitExceeded
from deltos.isolated.launch import command, fixed_folder, parser_environment
from deltos.isolated.wire import Reply, Request, TaskLimits, read_frame, write_frame

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

IDLE_SECONDS = 60.0  # time after which an idle child is terminated
# The last idle child is kept longer, because its imports and caches are slow to rebuild.
LAST_IDLE_SECONDS = 600.0
# A request with more items runs in a separate process. The process exits afterwards, because Python would not release
# all of its memory.
LONG_ITEMS = 200
# Maximum number of concurrent single tasks. Bulk work does not count.
MAX_CONCURRENT_TASKS = 8
MAX_BULK_PROCESSES = 4  # maximum number of children for bulk work
# Size of the pipe buffer for unread replies (Linux only).
_PIPE_BYTES = 1 << 20
_END_TIMEOUT_SECONDS = 5.0  # maximum time for a killed child to exit

_T = TypeVar("_T")
_Item = TypeVar("_Item")


class ChildProcess:
    """A child process. Only one thread at a time may use it, but any thread may kill it."""

    def __init__(self, importable_from: Sequence[str] = ()) -> None:
        self._process = subprocess.Popen(
            command("deltos.isolated.child", importable_from=importable_from),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=fixed_folder(),
            env=parser_environment(),
            start_new_session=sys.platform != "win32",  # Ctrl-C must reach only the parent
        )
        self._requests, self._replies = cast("BinaryIO", self._process.stdin), cast("BinaryIO", self._process.stdout)
        _enlarge_buffer(self._replies)
        self._timed_out = False
        self._pending = 0
        self.is_fresh = True
        self.deadline = math.inf

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    @property
    def is_free(self) -> bool:
        """Whether the process is alive and has no pending replies."""
        return not self._pending and not self._timed_out and self._process.poll() is None

    def ask(self, request: Request) -> None:
        """Send a request. The caller must read one reply for each item."""
        self._pending = len(request.items)
        payload = pickle.dumps(request, pickle.HIGHEST_PROTOCOL)
        with suppress(OSError):  # the child has died, which `read_reply` reports
            write_frame(self._requests, payload)

    def read_reply(self, limits: TaskLimits) -> Reply:
        """Return the reply to the next item, or an error that says why the child died."""
        frame = read_frame(self._replies)
        if frame is None:
            return Reply(error=self._death_error(limits))
        self._pending -= 1
        self.is_fresh = False
        reply: Reply = pickle.loads(frame)  # noqa: S301 (from our child process)
        return reply

    def kill_overdue(self) -> None:
        """Kill the process because a task exceeded its time limit."""
        self._timed_out = True
        self.kill()

    def kill(self) -> None:
        """Kill the process immediately."""
        with suppress(OSError):
            self._process.kill()

    def end(self) -> None:
        """Kill the process, wait until it has exited, and close the pipes."""
        self.kill()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_TIMEOUT_SECONDS)
        for pipe in (self._requests, self._replies):
            with suppress(OSError):
                pipe.close()

    def _death_error(self, limits: TaskLimits) -> ParserStopped:
        """Return an error that says why the process died."""
        memory_bytes = _memory_limit(self.pid)  # must be read before `wait`, which removes the dead process
        code = self._process.wait()
        if self._timed_out:
            return TimeLimitExceeded(f"reading it took more than {limits.wall_seconds:.3g} s")
        if sys.platform != "win32" and code == -signal.SIGPROF:
            return TimeLimitExceeded(f"reading it took more than {limits.cpu_seconds:.3g} s of CPU time")
        if sys.platform != "win32" and code == -signal.SIGVTALRM:
            return TimeLimitExceeded("parsing exceeded the CPU time limit for a file of this size")
        # A parser written in C crashes when it cannot allocate memory. This cause is probable if the child had lowered
        # the memory limit for this file.
        had_own_limit = code < 0 and 0 < memory_bytes < limits.memory_bytes
        at_limit = ", probably at the memory limit for a file of this size" if had_own_limit else ""
        return ParserCrashed(f"the parser crashed ({_exit_name(code)}){at_limit}")


@dataclass(frozen=True, slots=True)
class _Job:
    """The child processes that work for one caller, and whether the caller has stopped them."""

    children: set[ChildProcess] = field(default_factory=set)
    stopped: threading.Event = field(default_factory=threading.Event)


class ProcessPool:
    """Pool of child processes, which are started on demand and terminated when idle."""

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
        self._idle: list[ChildProcess] = []
        self._busy: set[ChildProcess] = set()
        self._tasks = 0
        self._closed = False
        self._watcher: threading.Thread | None = None
        self._watcher_wakes_at = math.inf

    def run(self, function: Callable[..., _T], *arguments: Any, limits: TaskLimits) -> _T:
        """Run `function(*arguments)` in a child and return its result or raise its error.

        Raise ParserStopped if the child was killed.
        """
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
        """Run `function(*common, item)` for each item in one child, and return the replies."""
        with self._task_slot():
            return list(self._run_items(function, common, [(item, limits(item)) for item in items], _Job()))

    def stream(
        self,
        function: Callable[..., Any],
        common: tuple[Any, ...],
        items: Sequence[_Item],
        limits: Callable[[_Item], TaskLimits],
    ) -> Generator[Reply]:
        """Run `function(*common, item)` for each item, and yield the replies.

        MAX_CONCURRENT_TASKS does not limit these calls. All items share the `common` objects, which functions may use
        as caches.
        """
        is_long = len(items) > LONG_ITEMS
        if is_long:
            self._end_idle()
        return self._run_items(function, common, [(item, limits(item)) for item in items], _Job(), keep=not is_long)

    def start_ahead(self, function: Callable[..., Any], *common: Any) -> None:
        """Start an idle child in advance, which imports `function`."""
        with self._change:
            if self._idle or self._closed:
                return
        with self._acquire_child(_Job(), fresh=True) as child:
            child.ask(Request(function, common, ()))

    def run_batches(
        self,
        function: Callable[..., Any],
        common: tuple[Any, ...],
        batches: Sequence[Sequence[_Item]],
        limits: Callable[[_Item], TaskLimits],
    ) -> Iterator[list[tuple[_Item, Reply]]]:
        """Run `function(*common, item)` for all items in several children. Yield finished batches in any order."""
        from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait  # imported only for bulk work

        job = _Job()

        def work(batch: Sequence[_Item]) -> list[tuple[_Item, Reply]]:
            limited = [(item, limits(item)) for item in batch]
            return list(zip(batch, self._run_items(function, common, limited, job), strict=True))

        count = min(MAX_BULK_PROCESSES, os.cpu_count() or 1, len(batches))
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
                self._stop_job(job)

    def close(self) -> None:
        """Terminate all children. Waiting calls raise `Cancelled`."""
        with self._change:
            self._closed = True
            for child in self._busy:  # the thread that uses the killed child cleans it up
                child.kill()
            self._change.notify_all()
        self._end_idle()

    @contextmanager
    def _task_slot(self) -> Iterator[None]:
        """Wait until fewer than MAX_CONCURRENT_TASKS are running, and count a task in the `with` block."""
        with self._change:
            self._change.wait_for(lambda: self._tasks < MAX_CONCURRENT_TASKS)
            self._tasks += 1
        try:
            yield
        finally:
            with self._change:
                self._tasks -= 1
                self._change.notify_all()

    def _run_items(
        self,
        function: Callable[..., Any],
        common: tuple[Any, ...],
        items: Sequence[tuple[Any, TaskLimits]],
        job: _Job,
        *,
        keep: bool = True,
    ) -> Generator[Reply]:
        """Yield a reply for each item. If an item kills the child, the remaining items are sent to a new child."""
        done = 0
        while done < len(items):
            rest = tuple(items[done:])
            with self._acquire_child(job, fresh=done > 0, keep=keep) as child:
                child.ask(Request(function, common, rest))
                for reply in self._collect_replies(child, rest, job):
                    done += 1
                    yield reply

    def _collect_replies(
        self, child: ChildProcess, items: Sequence[tuple[Any, TaskLimits]], job: _Job
    ) -> Iterator[Reply]:
        """Yield the replies of a child until an item kills it.

        If earlier items may have caused the death of the child, no reply is yielded for the last item. The caller then
        retries this item in a new child.
        """
        for _, limits in items:
            was_fresh = child.is_fresh
            reply = self._await_reply(child, limits)
            if self._closed or job.stopped.is_set():
                raise _cancelled_error()
            if reply.error is not None and reply.is_about_request:
                raise reply.error
            is_stopped = isinstance(reply.error, ParserStopped)
            if is_stopped:
                child.kill()  # the child may be alive, but its memory is exhausted
            if not is_stopped or was_fresh or isinstance(reply.error, TimeLimitExceeded):
                yield reply
            if is_stopped:
                return

    def _await_reply(self, child: ChildProcess, limits: TaskLimits) -> Reply:
        with self._change:
            child.deadline = time.monotonic() + limits.wall_seconds
            if child.deadline < self._watcher_wakes_at:
                self._change.notify_all()
        try:
            return child.read_reply(limits)
        finally:
            child.deadline = math.inf

    @contextmanager
    def _acquire_child(self, job: _Job, *, fresh: bool, keep: bool = True) -> Iterator[ChildProcess]:
        """Provide an idle or new child for one request, and return it to the pool if it is still usable."""
        child = None if fresh else self._take_idle()
        child = child or ChildProcess(self._importable_from)
        try:
            with self._change:
                if self._closed or job.stopped.is_set():
                    raise _cancelled_error()
                self._busy.add(child)
                job.children.add(child)
                self._start_watcher()
            yield child
        finally:
            with self._change:
                self._busy.discard(child)
                job.children.discard(child)
                keep = keep and child.is_free and not self._closed
                if keep:
                    # The last child to become idle is reused first and kept longest.
                    child.deadline = time.monotonic() + self._last_idle_seconds
                    for other in self._idle:
                        other.deadline = min(other.deadline, time.monotonic() + self._idle_seconds)
                    self._idle.append(child)
                    self._change.notify_all()
            if not keep:
                child.end()

    def _take_idle(self) -> ChildProcess | None:
        while True:
            with self._change:
                if not self._idle:
                    return None
                child = self._idle.pop()
                child.deadline = math.inf
            if child.is_free:
                return child
            child.end()

    def _end_idle(self) -> None:
        with self._change:
            idle = tuple(self._idle)
            self._idle.clear()
        for child in idle:
            child.end()

    def _stop_job(self, job: _Job) -> None:
        with self._change:
            job.stopped.set()
            for child in job.children:
                child.kill()

    def _start_watcher(self) -> None:
        """Start the thread that kills children after their deadline."""
        if self._watcher is None:
            self._watcher = threading.Thread(target=self._watch_deadlines, name="deltos-workers", daemon=True)
            self._watcher.start()

    def _watch_deadlines(self) -> None:
        while True:
            expired = self._kill_overdue_children()
            for child in expired:
                child.end()
            with self._change:
                children = (*self._busy, *self._idle)
                if not children:
                    self._watcher = None
                    return
                self._watcher_wakes_at = min(child.deadline for child in children)
                self._change.wait(min(max(0.0, self._watcher_wakes_at - time.monotonic()), threading.TIMEOUT_MAX))

    def _kill_overdue_children(self) -> list[ChildProcess]:
        """Kill the children that exceed their time limit, and return the children that were idle for too long."""
        now = time.monotonic()
        with self._change:
            for child in self._busy:
                if child.deadline <= now:
                    child.deadline = math.inf
                    child.kill_overdue()
            expired = [child for child in self._idle if child.deadline <= now]
            self._idle = [child for child in self._idle if child not in expired]
        return expired


def _cancelled_error() -> Cancelled:
    return Cancelled("Reading was cancelled")


def _exit_name(code: int) -> str:
    """Return the name of the signal that killed a process, or its exit code."""
    try:
        return signal.Signals(-code).name if code < 0 else f"exit code {code}"
    except ValueError:
        return f"signal {-code}"


def _memory_limit(pid: int) -> int:
    """Return the address space limit of a child, which may be dead: 0 if unknown, negative if unlimited."""
    try:
        import resource

        return resource.prlimit(pid, resource.RLIMIT_AS)[0]
    except (ImportError, AttributeError, OSError):
        return 0


def _enlarge_buffer(pipe: BinaryIO) -> None:
    """Enlarge the buffer of a pipe, so that the child can continue while replies are unread."""
    try:
        import fcntl

        fcntl.fcntl(pipe.fileno(), fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
    except (ImportError, AttributeError, OSError):
        pass  # supported only on Linux, up to a system limit
