"""Search for data that one user can see although only other users may.

    python -m benchmarks.team_rights [--questions 5000] [--unchecked 1500] [--repositories 50] [--people 24] [--seed 20]

Each repository consists of files of Python's standard library. Next to every occurrence of the repository's query word
there is a secret word, which no query contains: in code, file names, documentation, an API, a commit and an
observation. A folder inside some repositories has its own query word and secret. An answer leaks if it contains the
secret of a repository or folder that the user may not read.

Permissions are those of tokens: projects, one folder of a project, workspaces, or everything. Two real servers answer
random queries over one real PostgreSQL, with a role that is subject to row-level security. Then one process runs the
same queries with the application's own checks disabled, to test the database alone. The last table compares the cost of
searches as the owner, to whom row-level security does not apply, as the role, and as the role for a caller who may read
two projects.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import statistics
import string
import sys
import sysconfig
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

import psycopg
from tests.calling import ToolClient
from tests.postgres_server import empty_database, role_url, server
from tests.repositories import git, write_files
from tests.server.over_http.served import MODERN_META, Served, rpc

from deltos.app import App
from deltos.config import Config
from deltos.confinement import Confinement, confined
from deltos.domains.docs.library import NewSource
from deltos.errors import DeltosError
from deltos.open_stores import open_tokens, open_workspaces
from deltos.server.access import Level, Tokens
from deltos.store.tokens import WORKSPACE_PREFIX
from deltos.workspace.identity import memory_scopes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.server.raw import JsonObject

FILES_PER_PLACE = 3
INNER_FOLDER_INTERVAL = 5
_PARTS_OF_ID = re.compile("[:#]")
CONCURRENT_QUERIES = 16
CONCURRENT_INDEX_RUNS = 4
LINES_PER_FILE = 120
COST_QUERIES = 60
API_TEMPLATE = "openapi: 3.0.0\ninfo: {title: %s, version: '1'}\npaths:\n  /%s:\n    get: {summary: list %s}\n"

Question = tuple[str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Place:
    """A repository, or the folder inside it, with its query word and its secret word."""

    root: Path
    word: str
    secret: str


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository, some of which contain a folder with its own permissions."""

    top: Place
    inner: Place | None

    @property
    def places(self) -> tuple[Place, ...]:
        return (self.top, self.inner) if self.inner else (self.top,)


STATELESS = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call"}


@dataclass(frozen=True, slots=True)
class User:
    """A user with a token."""

    roots: tuple[Path, ...]  # readable folders; if empty, the user may read everything
    token: str
    secrets: frozenset[str]
    headers: dict[str, str] = field(default_factory=dict)


class Team:
    """Repositories in one database, and users with tokens."""

    def __init__(self, folder: Path, random_: random.Random, repositories: int, people: int) -> None:
        self.folder = folder
        self.random = random_
        self.owner = empty_database()
        self.database = role_url()
        self.config = Config(folder / "home", database=self.database)
        sources = sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py"))
        self.repositories = [self._create_repository(n, sources) for n in range(repositories)]
        self.secrets = {place.secret: place for each in self.repositories for place in each.places}
        self._index()
        self.people = [self._create_person(n) for n in range(people)]

    def _new_word(self, start: str) -> str:
        return start + "".join(self.random.choices(string.ascii_lowercase, k=9))

    def _create_repository(self, number: int, sources: Sequence[Path]) -> Repository:
        root = self.folder / "served" / f"repo{number:02d}"
        top = Place(root, self._new_word("ask"), self._new_word("sec"))
        inner = (
            None
            if number % INNER_FOLDER_INTERVAL
            else Place(root / "inner", self._new_word("ask"), self._new_word("sec"))
        )
        git_root(root)
        for place in filter(None, (top, inner)):
            write_files(place.root, _files_of_place(place, self.random.sample(sources, FILES_PER_PLACE)))
            git(root, "add", "--all")
            git(root, "commit", "--quiet", f"--message=Let {place.word} work with {place.secret}")
        return Repository(top, inner)

    def _index(self) -> None:
        with closing(App(self.config)) as app, ThreadPoolExecutor(CONCURRENT_INDEX_RUNS) as threads:
            tools = app.tools()

            def index(place: Place) -> None:
                project = app.domains.projects.index_of(place.root)
                project.index()
                project.catch_up(wait_seconds=60.0)
                for name in ("docs", "api.yaml"):
                    new = NewSource(str(place.root / name), f"{place.word}-{name[:3]}", place.root, (place.root,))
                    for source in app.domains.docs.library.add(new).sources:
                        app.domains.docs.library.crawls.run(source.id, lambda: None)
                text = f"We decided that {place.word} keeps {place.secret} in step"
                ToolClient(tools, place.root).call("remember", text=text)

            list(threads.map(index, self.secrets.values()))

    def _create_person(self, number: int) -> User:
        roots: list[Path] = []
        granted: list[str] = []
        if number:
            most = min(10, len(self.repositories))
            chosen = self.random.sample(self.repositories, self.random.randint(1, most))
            roots = [self.random.choice(each.places).root for each in chosen]
            granted = [str(root) for root in roots]
            if number % 3 == 0:
                name = f"team{number}"
                with closing(open_workspaces(self.config.home, self.database)) as workspaces:
                    workspaces.add(name, granted)
                granted = [f"{WORKSPACE_PREFIX}{name}"]
        with closing(open_tokens(self.config.home, self.database)) as store:
            _, token = Tokens(store, time.time).create(f"p{number}", Level.READ, granted, None)
        seen = {
            secret
            for secret, place in self.secrets.items()
            if not roots or any(place.root.is_relative_to(root) for root in roots)
        }
        return User(tuple(roots), token, frozenset(seen))

    # ------------------------------------------------------------------ questions

    def question(self, ids: Sequence[str]) -> Question:
        """Return a query about a random repository or inner folder."""
        choice = self.random.choice
        place = choice(choice(self.repositories).places)
        words = choice(
            (place.word, f"{place.word} handler", f"how does {place.word} keep in step", "decided keeps step")
        )
        project = choice(("", "*", place.root.name, str(place.root), place.root.parent.name, "team3", "team6"))
        return choice(
            (
                ("search_code", {"query": words, "project_id": project, "limit": 20}),
                ("search_code", {"query": f"{place.word}_handler_1", "project_id": project}),
                ("search", {"query": words, "limit": 20} | ({"project_id": project} if project else {})),
                ("search", {"query": words, "scope": [choice(("memory", "docs", "apis", "history", "code"))]}),
                ("search_docs", {"query": words}),
                ("search_docs", {"query": words, "source": f"{place.word}-doc"}),
                ("find_symbol", {"symbol": f"{place.word}_handler_1", "project_path": str(place.root)}),
                ("find_references", {"symbol": f"{place.word}_handler_1", "project_path": choice(("*", project))}),
                ("get_impact", {"symbol": f"{place.word}_handler_1", "project_path": str(place.root)}),
                ("get_context", {"symbol": f"{place.word}_handler_1", "project_path": str(place.root)}),
                ("get_stats", {"project_path": choice((str(place.root), "*"))}),
                ("list_sources", {}),
                ("list_apis", {"filter": place.word[:6]}),
                ("get_api_endpoints", {"api_name": f"{place.word}-api"}),
                ("crawl_status", {"source": f"{place.word}-doc"}),
                ("fetch", {"id": choice(ids)} if ids else {"id": "x"}),
                ("get_observations", {"ids": [choice(ids)]} if ids else {"ids": ["x"]}),
            )
        )

    def leaks(self, person: User, answer: str) -> list[str]:
        """Return the secret words in an answer that the user may not see."""
        return [secret for secret in self.secrets if secret not in person.secrets and secret in answer]


def git_root(root: Path) -> None:
    """Create an empty repository."""
    root.mkdir(parents=True)
    git(root, "init", "--quiet", "--initial-branch=main")


def _files_of_place(place: Place, sources: Sequence[Path]) -> dict[str, str]:
    """Return source files into which the query word and the secret word of a place are inserted."""
    files = {
        "docs/guide.md": f"# Guide to {place.word}\n\nThe {place.word} keeps {place.secret} in step with the rest.\n",
        "api.yaml": API_TEMPLATE % (f"{place.word}-api", place.word, f"{place.word} of {place.secret}"),
        f"{place.secret}_uses.py": f"from {place.secret}_0 import {place.word}_handler_1\n\n{place.word}_handler_1()\n",
    }
    for n, source in enumerate(sources):
        lines = source.read_text("utf-8", "replace").splitlines()[:LINES_PER_FILE]
        added = f'def {place.word}_handler_{n + 1}():\n    """Let {place.word} keep {place.secret}."""\n'
        files[f"{place.secret}_{n}.py"] = "\n".join(f"# {line}" for line in lines) + f"\n\n{added}    return 1\n"
    return files


def all_ids(team: Team) -> list[str]:
    """Return the ids of all content, listed by a user who may read everything."""
    with psycopg.connect(team.owner) as connection:
        observations = [str(row[0]) for row in connection.execute("SELECT id FROM deltos.observation")]
    codes = [f"code:{each.top.secret}_0.py#{each.top.word}_handler_1" for each in team.repositories]
    return [*observations, *codes]


# ---------------------------------------------------------------------- over HTTP


def ask_over_http(team: Team, questions: int, seconds: float) -> None:
    """Query two servers and print the leaks."""
    served = team.folder / "served"
    command = [sys.executable, "-P", "-m", "deltos", "mcp", str(served), "--http", "127.0.0.1:0"]
    servers = [
        Served([*command, "--require-token", "--rate", "0"], team.config.home, DELTOS_DATABASE=team.database)
        for _ in range(2)
    ]
    try:
        headers = [{"Authorization": f"Bearer {person.token}", **STATELESS} for person in team.people]
        ids = all_ids(team)
        counts, leaked, times = Counter[str](), Counter[str](), list[float]()
        asked = [(n, team.random.randrange(len(team.people)), team.question(ids)) for n in range(questions)]

        until = time.monotonic() + seconds

        def ask(each: tuple[int, int, Question]) -> tuple[int, Question, JsonObject | None]:
            n, number, (name, arguments) = each
            started = time.perf_counter()
            if time.monotonic() > until:
                return number, (name, arguments), None
            call = rpc("tools/call", {"name": name, "arguments": arguments, "_meta": MODERN_META}, n + 1)
            reply = servers[n % 2].post(call, {**headers[number], "Mcp-Name": name})
            times.append(1000 * (time.perf_counter() - started))
            return number, (name, arguments), reply.message

        with ThreadPoolExecutor(CONCURRENT_QUERIES) as threads:
            for number, question, message in threads.map(ask, asked):
                if message is None:
                    continue
                answer = json.dumps(message, ensure_ascii=False)
                _count(counts, leaked, team, team.people[number], question, answer, has_result="result" in message)
    finally:
        for each in servers:
            each.shut_down()
    print("\n| two servers, all checks on | |\n|---|--:|")
    _print(counts, leaked, len(team.people))
    print(f"| p50 / p95 of an answer | {_percentile(times, 50):.0f} / {_percentile(times, 95):.0f} ms |")


def _count(
    counts: Counter[str],
    leaked: Counter[str],
    team: Team,
    person: User,
    question: Question,
    answer: str,
    *,
    has_result: bool,
) -> None:
    name, arguments = question
    for given in (text for value in arguments.values() for text in (value if isinstance(value, list) else [value])):
        # Ignore secret words that the query itself contains, for example in a file name that is part of an id.
        for part in (str(given), *_PARTS_OF_ID.split(str(given))[1:]):
            answer = answer.replace(part, "?") if part else answer
    counts["questions"] += 1
    counts["answered"] += has_result
    counts["answers with secrets of the user's own projects"] += any(secret in answer for secret in person.secrets)
    if found := team.leaks(person, answer):
        leaked[name] += 1
        print(f"LEAK {name}: {found[:3]}\n{answer[:800]}", file=sys.stderr)


def _print(counts: Counter[str], leaked: Counter[str], people: int) -> None:
    rows = ("questions", "answered", "answers with secrets of the user's own projects")
    print(f"| people | {people} |")
    for row in rows:
        print(f"| {row} | {counts[row]:,} |")
    print(f"| **leaks** | **{leaked.total()}**{f' ({dict(leaked)})' if leaked else ''} |")


# ---------------------------------------------------------------------- the database alone


def ask_without_checks(team: Team, questions: int) -> None:
    """Query with the application's checks disabled, so that only row-level security protects data."""
    counts, leaked = Counter[str](), Counter[str]()
    confinements = [Confinement(person.roots, memory_scopes(person.roots)) for person in team.people[1:]]
    ids = all_ids(team)
    off = [mock.patch.object(Confinement, name, return_value=True) for name in ("admits", "admits_memory")]
    with closing(App(team.config)) as app:
        tools = app.tools()
        for patch in off:
            patch.start()
        for _ in range(questions):
            number = team.random.randrange(len(confinements))
            person, (name, arguments) = team.people[number + 1], team.question(ids)
            if name in ("find_symbol", "get_context"):  # These tools read lines from disk and not from the database.
                continue
            with confined(confinements[number]):
                try:
                    answer = ToolClient(tools, person.roots[0]).call(name, **arguments).text
                except DeltosError as error:
                    answer = f"Error: {error}"
            _count(counts, leaked, team, person, (name, arguments), answer, has_result=not answer.startswith("Error"))
        for patch in off:
            patch.stop()
    print("\n| one process, application checks disabled | |\n|---|--:|")
    _print(counts, leaked, len(team.people) - 1)


# ---------------------------------------------------------------------- the cost


def measure_cost(team: Team) -> None:
    """Print the CPU time of a search in the process and in PostgreSQL, with and without row-level security."""
    places = [each.top for each in team.repositories]
    first, second = places[0], places[1]
    asked = [f"how does {place.word} keep in step" for place in (first, second)] * (COST_QUERIES // 2)
    two = Confinement((first.root, second.root), memory_scopes((first.root, second.root)))
    ways: dict[str, tuple[str, Confinement | None]] = {
        "owner, without row-level security": (team.owner, None),
        "role, unrestricted caller": (team.database, None),
        "role, caller with two projects": (team.database, two),
    }
    print("\n| search_code in one of the projects | CPU, server process | CPU, PostgreSQL | p50 |\n|---|--:|--:|--:|")
    for name, (url, confinement) in ways.items():
        with closing(App(Config(team.config.home, database=url))) as app:
            clients = [ToolClient(app.tools(), place.root) for place in (first, second)]

            def ask(n: int) -> None:
                with confined(confinement):  # noqa: B023 (called within this round)
                    clients[n % 2].call("search_code", query=asked[n])  # noqa: B023

            for n in range(20):
                ask(n)
            own, theirs, times = time.process_time(), server_cpu_seconds(), list[float]()
            for n in range(len(asked)):
                started = time.perf_counter()
                ask(n)
                times.append(1000 * (time.perf_counter() - started))
            own = 1000 * (time.process_time() - own) / len(asked)
            theirs = 1000 * (server_cpu_seconds() - theirs) / len(asked)
        print(f"| {name} | {own:.1f} ms | {theirs:.1f} ms | {statistics.median(times):.0f} ms |", flush=True)


def server_cpu_seconds() -> float:
    """Return the CPU time of all connected processes of the database."""
    with psycopg.connect(server().url) as connection:
        found = connection.execute("SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend'").fetchall()
    return sum(_cpu_seconds(row[0]) for row in found)


def _cpu_seconds(process: int) -> float:
    try:
        fields = Path(f"/proc/{process}/stat").read_text("ascii").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _percentile(times: Sequence[float], percent: int) -> float:
    return sorted(times)[min(len(times) - 1, len(times) * percent // 100)]


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=5_000)
    parser.add_argument("--unchecked", type=int, default=1_500)
    parser.add_argument("--seconds", type=float, default=3_600.0, help="time limit of the queries over HTTP")
    parser.add_argument("--no-cost", action="store_true", help="leave out the last table")
    parser.add_argument("--repositories", type=int, default=50)
    parser.add_argument("--people", type=int, default=24)
    parser.add_argument("--seed", type=int, default=20)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        team = Team(Path(folder).resolve(), random.Random(given.seed), given.repositories, given.people)
        print(
            f"{given.repositories} repositories, each with a folder that has its own permissions; seed {given.seed}",
            flush=True,
        )
        if given.questions:
            ask_over_http(team, given.questions, given.seconds)
        if given.unchecked:
            ask_without_checks(team, given.unchecked)
        if not given.no_cost:
            measure_cost(team)


if __name__ == "__main__":
    main()
