"""Rules for findings: an unexpected exception, or too much CPU time or memory for the size of the input."""

from __future__ import annotations

import hashlib
import os
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Kind = Literal["crash", "slow", "memory", "hang", "died"]

ROOT = Path(__file__).parents[1]
SOURCE = str(ROOT / "src" / "deltos")
SLOW_BASE_SECONDS = 0.050
SLOW_SECONDS_PER_KB = 0.050
MEMORY_BASE_BYTES = 64_000_000
MEMORY_BYTES_PER_BYTE = 100


@dataclass(frozen=True, slots=True)
class Finding:
    """An input that failed. `place` distinguishes findings with different causes."""

    target: str
    kind: Kind
    place: str
    detail: str
    data: bytes

    @property
    def name(self) -> str:
        """Name of the finding's file, which is equal for equal inputs."""
        return f"{self.kind}-{hashlib.sha256(self.data).hexdigest()[:12]}"


def slow_limit_seconds(size: int) -> float:
    """Return the CPU time that an input of `size` bytes may take."""
    return SLOW_BASE_SECONDS + SLOW_SECONDS_PER_KB * size / 1_000


def memory_limit_bytes(size: int) -> int:
    """Return the memory that parsing an input of `size` bytes may take."""
    return MEMORY_BASE_BYTES + MEMORY_BYTES_PER_BYTE * size


def crash_place(error: BaseException) -> str:
    """Return the type of the exception and the innermost line of Deltos in its traceback."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename.startswith(SOURCE)]
    if not frames:
        return type(error).__name__
    last = frames[-1]
    return f"{type(error).__name__} {Path(last.filename).relative_to(SOURCE)}:{last.name}"


def peak_bytes(pid: int | None = None) -> int:
    """Return the peak memory of a process since `reset_peak`."""
    # `ru_maxrss` cannot be used: a child process starts with the peak of its parent, even after `exec`.
    for line in Path(f"/proc/{pid or 'self'}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0


def current_bytes(pid: int | None = None) -> int:
    """Return the current memory of a process."""
    pages = int(Path(f"/proc/{pid or 'self'}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def reset_peak(pid: int | None = None) -> None:
    """Reset the peak that `peak_bytes` reports to the current memory."""
    Path(f"/proc/{pid or 'self'}/clear_refs").write_text("5")


def cpu_seconds(pid: int) -> float:
    """Return the CPU time of another process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
