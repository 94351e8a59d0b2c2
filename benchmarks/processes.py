"""Run a command and measure the cost of it and its children."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.paths import SCRATCH

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SAMPLE_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Cost:
    """CPU time and peak memory of a process tree."""

    cpu_seconds: float
    peak_bytes: int


def measure(command: Sequence[str | Path], environment: Mapping[str, str] | None = None) -> Cost:
    """Run a command to its end; raise an error if it fails."""
    process = subprocess.Popen(
        [str(word) for word in command], stdout=subprocess.DEVNULL, env={**os.environ, **(environment or {})}
    )
    ended = threading.Event()
    peaks = [0]
    sampler = threading.Thread(target=_sample_memory, args=(process.pid, ended, peaks))
    sampler.start()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(
        status
    )  # `wait4` has already collected the exit status, so `Popen` does not know it.
    ended.set()
    sampler.join()
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, process.args)
    return Cost(usage.ru_utime + usage.ru_stime, peaks[0])


def cpu_seconds_with_children() -> float:
    """Return the CPU time of this process and of its children.

    Where the system reports it, the CPU time of running children is included.
    """
    spent = os.times()
    total = spent.user + spent.system + spent.children_user + spent.children_system
    ticks_per_second = os.sysconf("SC_CLK_TCK")
    for child in child_processes():
        fields = child.joinpath("stat").read_text().rpartition(")")[2].split()
        total += sum(map(int, fields[11:15])) / ticks_per_second
    return total


def child_processes() -> list[Path]:
    """Return the children of this process."""
    lists = Path("/proc/self/task").glob("*/children")
    return [Path("/proc", child) for path in lists for child in path.read_text().split()]


def environment_with(requirement: str) -> Path:
    """Return the Python interpreter of a virtual environment with the package.

    The environment is created if necessary.
    """
    folder = SCRATCH / "environments" / re.sub(r"\W+", "-", requirement)
    python = folder / "bin" / "python"
    if not (folder / "done").exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", requirement], check=True, capture_output=True)
        (folder / "done").touch()
    return python


def process_tree(pid: int) -> list[int]:
    """Return a process and its descendants."""
    found, pending = [], [pid]
    while pending:
        current = pending.pop()
        found.append(current)
        for listing in Path(f"/proc/{current}/task").glob("*/children"):
            pending += map(int, _read(listing).split())
    return found


def _sample_memory(pid: int, ended: threading.Event, peaks: list[int]) -> None:
    """Record the peak memory of the process tree of `pid`."""
    while not ended.wait(SAMPLE_SECONDS):
        peaks[0] = max(peaks[0], sum(map(_proportional_bytes, process_tree(pid))))


def _proportional_bytes(pid: int) -> int:
    """Return the proportional set size of a process.

    This size can be added up over processes, because it counts only a share of the memory that processes share.
    """
    match = re.search(r"^Pss:\s+(\d+) kB", _read(Path(f"/proc/{pid}/smaps_rollup")), re.MULTILINE)
    return int(match[1]) * 1024 if match else 0


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""  # The process has ended.
