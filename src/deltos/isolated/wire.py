"""Messages between parent and child processes. A frame consists of a length and a pickle."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

_LENGTH_HEADER = struct.Struct("!Q")


class TaskLimits(NamedTuple):
    """Limits of a task. The wall-clock limit is generous, because other processes may slow down the machine."""

    cpu_seconds: float = 10.0
    wall_seconds: float = 60.0
    memory_bytes: int = 1 << 30
    result_bytes: int = 64 << 20


class Request(NamedTuple):
    """A request to call `function(*common, item)` for each item, with limits for each call."""

    function: Callable[..., Any]
    common: tuple[Any, ...]
    items: tuple[tuple[Any, TaskLimits], ...]


class Reply(NamedTuple):
    """The result of one item: a value or an error. If `is_about_request`, the error applies to the entire request."""

    value: Any = None
    error: Exception | None = None
    is_about_request: bool = False


def write_frame(stream: BinaryIO, payload: bytes) -> None:
    """Write a frame and flush the stream."""
    stream.write(_LENGTH_HEADER.pack(len(payload)))
    stream.write(payload)
    stream.flush()


def read_frame(stream: BinaryIO) -> bytes | None:
    """Read the next frame. Return None if the stream has ended, even within a frame."""
    head = stream.read(_LENGTH_HEADER.size)
    if len(head) < _LENGTH_HEADER.size:
        return None
    (length,) = _LENGTH_HEADER.unpack(head)
    payload = stream.read(length)
    return payload if len(payload) == length else None
