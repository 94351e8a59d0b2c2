"""What parent and child send each other: frames of a length and a pickle."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

_LENGTH = struct.Struct("!Q")


class TaskLimits(NamedTuple):
    """What one task may take. CPU time is what counts: the clock also runs while a machine is busy with others."""

    cpu_seconds: float = 10.0
    wall_seconds: float = 60.0
    memory_bytes: int = 1 << 30
    result_bytes: int = 64 << 20


class Request(NamedTuple):
    """Call `function(*common, item)` for each item within its limits, one after the other."""

    function: Callable[..., Any]
    common: tuple[Any, ...]
    items: tuple[tuple[Any, TaskLimits], ...]


class Reply(NamedTuple):
    """What came of one item: a value, or an error; or the error that kept a whole request from being understood."""

    value: Any = None
    error: Exception | None = None
    is_about_request: bool = False


def write_frame(stream: BinaryIO, payload: bytes) -> None:
    """Send one frame at once."""
    stream.write(_LENGTH.pack(len(payload)))
    stream.write(payload)
    stream.flush()


def read_frame(stream: BinaryIO) -> bytes | None:
    """The next frame; None when the other side has ended, also in the midst of one."""
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    payload = stream.read(length)
    return payload if len(payload) == length else None
