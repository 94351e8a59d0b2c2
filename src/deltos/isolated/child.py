"""The child's side: runs what it is asked to, within limits that the system enforces, and ends with its parent.

On Linux and macOS a signal ends a task that takes too much CPU time, even while C code holds the interpreter. Memory
is limited on Linux; macOS accepts that limit without enforcing it. Windows has neither: there the parent's clock ends a
task, or a timer of our own should the parent have gone. A child is no sandbox: it runs our code, with our rights.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import traceback
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from deltos.errors import ParserCrashed, TookTooMuchMemory
from deltos.isolated.wire import Reply, read_frame, write_frame

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deltos.isolated.wire import Request, TaskLimits


def main() -> int:
    """Answer requests until there are no more."""
    requests, replies = _claim_pipes()
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):  # sent to all of us, they are the parent's to handle: we end with it
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    _prepare(requests.fileno())
    with suppress(BrokenPipeError):
        while (frame := read_frame(requests)) is not None:
            for payload in _answers(frame, requests.fileno()):
                write_frame(replies, payload)
    return 0


def _claim_pipes() -> tuple[BinaryIO, BinaryIO]:
    """Keep stdin and stdout for ourselves: whatever prints, prints to stderr, and nothing else can read requests."""
    requests, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return requests, replies


def _answers(frame: bytes, lifeline: int) -> Iterator[bytes]:
    try:
        request: Request = pickle.loads(frame)  # noqa: S301 (from our own parent)
    except Exception as exc:  # noqa: BLE001 (the end of a process is a surface: the parent is told)
        yield _encoded(Reply(error=exc, is_about_request=True))
        return
    for item, limits in request.items:
        with _limited(limits), _ending_with_parent(lifeline):
            payload = _run(request, item, limits)
        yield payload


def _run(request: Request, item: object, limits: TaskLimits) -> bytes:
    """The encoded reply for one item. Encoding counts too: a result can be larger than what it was made of."""
    try:
        payload = pickle.dumps(Reply(request.function(*request.common, item)), pickle.HIGHEST_PROTOCOL)
    except MemoryError:
        return _encoded(Reply(error=_too_much_memory(limits)))
    except Exception as exc:  # noqa: BLE001 (whoever asked is told)
        return _encoded(Reply(error=exc))
    if len(payload) > limits.result_bytes:
        return _encoded(
            Reply(error=TookTooMuchMemory(f"what was read of it takes more than {limits.result_bytes >> 20} MB"))
        )
    return payload


def _too_much_memory(limits: TaskLimits) -> TookTooMuchMemory:
    return TookTooMuchMemory(f"reading it took more than {limits.memory_bytes >> 20} MB of memory")


def _encoded(reply: Reply) -> bytes:
    """A reply with an error; one that does not survive the way is told in words."""
    if reply.error is not None:
        reply.error.add_note("In a process of its own:\n" + "".join(traceback.format_exception(reply.error)).rstrip())
    try:
        payload = pickle.dumps(reply, pickle.HIGHEST_PROTOCOL)
        pickle.loads(payload)  # noqa: S301 (our own)
    except Exception:  # noqa: BLE001 (an error of any class may refuse)
        return pickle.dumps(Reply(error=ParserCrashed(f"{type(reply.error).__name__}: {reply.error}")))
    return payload


@contextmanager
def _limited(limits: TaskLimits) -> Iterator[None]:
    """End this process when its task takes too much CPU time; let allocations beyond the limit fail."""
    _limit_memory(limits.memory_bytes)
    _start_timer(limits)
    try:
        yield
    finally:
        _stop_timer()


@contextmanager
def _ending_with_parent(lifeline: int) -> Iterator[None]:
    """End at once when the parent goes: nothing else can arrive during a task, so any news on the pipe is its end."""
    _end_on_news(lifeline, on=True)
    try:
        yield
    finally:
        _end_on_news(lifeline, on=False)


if sys.platform == "win32":
    import faulthandler

    def _prepare(lifeline: int) -> None:
        pass

    def _limit_memory(limit_bytes: int) -> None:
        pass

    def _start_timer(limits: TaskLimits) -> None:
        # The parent ends a child that takes too long; this is for a parent that has gone.
        faulthandler.dump_traceback_later(limits.wall_seconds * 2, exit=True)

    def _stop_timer() -> None:
        faulthandler.cancel_dump_traceback_later()

    def _end_on_news(lifeline: int, *, on: bool) -> None:
        pass

else:
    import fcntl
    import resource
    import select

    _STATM = Path("/proc/self/statm")

    def _prepare(lifeline: int) -> None:
        """Nobody handles the signals that end us, no core is dumped, and news on the lifeline concern this process."""
        for number in (signal.SIGPROF, signal.SIGVTALRM, signal.SIGIO):
            signal.signal(number, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        fcntl.fcntl(lifeline, fcntl.F_SETOWN, os.getpid())

    def _limit_memory(limit_bytes: int) -> None:
        """Limit what holds data. The system limits address space, so what takes that without holding any is added:
        threads of earlier tasks leave hundreds of megabytes that are reserved and never used."""
        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        soft = limit_bytes + _space_without_data()
        soft = soft if hard == resource.RLIM_INFINITY else min(soft, hard)
        with suppress(OSError, ValueError):  # macOS refuses what is below the present use
            resource.setrlimit(resource.RLIMIT_AS, (soft, hard))

    def _space_without_data() -> int:
        """The address space in use that holds no data of ours; 0 where the system does not tell."""
        with suppress(OSError):
            size, _resident, _shared, _text, _library, data, _dirty = map(int, _STATM.read_bytes().split())
            return (size - data) * resource.getpagesize()
        return 0

    def _start_timer(limits: TaskLimits) -> None:
        signal.setitimer(signal.ITIMER_PROF, limits.cpu_seconds)  # brings SIGPROF

    def _stop_timer() -> None:
        signal.setitimer(signal.ITIMER_PROF, 0)

    def _end_on_news(lifeline: int, *, on: bool) -> None:
        flags = fcntl.fcntl(lifeline, fcntl.F_GETFL)
        fcntl.fcntl(lifeline, fcntl.F_SETFL, flags | os.O_ASYNC if on else flags & ~os.O_ASYNC)
        # The end of a parent that went before brings no signal any more.
        if on and select.select([lifeline], [], [], 0)[0]:
            os._exit(0)
