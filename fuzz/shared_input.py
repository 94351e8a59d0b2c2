"""Shared memory with the current input. If the child hangs or dies, the parent reads the input from it."""

from __future__ import annotations

import mmap
import struct
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

_HEADER = struct.Struct("<QddQ")
_CAPACITY = 4_000_000


class CurrentRun(NamedTuple):
    """State of the current run: its number, its start time (0 if no input is running) and the CPU time used before it."""

    number: int
    started_at: float
    cpu_before: float
    data: bytes


class SharedInput:
    """File that parent and child process map into memory."""

    def __init__(self, path: Path) -> None:
        if not path.exists():
            path.write_bytes(bytes(_HEADER.size + _CAPACITY))
        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), 0)

    def begin(self, number: int, data: bytes, started_at: float, cpu_before: float) -> None:
        """Record an input that is about to run."""
        self._map[_HEADER.size : _HEADER.size + len(data)] = data
        _HEADER.pack_into(self._map, 0, number, started_at, cpu_before, len(data))

    def end(self) -> None:
        """Record that the run has ended."""
        struct.pack_into("<d", self._map, 8, 0.0)

    def read(self) -> CurrentRun:
        """Return the current run and its input."""
        number, started_at, cpu_before, size = _HEADER.unpack_from(self._map, 0)
        return CurrentRun(number, started_at, cpu_before, bytes(self._map[_HEADER.size : _HEADER.size + size]))
