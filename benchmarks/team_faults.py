"""Stop parts of a team installation under load, and count lost acknowledged writes and wrong answers.

    python -m benchmarks.team_faults [--data FOLDER] [--roots FILE] [--clients N] [--writers N] [--pause S]

Runs real processes on loopback: a PostgreSQL primary with two streaming standbys, two servers, two workers. `--data` is
the data folder of a stopped PostgreSQL server, and `--roots` lists the folders of projects that are indexed in it, one
per line; without them an empty server is created and the workers index packages of Python's library. Users ask
questions with known answers, writers remember notes and search for them, and editors change small repositories and
index them again.

Meanwhile one server is killed, one worker is killed during a job, one worker is suspended (SIGSTOP) during a job and
resumed, and all processes of the primary are killed and a standby is promoted. A client connects to the other server
if its own server has ended, and retries after 503 with Retry-After.

Counts lost acknowledged writes, answers that differ from those before the faults, jobs that ran twice, errors of
requests in flight during a fault, and other errors. The exit status is 1 if anything but errors in flight occurred.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import re
import signal
import statistics
import subprocess
import sys
import sysconfig
import threading
import time
from collections import Counter, defaultdict
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import psycopg
from tests.postgres_server import free_port

from benchmarks.http_load import StatelessClient
from benchmarks.postgres_clusters import Cluster
from benchmarks.processes import process_tree
from benchmarks.team import Question, questions
from deltos.store.jobs import INDEX, JobRequest
from deltos.store.postgres.database import PostgresDatabase
from deltos.store.postgres.jobs import PostgresJobs
from deltos.store.postgres.migrations import SCHEMA_STEPS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

PACKAGES = ("asyncio", "json", "http", "logging", "xml", "importlib")
THINK_SECONDS = 5.0
EDITED_REPOSITORIES = 6
QUESTION_COUNT = 120
HEARTBEAT_SECONDS = 3
DETECTION_SECONDS = 2.0  # time after which a failover manager is assumed to notice that the primary has failed
WAIT_TIMEOUT_SECONDS = 180.0
RETRY_SECONDS = 0.5
SEED = 20
_NOTE = re.compile(r"^Note: .*$", re.MULTILINE)
_INDEX_LINE = re.compile(r"(job \d+) \(index (.*)\) is (started|done|returned to the queue|queued again)")
_CONNECTION_LOST = (ConnectionError, asyncio.IncompleteReadError)


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault, and the time after which the affected part was available again."""

    what: str
    began: float
    ended: float


@dataclass(frozen=True, slots=True)
class Failure:
    """A request that failed."""

    what: str
    sent: float
    ended: float
    text: str


@dataclass(slots=True)
class CallerResults:
    """Answers, failures and retries of all callers."""

    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    failures: list[Failure] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    acknowledged: list[str] = field(default_factory=list)
    retried: list[float] = field(default_factory=list)
    moved: int = 0  # number of requests that were sent to the other server because the connection was closed


class Program:
    """A server or worker process that can be killed, stopped and restarted."""

    def __init__(self, arguments: Sequence[str], settings: dict[str, str]) -> None:
        self._command = [sys.executable, "-P", "-m", "deltos", *arguments]
        self._settings = settings
        self.lines: list[str] = []
        self.killed_at = 0.0
        self.start()

    def start(self) -> None:
        """Start the process, also after a kill."""
        self.process = subprocess.Popen(
            self._command,
            env={**os.environ, **self._settings},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        threading.Thread(target=self._read, args=(self.process,), daemon=True).start()

    def _read(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout
        self.lines.extend(process.stdout)

    def kill(self) -> None:
        """Kill the process with its children."""
        # From now on, requests that lose their connection count as interrupted by the fault.
        self.killed_at = float("inf")
        for pid in process_tree(self.process.pid):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.killed_at = time.monotonic()
        self.process.wait()

    def stop(self) -> None:
        """Stop the process cleanly."""
        self.process.send_signal(signal.SIGCONT)
        self.process.terminate()
        self.process.wait(60)

    def send_to_all(self, number: signal.Signals) -> None:
        """Send a signal to the process and its children."""
        for pid in process_tree(self.process.pid):
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    def running_project(self) -> str:
        """Return the project that this worker is indexing, or "" if it is not indexing."""
        for line in reversed(list(self.lines)):
            if found := _INDEX_LINE.search(line):
                return found[2] if found[3] == "started" else ""
        return ""

    def times_done(self, project: str) -> int:
        """Return how often this worker has indexed a project."""
        lines = [_INDEX_LINE.search(line) for line in list(self.lines)]
        return sum(found is not None and found[2] == project and found[3] == "done" for found in lines)


class Caller(StatelessClient):
    """A client that connects to the other server if its own server has ended."""

    def __init__(self, servers: Sequence[Program], ports: Sequence[int], first: int, seen: CallerResults) -> None:
        super().__init__("127.0.0.1", ports[first])
        self._servers, self._ports, self._at, self._seen = servers, ports, first, seen

    async def call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any] | None:
        """Return the result of a tool, or record the failure and return None."""
        began = time.monotonic()
        while True:
            sent = time.monotonic()
            try:
                status, message = await self.ask("tools/call", {"name": tool, "arguments": arguments})
            except _CONNECTION_LOST as exc:
                if self._servers[self._at].killed_at >= sent:
                    self._record_failure(tool, sent, f"connection lost: {type(exc).__name__}")
                    await self._connect_elsewhere()
                    return None
                await self._connect_elsewhere()
                self._seen.moved += 1
                continue
            if status == "503" and time.monotonic() - began < WAIT_TIMEOUT_SECONDS:
                self._seen.retried.append(sent)
                await asyncio.sleep(RETRY_SECONDS)
                continue
            result: dict[str, Any] = message.get("result", {})
            if status != "200" or result.get("isError", True):
                self._record_failure(tool, sent, f"{status} {json.dumps(message, ensure_ascii=False)[:300]}")
                return None
            self._seen.seconds[tool].append(time.monotonic() - began)
            return result

    def _record_failure(self, tool: str, sent: float, text: str) -> None:
        self._seen.failures.append(Failure(tool, sent, time.monotonic(), text))

    async def _post(self, message: dict[str, Any], *, notification: bool = False) -> tuple[dict[str, str], bytes]:
        return await self._exchange(self._build_request(message, notification=notification))

    async def _connect_elsewhere(self) -> None:
        """Connect to an available server. The other server is tried first."""
        self._writer.close()
        until = time.monotonic() + WAIT_TIMEOUT_SECONDS
        while True:
            self._at = (self._at + 1) % len(self._ports)
            self._port = self._ports[self._at]
            try:
                await self._connect()
            except OSError:
                if time.monotonic() > until:
                    raise
                await asyncio.sleep(0.05)
            else:
                return


class Team:
    """All processes, and the faults applied to them."""

    def __init__(self, folder: Path, primary: Cluster, opened: ExitStack, home: Path) -> None:
        self.primary = primary
        self.faults: list[Fault] = []
        self.standbys = [primary.standby(f"standby_{n}", folder / f"standby_{n}") for n in (1, 2)]
        for standby in self.standbys:
            opened.callback(standby.stop)
        primary.wait_for(*(standby.name for standby in self.standbys))
        hosts = ",".join(f"127.0.0.1:{cluster.port}" for cluster in (primary, *self.standbys))
        self.url = f"postgresql://deltos@{hosts}/deltos?target_session_attrs=read-write"
        self.settings = {
            "DELTOS_DATABASE": self.url,
            "DELTOS_INDEXING": "worker",
            "DELTOS_HOME": str(folder / "home"),
        }
        worker = ("worker", f"--heartbeat={HEARTBEAT_SECONDS}", "--backoff=1")
        self.workers = [Program(worker, self.settings) for _ in range(2)]
        self.ports = [free_port() for _ in range(2)]
        self.servers = [
            Program(("mcp", str(home), "--root", "/", "--http", f"127.0.0.1:{port}"), self.settings)
            for port in self.ports
        ]
        for program in (*self.workers, *self.servers):
            opened.callback(program.stop)
        _wait_until(lambda: all(any("serving" in line for line in server.lines) for server in self.servers), "servers")

    def note(self, what: str, began: float) -> None:
        """Record a fault and its duration."""
        self.faults.append(Fault(what, began, time.monotonic()))
        print(f"- {what}: {time.monotonic() - began:.1f} s", flush=True)

    def kill_server(self) -> None:
        """Kill one of two servers and restart it."""
        began = time.monotonic()
        self.servers[0].kill()
        self.note("a server killed (-9)", began)
        time.sleep(5.0)
        self.servers[0].start()

    def kill_worker(self) -> None:
        """Kill a worker during a job, wait until the other worker has taken over the job, then restart it."""
        lost_writes, other = self.workers
        project = _wait_for_value(lost_writes.running_project, "a job that runs on the first worker")
        done, began = other.times_done(project), time.monotonic()
        lost_writes.kill()
        self.note(f"a worker killed (-9) while it indexed {Path(project).name}", began)
        self._await_taken_over(project, other, done, began)
        lost_writes.start()

    def suspend_worker(self) -> None:
        """Suspend a worker during a job until the other worker has completed the job, then resume it."""
        other, lost_writes = self.workers
        project = _wait_for_value(lost_writes.running_project, "a job that runs on the second worker")
        done, began = other.times_done(project), time.monotonic()
        lost_writes.send_to_all(signal.SIGSTOP)
        self.note(f"a worker suspended (SIGSTOP) while it indexed {Path(project).name}", began)
        self._await_taken_over(project, other, done, began)
        lost_writes.send_to_all(signal.SIGCONT)

    def _await_taken_over(self, project: str, worker: Program, before: int, began: float) -> None:
        _wait_until(lambda: worker.times_done(project) > before, f"{project} to be indexed by the other worker")
        print(f"  the other worker had done it after {time.monotonic() - began:.1f} s", flush=True)

    def lose_primary(self) -> None:
        """Kill the primary, promote the standby with the most data, and make the other standby follow it."""
        began = time.monotonic()
        self.primary.kill()
        time.sleep(DETECTION_SECONDS)
        first, other = sorted(self.standbys, key=Cluster.received, reverse=True)
        first.query("SELECT pg_promote(true, 60)")
        other.follow(first)
        self.primary = first
        self.note(f"the primary lost (-9), {first.name} promoted", began)


def main() -> int:
    """Print the faults and their effects."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="data folder of a stopped PostgreSQL server")
    parser.add_argument("--roots", type=Path, help="file with the folders of the projects, one per line")
    parser.add_argument("--clients", type=int, default=20)
    parser.add_argument("--writers", type=int, default=4)
    parser.add_argument("--pause", type=float, default=15.0, help="seconds between two faults")
    parser.add_argument("--scratch", type=Path, help="folder for standbys and repositories")
    given = parser.parse_args()
    with TemporaryDirectory(dir=given.scratch, ignore_cleanup_errors=True) as scratch, ExitStack() as opened:
        folder = Path(scratch)
        folder.chmod(0o755)
        if given.data:
            primary = Cluster("primary", given.data, memory_mb=1024)
            primary.start()
        else:
            primary = Cluster.made("primary", folder / "primary")
        opened.callback(primary.stop)
        PostgresDatabase(primary.url, migrations=SCHEMA_STEPS).close()
        home = folder / "team"
        _write(home / "readme.py", "def nothing_here():\n    return 0\n")
        team = Team(folder, primary, opened, home)
        library = Path(sysconfig.get_path("stdlib"))
        listed = [Path(line) for line in given.roots.read_text().splitlines() if line] if given.roots else []
        roots = listed or [library / name for name in PACKAGES]
        return asyncio.run(_run(team, roots, folder / "edited", library / PACKAGES[0], given))


async def _run(team: Team, roots: Sequence[Path], edited: Path, large: Path, given: argparse.Namespace) -> int:
    repositories = [_create_repository(edited / f"shop{n}", 0) for n in range(EDITED_REPOSITORIES)]
    await asyncio.to_thread(_index_all, team, [*roots, *repositories])
    with psycopg.connect(team.url, autocommit=True) as connection:
        connection.execute("SET search_path TO deltos")
        asked = [each for root in roots for each in questions(connection, root)]
    asked = random.Random(SEED).sample(asked, min(len(asked), QUESTION_COUNT))
    before = await _answers_before(team, asked)
    seen, ends = CallerResults(), asyncio.Event()

    def caller(number: int) -> Caller:
        return Caller(team.servers, team.ports, number % 2, seen)

    tasks: list[Awaitable[None]] = [
        *(_run_user(caller(n), random.Random(n), asked, before, seen, ends) for n in range(given.clients)),
        *(_run_writer(caller(n), random.Random(f"writer {n}"), seen, ends) for n in range(given.writers)),
        _run_editor(caller(0), repositories, seen, ends),
        _run_reindexer(caller(1), large, ends),
    ]
    running = asyncio.gather(*tasks)
    began = time.monotonic()
    try:
        for act in (team.kill_server, team.kill_worker, team.suspend_worker, team.lose_primary):
            await asyncio.sleep(given.pause)
            await asyncio.to_thread(act)
        await asyncio.sleep(2 * given.pause)
    finally:
        ends.set()
        await running
    print(f"\n{time.monotonic() - began:.0f} s under load ({os.getloadavg()[0]:.0f} runnable processes at the end)\n")
    lost_writes = await _missing_words(caller(0), seen.acknowledged)
    stale = await asyncio.to_thread(_stale_repositories, team, repositories)
    twice = _jobs_done_twice(team)
    return _print_results(seen, team.faults, lost_writes, stale, twice)


# --- questions


async def _answers_before(team: Team, asked: Sequence[Question]) -> list[str]:
    """Return the answers before any fault. Both servers must give the same answers."""
    found: list[str] = []
    for port in team.ports:
        session = StatelessClient("127.0.0.1", port)
        await session.open()
        answers = []
        for question in asked:
            _, message = await session.ask("tools/call", {"name": question.tool, "arguments": question.arguments})
            answers.append(signature(message["result"]))
        session.close()
        if found and found != answers:
            differ = sum(one != other for one, other in zip(found, answers, strict=True))
            sys.exit(f"The two servers differ in {differ} of {len(asked)} answers before any fault")
        found = answers
    return found


def signature(result: dict[str, Any]) -> str:
    """Return the ordered results of an answer, without notes and without content that depends on the session."""
    results = result.get("structuredContent", {}).get("results")
    if results is not None:
        keys = ("id", "file_path", "start_line", "end_line")
        return json.dumps([[each.get(key) for key in keys] for each in results])
    return _NOTE.sub("", result["content"][0]["text"]).strip()


async def _run_user(
    caller: Caller,
    random_source: random.Random,
    asked: Sequence[Question],
    before: Sequence[str],
    results: CallerResults,
    ends: asyncio.Event,
) -> None:
    """Ask one question after another, with a pause after each answer."""
    await caller.open()
    while not await _is_over(ends, random_source.uniform(0.5, 1.5) * THINK_SECONDS):
        number = random_source.randrange(len(asked))
        result = await caller.call(asked[number].tool, asked[number].arguments)
        if result is not None and signature(result) != before[number]:
            results.wrong.append(f"{asked[number]}: {signature(result)[:200]}, not {before[number][:200]}")
    caller.close()


async def _run_writer(
    caller: Caller, random_source: random.Random, results: CallerResults, ends: asyncio.Event
) -> None:
    """Remember notes, and search for acknowledged notes."""
    await caller.open()
    mine: list[str] = []
    while not await _is_over(ends, random_source.uniform(0.5, 1.5)):
        word, *others = ("".join(random_source.choices("bcdfghklmnprstvzaeiou", k=9)) for _ in range(9))
        if await caller.call("remember", {"text": f"The {word} goes with {' '.join(others)}.", "kind": "decision"}):
            mine.append(word)
            results.acknowledged.append(word)
        if mine:
            word = random_source.choice(mine[-3:] if random_source.random() < 0.7 else mine)
            result = await caller.call("search", {"query": word, "scope": ["memory"]})
            if result is not None and not _contains_word(result, word):
                results.wrong.append(f"{word} was acknowledged but not found: {json.dumps(result)[:200]}")
    caller.close()


def _contains_word(result: dict[str, Any], word: str) -> bool:
    """Return whether the results contain a word. The query, which the answer repeats, does not count."""
    return word in json.dumps(result.get("structuredContent", {}).get("results", []))


async def _run_editor(
    caller: Caller, repositories: Sequence[Path], results: CallerResults, ends: asyncio.Event
) -> None:
    """Edit a repository, index it, and search for the change."""
    await caller.open()
    generation = 0
    while not await _is_over(ends, 1.0):
        generation += 1
        root = repositories[generation % len(repositories)]
        await asyncio.to_thread(_create_repository, root, generation)
        await caller.call("index_repository", {"repo_path": str(root)})
        result = await caller.call("search_code", {"query": _function_name(root, generation), "project_id": str(root)})
        answer = json.dumps(result)
        if (
            result is not None
            and f'"symbol": "{_function_name(root, generation)}"' not in answer
            and "Note: " not in answer
        ):
            results.wrong.append(f"{_function_name(root, generation)} is not found, without a note: {answer[:300]}")
    caller.close()


async def _run_reindexer(caller: Caller, root: Path, ends: asyncio.Event) -> None:
    """Index a large repository again and again."""
    await caller.open()
    while not await _is_over(ends, 2.0):
        await caller.call("index_repository", {"repo_path": str(root), "force_reindex": True})
    caller.close()


async def _is_over(ends: asyncio.Event, seconds: float) -> bool:
    """Wait for some seconds, and return whether the run is over."""
    with suppress(TimeoutError):
        await asyncio.wait_for(ends.wait(), seconds)
    return ends.is_set()


def _create_repository(root: Path, generation: int) -> Path:
    for number in range(8):
        name = f"{_function_name(root, generation)}_{number}" if number else _function_name(root, generation)
        _write(
            root / f"part{number}.py", f'def {name}(amount):\n    """Generation {generation}."""\n    return amount\n'
        )
    return root


def _function_name(root: Path, generation: int) -> str:
    return f"{root.name}_total_{generation}"


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


# --- results


def _index_all(team: Team, roots: Sequence[Path]) -> None:
    """Index projects that are not indexed yet."""
    database = PostgresDatabase(team.url, migrations=None)
    jobs = PostgresJobs(lambda: database)
    known = {row[0] for row in database.query("SELECT value FROM meta WHERE key = 'root'")}
    for root in roots:
        if str(root) not in known:
            jobs.add(JobRequest(INDEX, str(root)))
    _wait_until(lambda: not [job for job in jobs.all() if job.kind == INDEX], "first indexes", WAIT_TIMEOUT_SECONDS * 4)
    database.close()


async def _missing_words(caller: Caller, words: Sequence[str]) -> list[str]:
    """Return the words that occur in no observation."""
    await caller.open()
    lost_writes = []
    for word in words:
        result = await caller.call("search", {"query": word, "scope": ["memory"]})
        if result is None or not _contains_word(result, word):
            lost_writes.append(word)
    caller.close()
    return lost_writes


def _stale_repositories(team: Team, repositories: Sequence[Path]) -> list[str]:
    """Return the repositories whose index still differs from their files after the timeout."""
    database = PostgresDatabase(team.url, migrations=None)

    def names() -> dict[str, list[str]]:
        found: dict[str, list[str]] = {str(root): [] for root in repositories}
        sql = "SELECT m.value, d.name FROM meta m JOIN definition d ON d.project = m.project WHERE m.key = 'root'"
        for root, name in database.query(sql):
            if root in found:
                found[root].append(name)
        return found

    wanted = {
        str(root): sorted(re.findall(r"def (\w+)", "".join(path.read_text() for path in root.glob("*.py"))))
        for root in repositories
    }
    with suppress(TimeoutError):
        _wait_until(lambda: all(sorted(each) == wanted[root] for root, each in names().items()), "indexes")
    stale = [f"{root}: {sorted(each)}" for root, each in names().items() if sorted(each) != wanted[root]]
    database.close()
    return stale


def _jobs_done_twice(team: Team) -> list[str]:
    lines = [_INDEX_LINE.search(line) for worker in team.workers for line in worker.lines]
    done = Counter(found[1] for found in lines if found and found[3] == "done")
    return [job for job, times in done.items() if times > 1]


def _print_results(
    results: CallerResults, faults: Sequence[Fault], lost_writes: list[str], stale: list[str], twice: list[str]
) -> int:
    by_fault: dict[str, list[Failure]] = defaultdict(list)
    for failure in results.failures:
        hit = next((fault for fault in faults if failure.sent <= fault.ended and failure.ended >= fault.began), None)
        by_fault[hit.what if hit else ""].append(failure)
    others = by_fault.pop("", [])
    print("| tool | answers | p50 ms | p95 ms | longest ms |\n|---|--:|--:|--:|--:|")
    for tool, times in sorted(results.seconds.items()):
        ordered = sorted(times)
        p95 = ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))]
        row = (statistics.median(ordered), p95, ordered[-1])
        print(f"| {tool} | {len(ordered)} | {' | '.join(f'{at * 1000:,.0f}' for at in row)} |")
    print("\n| fault | errors of requests in flight | successful retries after 503 |\n|---|--:|--:|")
    for fault in faults:
        waited = sum(fault.began <= at <= fault.ended + RETRY_SECONDS for at in results.retried)
        print(f"| {fault.what} | {len(by_fault[fault.what])} | {waited} |")
    print(
        f"\nacknowledged writes: {len(results.acknowledged)}, lost: {len(lost_writes)}; "
        f"wrong answers: {len(results.wrong)}; errors of other requests: {len(others)}; stale indexes: {len(stale)}; "
        f"jobs done twice: {len(twice)}; "
        f"repeated over a new connection: {results.moved}; retries after 503: {len(results.retried)}"
    )
    texts = Counter(f"{failure.what}: {failure.text}" for failures in by_fault.values() for failure in failures)
    for title, found in (
        ("in flight", [f"{count} × {text}" for text, count in texts.most_common(8)]),
        ("other error", [f"{each.what} {each.text}" for each in others]),
        ("lost", lost_writes),
        ("wrong", results.wrong),
        ("stale", stale),
        ("twice", twice),
    ):
        for each in found[:8]:
            print(f"- {title}: {each}")
    return 1 if others or lost_writes or results.wrong or stale or twice else 0


def _wait_until(condition: Callable[[], object], what: str, seconds: float = WAIT_TIMEOUT_SECONDS) -> None:
    until = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > until:
            raise TimeoutError(f"waited {seconds:.0f} s for {what}")
        time.sleep(0.1)


def _wait_for_value(value: Callable[[], str], what: str) -> str:
    _wait_until(value, what)
    return value()


if __name__ == "__main__":
    raise SystemExit(main())
