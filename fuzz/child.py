"""Child process that runs the inputs. It reads requests as JSON lines and writes events; any input may hang or kill it."""

from __future__ import annotations

import hashlib
import json
import os
import resource
import signal
import sys
import time
import traceback
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from deltos.errors import DeltosError
from deltos.languages import parser_limits
from fuzz import corpus, oracle
from fuzz.edges import edge_recorder
from fuzz.minimise import shrink_input
from fuzz.mutate import Mutator
from fuzz.orphans import die_with_parent
from fuzz.shared_input import SharedInput
from fuzz.targets import target_named

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

    from fuzz.target import OpenedTarget, Target

    Emit = Callable[..., None]

MAX_ADDRESS_SPACE_BYTES = 6_000_000_000
RAISED_MEMORY_OPTION = "--wider"  # option that raises the memory limit, to test whether the limit ended another child
# There is still a limit: the kernel kills a process that takes all memory, which would look like a crash.
RAISED_MEMORY_FACTOR = 4
MAX_PARSE_SECONDS = 86_400.0
MEASUREMENTS = 3
SAMPLE_SECONDS = 0.004
PROGRESS_SECONDS = 1.0
# The recorded memory peak is reset if it exceeds the current memory by this much. Otherwise, it would hide the memory
# that the next input needs.
MAX_PEAK_ABOVE_CURRENT_BYTES = 16_000_000
RECENT_SHARE = 0.5
MAX_KEPT_INPUTS = 4_000
# Mutations of a large or slow input are mostly large or slow too. If they were kept, fewer inputs could be tried.
MAX_KEPT_BYTES = 24_000
MAX_KEPT_SECONDS = 0.2
MAX_WALL_FACTOR = 20  # maximum wall-clock time as a multiple of the CPU time, for targets that wait


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of one run of an input."""

    cpu_seconds: float
    grown_bytes: int
    place: str = ""
    detail: str = ""


class TargetRunner:
    """Runs inputs on an opened target and measures them."""

    def __init__(self, target: Target, opened: OpenedTarget, shared: SharedInput) -> None:
        self.target = target
        self._opened = opened
        self._shared = shared
        self._expected: tuple[type[BaseException], ...] = (DeltosError, *target.contract)
        self._peak = 0
        self.executions = 0

    def run(self, data: bytes) -> Outcome:
        """Run one input, which is recorded so that the parent process knows it."""
        self.executions += 1
        pid = self._opened.pid
        held = self._memory_before_run()
        started = self._measured_cpu_seconds()
        self._shared.begin(self.executions, data, time.monotonic(), time.process_time())
        place = detail = ""
        try:
            self._opened.run(data)
        except self._expected:
            pass
        except (Exception, SystemExit) as error:  # noqa: BLE001 (this is what we are looking for)
            place = oracle.crash_place(error)
            detail = "".join(traceback.format_exception(error, limit=-12))
        cpu = self._measured_cpu_seconds() - started
        self._shared.end()
        peak = oracle.peak_bytes(pid)
        grown = peak - held if peak > self._peak else 0
        return Outcome(cpu, grown, place, detail)

    def _memory_before_run(self) -> int:
        pid = self._opened.pid
        held = oracle.current_bytes(pid)
        self._peak = oracle.peak_bytes(pid)  # Creating the input may have raised the peak.
        if self._peak - held > MAX_PEAK_ABOVE_CURRENT_BYTES:
            oracle.reset_peak(pid)
            self._peak = oracle.peak_bytes(pid)
        return held

    def cpu_seconds(self) -> float:
        """Return the CPU time of this process and of the target's worker process."""
        return time.process_time() + (oracle.cpu_seconds(self._opened.pid) if self._opened.pid else 0.0)

    def _measured_cpu_seconds(self) -> float:
        return time.process_time() if self._opened.pid is None else oracle.cpu_seconds(self._opened.pid)


class Child:
    """Executes requests for any target, and opens each target once."""

    def __init__(self, scratch: Path, emit: Emit, stack: ExitStack) -> None:
        self._scratch = scratch
        self._emit = emit
        self._stack = stack
        self._shared = SharedInput(scratch / "current")
        self._benches: dict[str, TargetRunner] = {}

    def serve(self, request: dict[str, Any]) -> None:
        """Execute a request and report its results as events."""
        bench = self._target_runner(request["target"])
        match request["do"]:
            case "fuzz":
                self._fuzz(bench, request)
            case "replay":
                self._replay(bench, request)
            case "measure":
                self._measure(bench, Path(request["file"]).read_bytes())
            case "minimise":
                self._minimise(bench, request)

    def _target_runner(self, name: str) -> TargetRunner:
        if name not in self._benches:
            target = target_named(name)
            folder = self._scratch / "work" / name
            folder.mkdir(parents=True, exist_ok=True)
            opened = self._stack.enter_context(target.open(folder))
            self._benches[name] = TargetRunner(target, opened, self._shared)
        return self._benches[name]

    def _fuzz(self, target_runner: TargetRunner, request: dict[str, Any]) -> None:
        folder = Path(request["queue"]) if "queue" in request else None
        max_bytes = request.get("max_bytes") or target_runner.target.max_bytes
        loop = FuzzLoop(target_runner, self._emit, Random(request["seed"]), folder, max_bytes=max_bytes)
        loop.fuzz_for(seconds=request.get("seconds"), executions=request.get("executions"))

    def _replay(self, target_runner: TargetRunner, request: dict[str, Any]) -> None:
        for path in request["files"]:
            outcome = target_runner.run(Path(path).read_bytes())
            if outcome.place:
                self._emit("finding", kind="crash", place=outcome.place, detail=outcome.detail, file=path)

    def _measure(self, target_runner: TargetRunner, data: bytes) -> None:
        """Measure an input without tracing, after a small input has loaded the modules that are imported on first use."""
        for seed in corpus.committed_inputs(target_runner.target)[:5]:
            target_runner.run(seed[:2_000])
        oracle.reset_peak()
        outcomes = [target_runner.run(data) for _ in range(MEASUREMENTS)]
        self._emit(
            "measured",
            cpu_seconds=min(outcome.cpu_seconds for outcome in outcomes),
            grown_bytes=outcomes[0].grown_bytes,
            place=outcomes[0].place,
        )

    def _minimise(self, target_runner: TargetRunner, request: dict[str, Any]) -> None:
        kind, place = request["kind"], request["place"]

        def still_fails(data: bytes) -> bool:
            outcome = target_runner.run(data)
            if kind == "crash":
                return bool(outcome.place == place)
            if kind == "memory":
                return outcome.grown_bytes > oracle.memory_limit_bytes(len(data))
            return outcome.cpu_seconds > oracle.slow_limit_seconds(len(data))

        file = Path(request["file"])
        for data in shrink_input(file.read_bytes(), still_fails, seconds=request["seconds"]):
            file.with_suffix(".smaller").write_bytes(data)


class FuzzLoop:
    """Mutates and runs inputs, keeps those with new coverage or record time, and reports failures."""

    def __init__(
        self, target_runner: TargetRunner, emit: Emit, rng: Random, folder: Path | None, *, max_bytes: int
    ) -> None:
        self._target_runner = target_runner
        self._emit = emit
        self._rng = rng
        self._folder = folder
        target = target_runner.target
        self._mutator = Mutator(rng, target.tokens, max_bytes=max_bytes, is_json=target.is_json)
        self._edges = edge_recorder() if folder is not None and not _is_traced() else None
        self._queue = sorted(corpus.committed_inputs(target)) if folder is None else _read_all(folder)
        self._first = len(self._queue)
        self._edges_seen = 0
        # An input is kept as slow only if it takes at least this fraction of the time limit.
        self._worst_share = 0.05
        self._slowest_ms_per_kb = 0.0
        self._largest_growth = 0
        self._told: set[tuple[str, str]] = set()
        self._told_at = time.monotonic()

    def fuzz_for(self, *, seconds: float | None, executions: int | None) -> None:
        """Mutate and run inputs until the CPU time or the number of runs is used up.

        CPU time is used because wall-clock time would depend on other processes.
        """
        until = self._target_runner.cpu_seconds() + seconds if seconds else float("inf")
        latest = time.monotonic() + seconds * MAX_WALL_FACTOR if seconds else float("inf")
        enough = self._target_runner.executions + executions if executions else sys.maxsize
        if self._queue and self._folder is not None:
            self._target_runner.run(self._queue[0])  # The first input loads modules that are imported on first use.
        for data in self._next_inputs():
            self._run_and_judge(data)
            if time.monotonic() - self._told_at > PROGRESS_SECONDS:
                self._report_progress()
            if (
                self._target_runner.cpu_seconds() > until
                or time.monotonic() > latest
                or self._target_runner.executions >= enough
            ):
                break
        self._report_progress()

    def _next_inputs(self) -> Iterator[bytes]:
        yield from self._queue[: self._first]
        while True:
            yield self._mutator.mutate(self._choose_input(), self._rng.choice(self._queue))

    def _choose_input(self) -> bytes:
        size = len(self._queue)
        recent = size // 5
        if recent and self._rng.random() < RECENT_SHARE:
            return self._queue[self._rng.randrange(size - recent, size)]
        return self._rng.choice(self._queue)

    def _run_and_judge(self, data: bytes) -> None:
        outcome = self._run_traced(data)
        if outcome.place:
            self._report("crash", outcome.place, outcome.detail, data)
        if self._folder is None:
            return  # The run is a short one in a busy test suite, so time and memory are not meaningful.
        if outcome.grown_bytes > oracle.memory_limit_bytes(len(data)):
            self._report("memory", "memory", f"{outcome.grown_bytes / 1e6:.0f} MB", data)
        self._largest_growth = max(self._largest_growth, outcome.grown_bytes)
        self._judge_time(data, outcome)
        if self._edges is not None and (count := self._edges.count()) > self._edges_seen:
            self._edges_seen = count
            self._keep_input(data)

    def _run_traced(self, data: bytes) -> Outcome:
        if self._edges is None:
            return self._target_runner.run(data)
        self._edges.start()
        try:
            return self._target_runner.run(data)
        finally:
            self._edges.stop()

    def _judge_time(self, data: bytes, outcome: Outcome) -> None:
        """Measure an input again without tracing if it seems slower than all inputs before it."""
        limit = oracle.slow_limit_seconds(len(data))
        if outcome.cpu_seconds / limit < self._worst_share and self._ms_per_kb(data, outcome) < self._slowest_ms_per_kb:
            return
        samples: Counter[str] = Counter()
        with CpuSampler(samples):
            again = self._target_runner.run(data)
        self._slowest_ms_per_kb = max(self._slowest_ms_per_kb, self._ms_per_kb(data, again))
        share = again.cpu_seconds / limit
        if share > self._worst_share:
            self._worst_share = min(share, 1.0)
            if again.cpu_seconds < MAX_KEPT_SECONDS:
                self._keep_input(data)
        if share > 1.0:
            place = samples.most_common(1)[0][0] if samples else "unknown"
            self._report("slow", place, f"{again.cpu_seconds * 1e3:.0f} ms for {len(data):,} bytes; {samples}", data)

    def _ms_per_kb(self, data: bytes, outcome: Outcome) -> float:
        return outcome.cpu_seconds * 1e3 / max(1.0, len(data) / 1e3)

    def _keep_input(self, data: bytes) -> None:
        if self._folder is None or len(self._queue) >= MAX_KEPT_INPUTS or len(data) > MAX_KEPT_BYTES:
            return
        self._queue.append(data)
        (self._folder / f"kept-{hashlib.sha256(data).hexdigest()[:16]}").write_bytes(data)

    def _report(self, kind: str, place: str, detail: str, data: bytes) -> None:
        if (kind, place) not in self._told:
            self._told.add((kind, place))
            self._emit("finding", kind=kind, place=place, detail=detail, data=data.hex())

    def _report_progress(self) -> None:
        self._told_at = time.monotonic()
        self._emit(
            "progress",
            cpu_seconds=self._target_runner.cpu_seconds(),
            executions=self._target_runner.executions,
            edges=self._edges_seen,
            slowest_ms_per_kb=self._slowest_ms_per_kb,
            largest_growth=self._largest_growth,
            inputs=len(self._queue),
        )


class CpuSampler:
    """Context manager that samples which functions of Deltos use the CPU."""

    def __init__(self, samples: Counter[str]) -> None:
        self._samples = samples

    def __enter__(self) -> None:
        signal.signal(signal.SIGPROF, self._record_sample)
        signal.setitimer(signal.ITIMER_PROF, SAMPLE_SECONDS, SAMPLE_SECONDS)

    def __exit__(self, *_: object) -> None:
        signal.setitimer(signal.ITIMER_PROF, 0)

    def _record_sample(self, _number: int, frame: FrameType | None) -> None:
        while frame is not None and not frame.f_code.co_filename.startswith(oracle.SOURCE):
            frame = frame.f_back
        if frame is not None:
            file = Path(frame.f_code.co_filename).relative_to(oracle.SOURCE)
            self._samples[f"{file}:{frame.f_code.co_name}"] += 1


def _is_traced() -> bool:
    """Return whether another tracer is active, such as coverage measurement in a test run."""
    return sys.gettrace() is not None


def _read_all(folder: Path) -> list[bytes]:
    return [path.read_bytes() for path in sorted(folder.iterdir())]


def _limit_memory(*, is_wider: bool) -> None:
    limit_bytes = MAX_ADDRESS_SPACE_BYTES * (RAISED_MEMORY_FACTOR if is_wider else 1)
    resource.setrlimit(resource.RLIMIT_AS, (limit_bytes, limit_bytes))
    if is_wider:
        parser_limits.MIN_TREE_BYTES = limit_bytes  # This limit applies to a single syntax tree.
        parser_limits.MIN_PARSE_SECONDS = MAX_PARSE_SECONDS


def main() -> int:
    """Serve requests from stdin until it ends."""
    die_with_parent()
    scratch = Path(sys.argv[1])
    _limit_memory(is_wider=RAISED_MEMORY_OPTION in sys.argv[2:])
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    channel = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # Output of a target must not reach the parent process.

    def emit(event: str, **fields: object) -> None:
        channel.write(json.dumps({"event": event, **fields}) + "\n")
        channel.flush()

    with ExitStack() as stack:
        child = Child(scratch, emit, stack)
        for line in sys.stdin:
            child.serve(json.loads(line))
            emit("done")
    return 0


if __name__ == "__main__":
    sys.exit(main())
