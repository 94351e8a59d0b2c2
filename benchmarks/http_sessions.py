"""Start hundreds of HTTP sessions at once, also while one caller tries to open all available sessions."""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.http_load import QUERIES, Session, ask_ps, start_server
from deltos.server.access import Level, Tokens
from deltos.store.sqlite.tokens import SqliteTokens

GREEDY_CONNECTIONS = 32
CALLERS = 20


@dataclass(slots=True)
class SessionTimes:
    """For each session, the time from the first byte to the last answer; and the errors."""

    seconds: list[float] = field(default_factory=list)
    problems: Counter[str] = field(default_factory=Counter)
    all_seconds: float = 0.0
    cpu_seconds: float = 0.0


class GreedyCaller:
    """A caller that opens as many sessions as possible: the numbers of opened and of refused sessions."""

    def __init__(self) -> None:
        self.opened = 0
        self.refused = 0
        self.is_over = False
        self.has_all = asyncio.Event()

    def note(self, *, opened: bool) -> None:
        """Count an attempt to open a session as successful or refused."""
        self.opened += opened
        self.refused += not opened
        if not opened:
            self.has_all.set()


def main() -> None:
    """Run the measurements and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=int, default=300)
    parser.add_argument("--project", type=Path, default=Path(__file__).parents[1] / "src")
    given = parser.parse_args()
    print("| callers | concurrent sessions | errors | seconds in total | server CPU ms each | p50 s | p95 s |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    failed = run_concurrent_sessions(given.project, given.sessions) + run_next_to_greedy_token(
        given.project, given.sessions
    )
    sys.exit(1 if failed else 0)


def run_concurrent_sessions(project: Path, count: int) -> int:
    """Start all sessions of one caller at once; return the number of failures."""
    with TemporaryDirectory() as home, start_server(project, home) as (process, host, port):
        served = asyncio.run(_run_all(process.pid, host, port, [""] * count))
    print_row("one caller", served)
    return served.problems.total()


def run_next_to_greedy_token(project: Path, most: int) -> int:
    """Start sessions of other callers while one caller opens as many as it can.

    Return the failures of the other callers.
    """
    with TemporaryDirectory() as home:
        greedy, *others = create_tokens(Path(home), 1 + CALLERS)
        tokens = [others[number % CALLERS] for number in range(most // 5)]
        with start_server(project, home, "--require-token", "--max-sessions", str(most)) as (process, host, port):
            served, taken = asyncio.run(_run_with_greedy_caller(process.pid, host, port, greedy, tokens))
    print_row(f"{CALLERS} tokens next to a greedy one", served)
    print(
        f"\nThe greedy token opened {taken.opened:,} sessions of {most:,} there are, and was refused {taken.refused:,}."
    )
    return served.problems.total()


async def _run_all(pid: int, host: str, port: int, tokens: list[str]) -> SessionTimes:
    first = Session(host, port, tokens[0])
    await first.open()
    await first.search(QUERIES[0], "search")  # The first search indexes the project.
    served = SessionTimes()
    started, cpu_before = time.monotonic(), await ask_ps(pid, "cputimes")
    await asyncio.gather(*(run_one_session(host, port, token, n, served) for n, token in enumerate(tokens)))
    served.all_seconds = time.monotonic() - started
    served.cpu_seconds = await ask_ps(pid, "cputimes") - cpu_before
    first.close()
    return served


async def _run_with_greedy_caller(
    pid: int, host: str, port: int, greedy: str, tokens: list[str]
) -> tuple[SessionTimes, GreedyCaller]:
    taken = GreedyCaller()
    takers = [asyncio.create_task(open_until_refused(host, port, greedy, taken)) for _ in range(GREEDY_CONNECTIONS)]
    await taken.has_all.wait()
    served = await _run_all(pid, host, port, tokens)
    taken.is_over = True
    await asyncio.gather(*takers)
    return served, taken


async def run_one_session(host: str, port: int, token: str, number: int, served: SessionTimes) -> None:
    """Run one session as a client does: handshake, tool list, search."""
    session = Session(host, port, token)
    started = time.monotonic()
    try:
        query = QUERIES[number % len(QUERIES)]
        problem = await session.open() or await session.list_tools() or await session.search(query, "search")
    except (OSError, EOFError) as error:
        problem = type(error).__name__
    served.seconds.append(time.monotonic() - started)
    if problem:
        served.problems[problem] += 1


async def open_until_refused(host: str, port: int, token: str, taken: GreedyCaller) -> None:
    """Open sessions without closing any, until the server refuses one."""
    while not taken.is_over:
        session = Session(host, port, token)
        taken.note(opened=not await session.open())
        session.close()


def create_tokens(home: Path, count: int) -> list[str]:
    """Create the given number of tokens."""
    store = SqliteTokens(home)
    tokens = Tokens(store, time.time)
    made = [tokens.create(f"caller {number}", Level.READ, [], 3_600)[1] for number in range(count)]
    store.close()
    return made


def print_row(title: str, served: SessionTimes) -> None:
    """Print one row of the table."""
    cuts, count = statistics.quantiles(served.seconds, n=100), len(served.seconds)
    print(
        f"| {title} | {count} | {served.problems.total()} | {served.all_seconds:.0f} "
        f"| {served.cpu_seconds * 1000 / count:.0f} | {cuts[49]:.1f} | {cuts[94]:.1f} |",
        flush=True,
    )
    for problem, times in served.problems.most_common():
        print(f"- {times} × {problem}")


if __name__ == "__main__":
    main()
