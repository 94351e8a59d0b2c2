"""Measure the time from process start to the answers of `initialize` and `tools/list`, next to npm's memory server.

    python benchmarks/startup.py [--runs N] [--command "deltos mcp"]

Prints a Markdown table. npm installs the other server into a temporary folder; its row is omitted if npm is not
available.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

PEER = "@modelcontextprotocol/server-memory"
INITIALIZE = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "startup", "version": "1"},
}


@dataclass(frozen=True, slots=True)
class AnswerTime:
    """Time from the start of the process to an answer."""

    wall_ms: float
    cpu_ms: float


@dataclass(frozen=True, slots=True)
class Run:
    """Measurements of one start of a server."""

    initialize: AnswerTime
    tools_list: AnswerTime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--command", default=f"{Path(sys.executable).with_name('deltos')} mcp")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        commands = {"deltos": shlex.split(options.command)}
        if peer := install_peer(Path(folder)):
            commands[PEER] = peer
        data = {"DELTOS_HOME": folder, "MEMORY_FILE_PATH": str(Path(folder, "memory.jsonl"))}
        runs = measure(commands, {**os.environ, **data}, options.runs)
    print_table(runs)


def install_peer(folder: Path) -> list[str]:
    """Install the other server below `folder`, and return its command, or an empty list if npm is not available."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if not node or not npm:
        return []
    quiet = ["--silent", "--no-fund", "--no-audit"]
    subprocess.run([npm, "install", *quiet, "--prefix", str(folder), PEER], check=True)
    package = folder / "node_modules" / PEER
    (script,) = json.loads((package / "package.json").read_text())["bin"].values()
    return [node, str(package / script)]


def measure(commands: dict[str, list[str]], environ: dict[str, str], count: int) -> dict[str, list[Run]]:
    """Run each command `count` times after a first run that is not counted.

    The commands alternate, so that other load affects all of them equally.
    """
    runs: dict[str, list[Run]] = {name: [] for name in commands}
    for _ in range(count + 1):
        for name, command in commands.items():
            runs[name].append(start_once(command, environ))
    return {name: taken[1:] for name, taken in runs.items()}


def start_once(command: list[str], environ: dict[str, str]) -> Run:
    start = time.perf_counter()
    pipe, null = subprocess.PIPE, subprocess.DEVNULL
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=null, env=environ) as process:
        assert process.stdin
        assert process.stdout
        send(process.stdin, "initialize", INITIALIZE, id=1)
        initialized = await_answer(process, 1, start)
        send(process.stdin, "notifications/initialized")
        send(process.stdin, "tools/list", id=2)
        listed = await_answer(process, 2, start)
        process.stdin.close()
        process.wait()
    return Run(initialized, listed)


def send(stdin: IO[bytes], method: str, params: dict[str, Any] | None = None, **more: object) -> None:
    message = {"jsonrpc": "2.0", "method": method, **more, **({"params": params} if params else {})}
    stdin.write(json.dumps(message).encode() + b"\n")
    stdin.flush()


def await_answer(process: subprocess.Popen[bytes], request_id: int, start: float) -> AnswerTime:
    assert process.stdout
    for line in process.stdout:
        wall_seconds = time.perf_counter() - start
        message = json.loads(line)
        if message.get("id") == request_id:
            assert "result" in message, message
            return AnswerTime(wall_seconds * 1000, cpu_ms(process.pid))
    raise SystemExit(f"{process.args!r} ended without an answer")


def cpu_ms(pid: int) -> float:
    """Return the CPU time of all threads of a process so far, or NaN if the system does not report it."""
    threads = Path(f"/proc/{pid}/task").glob("*/schedstat")
    nanoseconds = [int(thread.read_text().split()[0]) for thread in threads]
    return sum(nanoseconds) / 1e6 if nanoseconds else float("nan")


def print_table(runs: dict[str, list[Run]]) -> None:
    print("Milliseconds from process start, median (minimum).\n")
    print("| server | runs | initialize, wall | initialize, CPU | tools/list, wall | tools/list, CPU |")
    print("|---|--:|--:|--:|--:|--:|")
    for name, taken in runs.items():
        columns = (
            [run.initialize.wall_ms for run in taken],
            [run.initialize.cpu_ms for run in taken],
            [run.tools_list.wall_ms for run in taken],
            [run.tools_list.cpu_ms for run in taken],
        )
        print(f"| {name} | {len(taken)} | {' | '.join(map(format_times, columns))} |")


def format_times(values: list[float]) -> str:
    return f"{statistics.median(values):.0f} ({min(values):.0f})"


if __name__ == "__main__":
    main()
