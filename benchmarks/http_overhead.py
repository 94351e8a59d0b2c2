"""Compare the CPU time of a query over HTTP with the CPU time of the same query without a server.

    python -m benchmarks.http_overhead [--database postgresql://…]

This process sends distinct questions about the sources of this repository to a real server, over raw connections and
with a token. The CPU time covers all threads of the server process. For comparison, another process calls the tools
directly.
"""

from __future__ import annotations

import argparse
import ast
import asyncio
import os
import random
import statistics
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from benchmarks.http_load import Session, start_server
from deltos.config import Config
from deltos.open_stores import open_tokens
from deltos.progress import Silent
from deltos.server.access import Level, Tokens
from deltos.server.caller import Caller
from deltos.server.conversation import Conversation
from deltos.server.tool_runner import ToolRunner
from deltos.server.toolbox import open_toolbox

if TYPE_CHECKING:
    from collections.abc import Sequence

TOOLS = ("search_code", "search")
WARM_UP = 30
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Row:
    """Measurements of one tool, called over HTTP or directly."""

    how: str
    cpu_seconds: float
    seconds: list[float]
    errors: int

    def show(self) -> None:
        """Print a row of the table."""
        cuts = statistics.quantiles(self.seconds, n=100)
        each = self.cpu_seconds * 1000 / len(self.seconds)
        print(
            f"| {self.how} | {len(self.seconds)} | {each:.1f} "
            f"| {cuts[49] * 1000:.0f} | {cuts[94] * 1000:.0f} | {self.errors} |",
            flush=True,
        )


def main() -> None:
    """Print the table; return 1 if a query failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--project", type=Path, default=Path(__file__).parents[1] / "src")
    parser.add_argument("--requests", type=int, default=600)
    parser.add_argument("--sessions", type=int, default=8)
    parser.add_argument("--database", default="")
    given = parser.parse_args()
    os.environ["DELTOS_DATABASE"] = given.database
    asked = questions(given.project, given.requests + WARM_UP)
    print("| method | questions | CPU ms each | p50 ms | p95 ms | errors |")
    print("|---|--:|--:|--:|--:|--:|")
    with TemporaryDirectory() as home:
        rows = query_over_http(given.project, home, asked, given.sessions) + query_directly(given.project, home, asked)
    sys.exit(1 if any(row.errors for row in rows) else 0)


def questions(project: Path, count: int) -> list[str]:
    """Return distinct questions about a project from docstrings and names of its functions, in random order."""
    found = set()
    for path in sorted(project.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
                found.add(node.name)
                if docstring := ast.get_docstring(node):
                    found.add(docstring.split("\n")[0][:200])
    chosen = sorted(found)
    random.Random(20).shuffle(chosen)
    if len(chosen) < count:
        raise SystemExit(f"{project} gives {len(chosen)} questions, not {count}")
    return chosen[:count]


def query_over_http(project: Path, home: str, asked: Sequence[str], sessions: int) -> list[Row]:
    """Query each tool from one session, then from several sessions at once."""
    store = open_tokens(Path(home), os.environ["DELTOS_DATABASE"])
    token = Tokens(store, time.time).create("benchmark", Level.READ, [], 36_000)[1]
    with start_server(project, home, "--require-token", "--rate", "0") as (process, host, port):
        return asyncio.run(_query_all(process.pid, host, port, token, asked, sessions))


async def _query_all(pid: int, host: str, port: int, token: str, asked: Sequence[str], sessions: int) -> list[Row]:
    rows = list[Row]()
    for session in await _open_sessions(host, port, token, 1):
        await _query([session], TOOLS[0], asked[:WARM_UP])  # The first query indexes the project and starts embedding.
        session.close()
    await until_idle(pid)
    for tool in TOOLS:
        for count in (1, sessions):
            opened = await _open_sessions(host, port, token, count)
            await _query(opened, tool, asked[:WARM_UP])
            before = process_cpu_seconds(pid)
            seconds, errors = await _query(opened, tool, asked[WARM_UP:])
            rows.append(Row(f"{tool}, {count} at once", process_cpu_seconds(pid) - before, seconds, errors))
            rows[-1].show()
            for session in opened:
                session.close()
    return rows


async def _open_sessions(host: str, port: int, token: str, count: int) -> list[Session]:
    opened = [Session(host, port, token) for _ in range(count)]
    for session in opened:
        if problem := await session.open():
            raise SystemExit(problem)
    return opened


async def until_idle(pid: int) -> None:
    """Wait until a server has finished its background work after indexing."""
    before = -1.0
    while (now := process_cpu_seconds(pid)) > before:
        before = now
        await asyncio.sleep(3)


async def _query(sessions: Sequence[Session], tool: str, asked: Sequence[str]) -> tuple[list[float], int]:
    """Return the time of each answer and the number of errors."""
    waiting, seconds, errors = iter(asked), list[float](), 0

    async def keep_asking(session: Session) -> None:
        nonlocal errors
        for question in waiting:
            started = time.monotonic()
            status, message = await session.ask("tools/call", {"name": tool, "arguments": {"query": question}})
            seconds.append(time.monotonic() - started)
            errors += status != "200" or message.get("result", {}).get("isError", True)

    await asyncio.gather(*map(keep_asking, sessions))
    return seconds, errors


def query_directly(project: Path, home: str, asked: Sequence[str]) -> list[Row]:
    """Call the tools directly with the same questions, without HTTP, MCP and a token."""
    os.environ["DELTOS_HOME"] = home
    tool_runner = ToolRunner(lambda: open_toolbox(Config.from_environment()))
    rows = []
    for tool in TOOLS:
        caller, seconds, errors = Caller(Conversation(project)), list[float](), 0
        for question in asked[:WARM_UP]:
            tool_runner.run(tool, {"query": question}, caller, Silent())
        before = time.process_time()
        for question in asked[WARM_UP:]:
            started = time.monotonic()
            errors += tool_runner.run(tool, {"query": question}, caller, Silent()).is_error
            seconds.append(time.monotonic() - started)
        rows.append(Row(f"{tool}, without a server", time.process_time() - before, seconds, errors))
        rows[-1].show()
    tool_runner.close(1.0)
    return rows


def process_cpu_seconds(pid: int) -> float:
    """Return the CPU seconds of a process with all threads, without its children."""
    fields = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


if __name__ == "__main__":
    main()
