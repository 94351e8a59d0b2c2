"""Fuzz one target for a limited time: start child processes, detect hangs and deaths, confirm and save the findings."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, NoReturn, cast

from fuzz import corpus, oracle
from fuzz.child import RAISED_MEMORY_OPTION
from fuzz.oracle import Finding, Kind
from fuzz.shared_input import SharedInput

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fuzz.target import Target

FINDINGS = Path(__file__).parent / "findings"
MAX_CPU_SECONDS_PER_INPUT = 12.0
MAX_WALL_SECONDS_PER_INPUT = 180.0
POLL_SECONDS = 0.2
MINIMISE_TIMEOUT_SECONDS = 15.0
MAX_RESTARTS = 12

Event = dict[str, Any]


class ChildStopped(Exception):
    """Raised when the child process hangs or has died; `data` is its current input."""

    def __init__(self, kind: Kind, data: bytes, cpu_seconds: float, executions: int) -> None:
        super().__init__(kind)
        self.kind = kind
        self.data = data
        self.executions = executions
        self.cpu_seconds = cpu_seconds


class ChildProcess:
    """A child process and its events; detects hangs."""

    def __init__(
        self, scratch: Path, *, hang_cpu_seconds: float = MAX_CPU_SECONDS_PER_INPUT, has_more_memory: bool = False
    ) -> None:
        self._hang_cpu_seconds = hang_cpu_seconds
        self._log = scratch / "log"
        self._shared = SharedInput(scratch / "current")
        self._shared.end()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "fuzz.child", str(scratch), *([RAISED_MEMORY_OPTION] if has_more_memory else [])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log.open("wb"),
            cwd=oracle.ROOT,
            text=True,
            env={**os.environ, "PYTHONHASHSEED": "0", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        self._events: queue.Queue[Event | None] = queue.Queue()
        threading.Thread(target=self._read_events, daemon=True).start()

    def ask(self, **request: Any) -> Iterator[Event]:
        """Send a request and yield its events; raise `Stopped` if the child hangs or dies."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        while True:
            try:
                event = self._events.get(timeout=POLL_SECONDS)
            except queue.Empty:
                self._check_for_hang()
                continue
            if event is None:
                self._raise_cause_of_death()
            if event["event"] == "done":
                return
            yield event

    def close(self) -> None:
        """Kill the child."""
        self._process.kill()
        self._process.wait()

    def _read_events(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._events.put(json.loads(line))
        self._events.put(None)

    def _raise_cause_of_death(self) -> NoReturn:
        """Raise the cause of the child's death: its current input, or an error of the harness if no input was running."""
        current = self._shared.read()
        if not current.started_at:
            raise RuntimeError(f"The harness failed:\n{self._log.read_text('utf-8', 'replace')[-3_000:]}")
        raise ChildStopped("died", current.data, 0.0, current.number)

    def _check_for_hang(self) -> None:
        current = self._shared.read()
        if not current.started_at:
            return
        try:
            cpu = oracle.cpu_seconds(self._process.pid) - current.cpu_before
        except OSError:
            return  # The process has just died. The caller notices this, because there are no more events.
        if cpu > self._hang_cpu_seconds or time.monotonic() - current.started_at > MAX_WALL_SECONDS_PER_INPUT:
            again = self._shared.read()
            if again.number == current.number and again.started_at:
                raise ChildStopped("hang", current.data, cpu, current.number)


@contextmanager
def child_process(scratch: Path, **options: Any) -> Iterator[ChildProcess]:
    """Start a child process, and stop it on exit."""
    scratch.mkdir(parents=True, exist_ok=True)
    child = ChildProcess(scratch, **options)
    try:
        yield child
    finally:
        child.close()


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Create a scratch folder, in memory if possible, because databases would wait for the disk."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(prefix="fuzz-", dir=memory if memory.is_dir() else None) as folder:
        yield Path(folder)


@dataclass(slots=True)
class Result:
    """Result of fuzzing one target."""

    target: str
    cpu_seconds: float = 0.0
    executions: int = 0
    edges: int = 0
    slowest_ms_per_kb: float = 0.0
    largest_growth: int = 0
    inputs: int = 0
    findings: list[Finding] = field(default_factory=list)
    unconfirmed: int = 0
    at_parser_limits: int = 0
    """Number of inputs that ended the process only because of the memory limit for syntax trees."""

    def count(self, *kinds: Kind) -> int:
        """Return the number of findings of these kinds."""
        return sum(finding.kind in kinds for finding in self.findings)


class Campaign:
    """Fuzzing of one target for a limited time."""

    def __init__(
        self,
        target: Target,
        scratch: Path,
        *,
        seed: int,
        corpora: Sequence[Path] = (),
        findings: Path = FINDINGS,
        hang_cpu_seconds: float = MAX_CPU_SECONDS_PER_INPUT,
        minimise_seconds: float = MINIMISE_TIMEOUT_SECONDS,
    ) -> None:
        self._target = target
        self._scratch = scratch
        self._seed = seed
        self._findings = findings
        self._hang_cpu_seconds = hang_cpu_seconds
        self._minimise_seconds = minimise_seconds
        self._queue = scratch / "queue"
        self._queue.mkdir(parents=True)
        self._result = Result(target.name)
        self._places: set[tuple[str, str]] = set()
        inputs = corpus.committed_inputs(target) + corpus.sample_files(target, corpora, Random(seed))
        for number, data in enumerate(inputs):
            (self._queue / f"begin-{number:04}").write_bytes(data)

    def run(self, seconds: float) -> Result:
        """Fuzz for `seconds` of CPU time; replace a child process that hangs or dies."""
        suspects: list[Finding] = []
        for attempt in range(MAX_RESTARTS):
            if self._result.cpu_seconds >= seconds:
                break
            self._run_child(seconds - self._result.cpu_seconds, self._seed + attempt, suspects)
        for number, suspect in enumerate(suspects):
            self._confirm_finding(suspect, number)
        return self._result

    def _run_child(self, seconds: float, seed: int, suspects: list[Finding]) -> None:
        before, cpu_before = self._result.executions, self._result.cpu_seconds
        try:
            with child_process(self._scratch / f"child-{seed}", hang_cpu_seconds=self._hang_cpu_seconds) as child:
                for event in child.ask(
                    do="fuzz", target=self._target.name, seed=seed, seconds=seconds, queue=str(self._queue)
                ):
                    if event["event"] == "finding":
                        self._add_suspect(
                            suspects, event["kind"], event["place"], event["detail"], bytes.fromhex(event["data"])
                        )
                    else:
                        self._record_progress(event, before, cpu_before)
        except ChildStopped as stopped:
            self._result.executions = before + stopped.executions
            self._result.cpu_seconds += stopped.cpu_seconds
            self._add_suspect(suspects, stopped.kind, stopped.kind, f"{stopped.cpu_seconds:.0f} s of CPU", stopped.data)
            for path in self._queue.iterdir():  # An input that stopped one child process must not stop the next one.
                if path.read_bytes() == stopped.data:
                    path.unlink()

    def _add_suspect(self, suspects: list[Finding], kind: str, place: str, detail: str, data: bytes) -> None:
        if kind not in ("hang", "died"):
            if (kind, place) in self._places:
                return
            self._places.add((kind, place))
        suspects.append(Finding(self._target.name, cast("Kind", kind), place, detail, data))

    def _record_progress(self, event: Event, before: int, cpu_before: float) -> None:
        result = self._result
        result.cpu_seconds = cpu_before + event["cpu_seconds"]
        result.executions = before + event["executions"]
        result.edges = max(result.edges, event["edges"])
        result.slowest_ms_per_kb = max(result.slowest_ms_per_kb, event["slowest_ms_per_kb"])
        result.largest_growth = max(result.largest_growth, event["largest_growth"])
        result.inputs = event["inputs"]

    def _confirm_finding(self, suspect: Finding, number: int) -> None:
        """Run a suspect input in a new child three times without tracing; minimise and save it if it fails each time."""
        folder = self._scratch / f"confirm-{number}"
        folder.mkdir()
        file = folder / "input"
        file.write_bytes(suspect.data)
        if not self._is_reproduced(suspect, folder, file):
            self._result.unconfirmed += 1
            return
        if (
            self._target.is_bounded
            and suspect.kind in ("died", "crash")
            and not self._dies_without_limits(folder, file)
        ):
            self._result.at_parser_limits += 1
            return
        if suspect.kind not in ("hang", "died"):
            self._minimise(suspect, folder, file)
        shorter = file.with_suffix(".smaller")
        data = shorter.read_bytes() if shorter.exists() else suspect.data
        sample_files = Finding(suspect.target, suspect.kind, suspect.place, suspect.detail, data)
        self._result.findings.append(sample_files)
        save_finding(sample_files, self._findings)

    def _is_reproduced(self, suspect: Finding, folder: Path, file: Path) -> bool:
        try:
            with child_process(folder / "measure", hang_cpu_seconds=2 * self._hang_cpu_seconds) as child:
                [event] = child.ask(do="measure", target=self._target.name, file=str(file))
        except ChildStopped as stopped:
            return stopped.kind == "died" or stopped.cpu_seconds > oracle.slow_limit_seconds(len(suspect.data))
        size = len(suspect.data)
        match suspect.kind:
            case "crash":
                return bool(event["place"])
            case "memory":
                return bool(event["grown_bytes"] > oracle.memory_limit_bytes(size))
            case _:
                return bool(event["cpu_seconds"] > oracle.slow_limit_seconds(size))

    def _dies_without_limits(self, folder: Path, file: Path) -> bool:
        """Return whether the input fails even without limits; if it is only slow without them, the memory limit ended it."""
        try:
            with child_process(
                folder / "wider", hang_cpu_seconds=2 * self._hang_cpu_seconds, has_more_memory=True
            ) as child:
                [event] = child.ask(do="measure", target=self._target.name, file=str(file))
        except ChildStopped as stopped:
            return stopped.kind == "died"
        return bool(event["place"])

    def _minimise(self, suspect: Finding, folder: Path, file: Path) -> None:
        try:
            with child_process(folder / "minimise", hang_cpu_seconds=self._hang_cpu_seconds) as child:
                for _ in child.ask(
                    do="minimise",
                    target=self._target.name,
                    file=str(file),
                    kind=suspect.kind,
                    place=suspect.place,
                    seconds=self._minimise_seconds,
                ):
                    pass
        except ChildStopped:
            pass  # Keep the smallest input so far, which is already on disk.


def save_finding(finding: Finding, findings: Path = FINDINGS) -> Path:
    """Write the input of a finding, and next to it a description of the failure."""
    folder = findings / finding.target
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / finding.name
    path.write_bytes(finding.data)
    path.with_name(f"{finding.name}.txt").write_text(f"{finding.kind}: {finding.place}\n{finding.detail}\n", "utf-8")
    return path
