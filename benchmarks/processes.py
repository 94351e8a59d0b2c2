"""Run a command and measure what it and all its children cost."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.places import SCRATCH

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SAMPLE_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Cost:
    """CPU time of a whole tree of processes, and the most memory that it held at one time."""

    cpu_seconds: float
    peak_bytes: int


def measure(command: Sequence[str | Path], environment: Mapping[str, str] | None = None) -> Cost:
    """Run a command to its end; it must succeed."""
    process = subprocess.Popen(
        [str(word) for word in command], stdout=subprocess.DEVNULL, env={**os.environ, **(environment or {})}
    )
    ended = threading.Event()
    peaks = [0]
    sampler = threading.Thread(target=_sample, args=(process.pid, ended, peaks))
    sampler.start()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)  # reaped here, not by Popen
    ended.set()
    sampler.join()
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, process.args)
    return Cost(usage.ru_utime + usage.ru_stime, peaks[0])


def cpu_seconds_with_children() -> float:
    """CPU time of this process and of all its children, those that live included where the system shows them."""
    spent = os.times()
    total = spent.user + spent.system + spent.children_user + spent.children_system
    ticks_per_second = os.sysconf("SC_CLK_TCK")
    for child in children():
        fields = child.joinpath("stat").read_text().rpartition(")")[2].split()
        total += sum(map(int, fields[11:15])) / ticks_per_second
    return total


def children() -> list[Path]:
    """The children of this process, as the system shows them."""
    lists = Path("/proc/self/task").glob("*/children")
    return [Path("/proc", child) for path in lists for child in path.read_text().split()]


def environment_with(requirement: str) -> Path:
    """The Python of a virtual environment that has the package; made when it is not there yet."""
    folder = SCRATCH / "environments" / re.sub(r"\W+", "-", requirement)
    python = folder / "bin" / "python"
    if not (folder / "done").exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", requirement], check=True, capture_output=True)
        (folder / "done").touch()
    return python


def tree(pid: int) -> list[int]:
    """A process and all below it."""
    found, pending = [], [pid]
    while pending:
        current = pending.pop()
        found.append(current)
        for listing in Path(f"/proc/{current}/task").glob("*/children"):
            pending += map(int, _read(listing).split())
    return found


def _sample(pid: int, ended: threading.Event, peaks: list[int]) -> None:
    """Note the greatest sum of memory over the tree of processes below `pid`."""
    while not ended.wait(SAMPLE_SECONDS):
        peaks[0] = max(peaks[0], sum(map(_proportional_bytes, tree(pid))))


def _proportional_bytes(pid: int) -> int:
    """Memory of one process; what it shares with others counts in part, so that a sum over them is true."""
    match = re.search(r"^Pss:\s+(\d+) kB", _read(Path(f"/proc/{pid}/smaps_rollup")), re.MULTILINE)
    return int(match[1]) * 1024 if match else 0


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""  # the process has ended
