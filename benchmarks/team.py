"""Measure a team installation under load: two servers over one PostgreSQL, many repositories, users with think time.

    python -m benchmarks.team --database URL [--read URL …] --roots FILE [--clients N …] [--seconds S] [--record FILE]
    python -m benchmarks.team --plot FILE --to FILE.svg

`--roots` lists the folders of projects that are indexed in the database, one per line. A user opens a session at one of
two real servers and queries one repository after another, five seconds on average after each answer: a name that only
one file defines (search_code, find_references), or words of a chunk's documentation (search_code, search). An answer
without the right file counts as missed. CPU time is that of servers and database, per answer. Load is the average
number of runnable processes on the machine. `--record` appends a line of JSON to a file, which `--plot` draws.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import statistics
import sys
import time
from collections import Counter, defaultdict
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

import psycopg

from benchmarks.http_load import Session, start_server
from benchmarks.processes import process_tree
from deltos.store.postgres.project_tables import project_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SERVERS = 2
THINK_SECONDS = 5.0
QUESTIONS_PER_PROJECT = 12
WORDS_PER_QUESTION = (4, 8)  # minimum and maximum number of words of a question made from documentation
TOOLS = ("search_code", "find_references", "search")
SEED = 20


class Question(NamedTuple):
    """A question about a repository, and the file that the answer must name."""

    tool: str
    arguments: dict[str, Any]
    path: str


@dataclass(slots=True)
class Answers:
    """The answers that all clients received, and their times."""

    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    missed: Counter[str] = field(default_factory=Counter)
    problems: Counter[str] = field(default_factory=Counter)
    loads: list[int] = field(default_factory=list)

    @property
    def load_average(self) -> float:
        """Mean number of runnable processes on the machine."""
        return statistics.fmean(self.loads) if self.loads else 0.0

    @property
    def count(self) -> int:
        """Number of answers of all tools."""
        return sum(map(len, self.seconds.values()))


class Size(NamedTuple):
    """Amount of data in the database."""

    projects: int
    chunks: int
    lines: int
    megabytes: float


def main() -> int:
    """Print a table; return 1 if a query failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--database")
    parser.add_argument("--roots", type=Path)
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 20, 200])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--record", type=Path)
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--to", type=Path)
    given = parser.parse_args()
    if given.plot:
        given.to.write_text(plot([json.loads(line) for line in given.plot.read_text().splitlines()]))
        return 0
    roots = [Path(line) for line in given.roots.read_text().splitlines() if line]
    with psycopg.connect(given.database, autocommit=True) as connection:
        connection.execute("SET search_path TO deltos")
        size = size_of(connection)
        asked = [each for root in roots for each in questions(connection, root)]
        postmasters = [_postmaster_pid(connection)]
    settings = {"DELTOS_DATABASE": given.database}
    print(f"{size.projects} projects, {size.chunks:,} chunks, {size.lines:,} lines, {size.megabytes:,.0f} MB\n")
    print("| clients | tool | answers | p50 ms | p95 ms | without the file | errors | CPU ms each | load |")
    print("|--:|---|--:|--:|--:|--:|--:|--:|--:|")
    failed = 0
    for count in given.clients:
        answers, cpu = run_load(settings, roots[0], asked, count, given.seconds, postmasters)
        failed += sum(answers.problems.values())
        print_rows(count, answers, cpu)
        if given.record:
            with given.record.open("a") as out:
                out.write(json.dumps(curve_point(size, count, answers, cpu)) + "\n")
    return 1 if failed else 0


def size_of(connection: psycopg.Connection[Any]) -> Size:
    """Return the current amount of data."""
    row = connection.execute(
        "SELECT (SELECT count(*) FROM project), (SELECT count(*) FROM chunk), (SELECT sum(lines) FROM file),"
        " pg_database_size(current_database())"
    ).fetchone()
    assert row
    return Size(row[0], row[1], row[2], row[3] / 1e6)


def questions(connection: psycopg.Connection[Any], root: Path) -> list[Question]:
    """Return random but reproducible questions about a project."""
    row = connection.execute("SELECT id FROM project WHERE name = %s", (project_name(root),)).fetchone()
    if row is None:
        sys.exit(f"{root} is not indexed in this database")
    chance = random.Random(f"{SEED} {root.name}")
    named = connection.execute(
        "SELECT min(d.name), min(f.path) FROM definition d JOIN file f ON f.project = d.project AND f.id = d.file_id"
        " WHERE d.project = %s AND d.kind IN ('function', 'method', 'class', 'struct') GROUP BY d.name"
        " HAVING count(*) = 1 AND length(d.name) > 7 ORDER BY 1",
        row,
    ).fetchall()
    documented = connection.execute(
        "SELECT c.doc_words, f.path FROM chunk c JOIN file f ON f.project = c.project AND f.id = c.file_id"
        " WHERE c.project = %s AND length(c.doc_words) > 60 ORDER BY c.id",
        row,
    ).fetchall()
    found = []
    for name, path in chance.sample(named, min(len(named), QUESTIONS_PER_PROJECT)):
        found.append(Question("search_code", {"query": name, "project_id": str(root)}, path))
        found.append(Question("find_references", {"symbol": name, "project_path": str(root)}, path))
    for words, path in chance.sample(documented, min(len(documented), QUESTIONS_PER_PROJECT)):
        query = " ".join(words.split()[: chance.randint(*WORDS_PER_QUESTION)])
        found += [Question(tool, {"query": query, "project_id": str(root)}, path) for tool in ("search_code", "search")]
    return found


def run_load(
    settings: dict[str, str], root: Path, asked: Sequence[Question], count: int, seconds: float, postmasters: list[int]
) -> tuple[Answers, float]:
    """Let `count` users query for `seconds`. Return the answers, and the CPU seconds of servers and database."""
    with ExitStack() as opened, _set_environment(settings):
        home = opened.enter_context(TemporaryDirectory())
        running = [opened.enter_context(start_server(root, home, "--root", "/")) for _ in range(SERVERS)]
        pids = [process.pid for process, _, _ in running]
        answers = Answers()
        cpu = asyncio.run(
            _ask_all([(h, p) for _, h, p in running], asked, count, seconds, answers, [*pids, *postmasters])
        )
    return answers, cpu


@contextmanager
def _set_environment(settings: dict[str, str]) -> Iterator[None]:
    """Set the environment of servers that are started afterwards."""
    before = {name: os.environ.get(name) for name in settings}
    os.environ.update(settings)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value


async def _ask_all(
    servers: Sequence[tuple[str, int]],
    asked: Sequence[Question],
    count: int,
    seconds: float,
    answers: Answers,
    pids: Sequence[int],
) -> float:
    for host, port in servers:  # The first queries are not counted, because they load code and models.
        await _warm_up(Session(host, port), asked)
    sessions = [Session(*servers[number % len(servers)]) for number in range(count)]
    await asyncio.gather(*(session.open() for session in sessions))
    before = sum(map(_cpu_seconds, pids))
    ends_at = time.monotonic() + seconds
    watching = asyncio.create_task(_watch_load(answers))
    await asyncio.gather(*(_run_user(s, random.Random(n), asked, ends_at, answers) for n, s in enumerate(sessions)))
    watching.cancel()
    spent = sum(map(_cpu_seconds, pids)) - before
    for session in sessions:
        session.close()
    return spent


async def _watch_load(answers: Answers) -> None:
    """Record the number of runnable processes every second."""
    while True:
        await asyncio.sleep(1.0)
        answers.loads.append(_count_runnable_threads())


async def _warm_up(session: Session, asked: Sequence[Question]) -> None:
    await session.open()
    for tool in TOOLS:
        question = next(each for each in asked if each.tool == tool)
        await session.ask("tools/call", {"name": tool, "arguments": question.arguments})
    session.close()


async def _run_user(
    session: Session, random_source: random.Random, asked: Sequence[Question], ends_at: float, answers: Answers
) -> None:
    """Ask one question after another, with a pause after each answer."""
    await asyncio.sleep(random_source.uniform(0, THINK_SECONDS))
    while time.monotonic() < ends_at:
        question = random_source.choice(asked)
        started = time.monotonic()
        status, message = await session.ask("tools/call", {"name": question.tool, "arguments": question.arguments})
        answers.seconds[question.tool].append(time.monotonic() - started)
        result = message.get("result", {})
        if status != "200" or result.get("isError", True):
            answers.problems[f"{question.tool}: {status} {json.dumps(message)[:300]}"] += 1
        elif question.path not in json.dumps(result.get("content", ""), ensure_ascii=False):
            answers.missed[question.tool] += 1
        await asyncio.sleep(random_source.uniform(0.5, 1.5) * THINK_SECONDS)


def print_rows(count: int, answers: Answers, cpu: float) -> None:
    """Print the table rows for one number of clients."""
    for tool in TOOLS:
        times = sorted(answers.seconds[tool])
        if times:
            problems = sum(n for problem, n in answers.problems.items() if problem.startswith(f"{tool}:"))
            p50, p95 = (f"{at * 1000:,.0f}" for at in _percentiles(times))
            print(
                f"| {count} | {tool} | {len(times)} | {p50} | {p95} | {answers.missed[tool]} | {problems} "
                f"| {cpu * 1000 / answers.count:.1f} | {answers.load_average:.1f} |"
            )
    for problem, times_seen in answers.problems.most_common(5):
        print(f"- {times_seen} × {problem}")


def curve_point(size: Size, count: int, answers: Answers, cpu: float) -> dict[str, Any]:
    """Return the CPU time and the times of answers for one size of the database."""
    times = {tool: [round(at * 1000, 1) for at in _percentiles(sorted(answers.seconds[tool]))] for tool in TOOLS}
    return {
        **size._asdict(),
        "clients": count,
        "p50_p95_ms": times,
        "cpu_ms": round(cpu * 1000 / answers.count, 1),
        "load": round(answers.load_average, 1),
    }


def _percentiles(ordered: Sequence[float]) -> tuple[float, float]:
    if not ordered:
        return 0.0, 0.0
    return statistics.median(ordered), ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))]


def _postmaster_pid(connection: psycopg.Connection[Any]) -> int:
    """Return the root process of a database server on this machine."""
    pid = connection.info.backend_pid
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def _count_runnable_threads() -> int:
    """Return the number of threads on the machine that can run."""
    return int(Path("/proc/loadavg").read_text().split()[3].partition("/")[0])


def _cpu_seconds(pid: int) -> float:
    """Return the CPU time of a process and its descendants, including ended ones."""
    total = 0
    for each in process_tree(pid):
        try:
            fields = Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue  # The process has already ended.
        total += sum(map(int, fields[11:15] if each == pid else fields[11:13]))
    return total / os.sysconf("SC_CLK_TCK")


def plot(points: Sequence[dict[str, Any]]) -> str:
    """Draw CPU time per answer and median time of each tool over the number of chunks.

    The drawing is an SVG with one line for each number of clients.
    """
    width, height, left, foot, legend = 760, 360, 60, 44, 190
    most_chunks = max(p["chunks"] for p in points)
    lines: list[tuple[str, str, str, list[tuple[int, float]]]] = []
    for clients, dashes in zip(sorted({p["clients"] for p in points}), ("", "6 4", "2 3"), strict=False):
        chosen = sorted((p for p in points if p["clients"] == clients), key=lambda p: p["chunks"])
        if len(chosen) > 1:
            series = {"CPU for an answer": [(p["chunks"], p["cpu_ms"]) for p in chosen]}
            for tool in TOOLS:
                series[tool] = [(p["chunks"], p["p50_p95_ms"][tool][0]) for p in chosen if p["p50_p95_ms"][tool][0]]
            for (name, values), colour in zip(series.items(), ("#111", "#2563eb", "#d97706", "#059669"), strict=True):
                lines.append((f"{name}, {clients}", colour, dashes, values))
    most_ms = max(ms for *_, values in lines for _, ms in values)

    def at(chunks: float, milliseconds: float) -> str:
        x = left + chunks / most_chunks * (width - left - legend)
        return f"{x:.1f},{height - foot - milliseconds / most_ms * (height - foot - 20):.1f}"

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif">',
        f'<rect width="{width}" height="{height}" fill="#fff"/><g font-size="12">',
    ]
    for share in (0, 0.25, 0.5, 0.75, 1):
        x, y = at(share * most_chunks, share * most_ms).split(",")
        parts.append(
            f'<text x="{x}" y="{height - foot + 18}" text-anchor="middle">{share * most_chunks / 1000:.0f}k</text>'
        )
        parts.append(f'<text x="{left - 8}" y="{y}" text-anchor="end">{share * most_ms:.0f} ms</text>')
        parts.append(f'<path d="M{left},{y} H{width - legend}" stroke="#ddd"/>')
    for number, (name, colour, dashes, values) in enumerate(lines):
        style = f'fill="none" stroke="{colour}" stroke-width="2" stroke-dasharray="{dashes}"'
        parts.append(f'<polyline points="{" ".join(at(*value) for value in values)}" {style}/>')
        parts += [f'<circle cx="{x}" cy="{y}" r="3" fill="{colour}"/>' for x, y in (at(*v).split(",") for v in values)]
        y = f"{24 + 18 * number}"
        parts.append(f'<path d="M{width - legend + 12},{y} h24" {style}/>')
        parts.append(f'<text x="{width - legend + 42}" y="{y}" dy="4">{name}</text>')
    parts.append(
        f'<text x="{left}" y="{height - 6}">chunks in the database; medians; number of clients after each name</text>'
        "</g></svg>"
    )
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    raise SystemExit(main())
