"""Main loop of a child process, which runs tasks within limits and exits with its parent.

On Linux and macOS, a signal kills the process if a task exceeds its CPU time, even inside C code. Memory is limited on
Linux; macOS accepts the limit without enforcing it. On Windows, the parent kills a slow child. If the parent has died,
a timer in the child does so. A child process is not a sandbox: it has the permissions of the user.
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

from deltos.errors import MemoryLimitExceeded, ParserCrashed
from deltos.isolated.wire import Reply, read_frame, write_frame

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deltos.isolated.wire import Request, TaskLimits


def main() -> int:
    """Answer requests until the parent closes the pipe."""
    requests, replies = _claim_pipes()
    # Child processes receive these signals, but only the parent handles them.
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    _prepare_process(requests.fileno())
    with suppress(BrokenPipeError):
        while (frame := read_frame(requests)) is not None:
            for payload in _answer_request(frame, requests.fileno()):
                write_frame(replies, payload)
    return 0


def _claim_pipes() -> tuple[BinaryIO, BinaryIO]:
    """Take over stdin and stdout for requests and replies, and redirect printed output to stderr."""
    requests, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return requests, replies


def _answer_request(frame: bytes, lifeline: int) -> Iterator[bytes]:
    """Run a request and yield the encoded reply for each item."""
    try:
        request: Request = pickle.loads(frame)  # noqa: S301 (from the parent process)
    except Exception as exc:  # noqa: BLE001 (returned to the parent)
        yield _encode(Reply(error=exc, is_about_request=True))
        return
    for item, limits in request.items:
        with _apply_limits(limits), _exit_if_parent_dies(lifeline):
            payload = _run_item(request, item, limits)
        yield payload


def _run_item(request: Request, item: object, limits: TaskLimits) -> bytes:
    """Call the requested function for one item and encode the reply, both within the limits."""
    try:
        payload = pickle.dumps(Reply(request.function(*request.common, item)), pickle.HIGHEST_PROTOCOL)
    except MemoryError:
        return _encode(Reply(error=_memory_error(limits)))
    except Exception as exc:  # noqa: BLE001 (returned to the parent)
        return _encode(Reply(error=exc))
    if len(payload) > limits.result_bytes:
        return _encode(
            Reply(error=MemoryLimitExceeded(f"the parsed content is larger than {limits.result_bytes >> 20} MB"))
        )
    return payload


def _memory_error(limits: TaskLimits) -> MemoryLimitExceeded:
    return MemoryLimitExceeded(f"reading it took more than {limits.memory_bytes >> 20} MB of memory")


def _encode(reply: Reply) -> bytes:
    """Encode a reply that contains an error. If the error cannot be pickled, encode only the error message."""
    if reply.error is not None:
        reply.error.add_note("In a child process:\n" + "".join(traceback.format_exception(reply.error)).rstrip())
    try:
        payload = pickle.dumps(reply, pickle.HIGHEST_PROTOCOL)
        pickle.loads(payload)  # noqa: S301 (pickled in the line above)
    except Exception:  # noqa: BLE001 (pickling can raise any exception)
        return pickle.dumps(Reply(error=ParserCrashed(f"{type(reply.error).__name__}: {reply.error}")))
    return payload


@contextmanager
def _apply_limits(limits: TaskLimits) -> Iterator[None]:
    """Apply the limits in the `with` block. Exceeding the CPU time terminates the process. Exceeding the memory raises
    MemoryError."""
    _limit_memory(limits.memory_bytes)
    _start_timer(limits)
    try:
        yield
    finally:
        _stop_timer()


@contextmanager
def _exit_if_parent_dies(lifeline: int) -> Iterator[None]:
    """Exit this process if the pipe is closed during the `with` block, because the parent has then died."""
    _exit_on_pipe_event(lifeline, on=True)
    try:
        yield
    finally:
        _exit_on_pipe_event(lifeline, on=False)


if sys.platform == "win32":
    import faulthandler

    def _prepare_process(lifeline: int) -> None:
        pass

    def _limit_memory(limit_bytes: int) -> None:
        pass

    def _start_timer(limits: TaskLimits) -> None:
        # The timer is needed only if the parent has died. Otherwise, the parent kills a slow child.
        faulthandler.dump_traceback_later(limits.wall_seconds * 2, exit=True)

    def _stop_timer() -> None:
        faulthandler.cancel_dump_traceback_later()

    def _exit_on_pipe_event(lifeline: int, *, on: bool) -> None:
        pass

else:
    import fcntl
    import resource
    import select

    _STATM = Path("/proc/self/statm")

    def _prepare_process(lifeline: int) -> None:
        """Reset signal handlers, disable core dumps, and receive a signal when the pipe is closed."""
        for number in (signal.SIGPROF, signal.SIGVTALRM, signal.SIGIO):
            signal.signal(number, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        fcntl.fcntl(lifeline, fcntl.F_SETOWN, os.getpid())

    def _limit_memory(limit_bytes: int) -> None:
        """Limit the memory for data to `limit_bytes`."""
        # The operating system can limit only the whole address space. Its size includes code, and hundreds of megabytes
        # that threads reserve without using them. The limit is therefore increased by the size of everything except
        # data.
        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        soft = limit_bytes + _space_without_data()
        soft = soft if hard == resource.RLIM_INFINITY else min(soft, hard)
        with suppress(OSError, ValueError):  # macOS refuses a limit below the current usage
            resource.setrlimit(resource.RLIMIT_AS, (soft, hard))

    def _space_without_data() -> int:
        """Return the size in bytes of the address space that contains no data, or 0 if it is unknown."""
        with suppress(OSError):
            size, _resident, _shared, _text, _library, data, _dirty = map(int, _STATM.read_bytes().split())
            return (size - data) * resource.getpagesize()
        return 0

    def _start_timer(limits: TaskLimits) -> None:
        signal.setitimer(signal.ITIMER_PROF, limits.cpu_seconds)  # sends SIGPROF at the limit

    def _stop_timer() -> None:
        signal.setitimer(signal.ITIMER_PROF, 0)

    def _exit_on_pipe_event(lifeline: int, *, on: bool) -> None:
        flags = fcntl.fcntl(lifeline, fcntl.F_GETFL)
        fcntl.fcntl(lifeline, fcntl.F_SETFL, flags | os.O_ASYNC if on else flags & ~os.O_ASYNC)
        # No signal is sent if the parent has already died.
        if on and select.select([lifeline], [], [], 0)[0]:
            os._exit(0)
