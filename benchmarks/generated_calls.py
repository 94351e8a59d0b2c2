"""Send generated calls to a real server, and count improper answers.

Some calls have odd values in every argument; others try to reach a project without permission. An answer is improper if
it is neither a valid result nor a proper error, or if it contains data of the other project.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import random
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from benchmarks.http_load import Session, start_server
from deltos.config import Config
from deltos.server.access import Level, Tokens
from deltos.server.toolbox import open_toolbox
from deltos.store.sqlite.tokens import SqliteTokens

if TYPE_CHECKING:
    from collections.abc import Iterator

    JsonObject = dict[str, Any]

SESSIONS = 8
ANSWER_TIMEOUT_SECONDS = 120
SECRET = "quokka-7141"  # a word that occurs only in the other project, and in no call
OWN_PROJECT = {
    "a.py": "def of_mine():\n    return 1\n",
    "docs/guide.md": "# Guide\n\nShipping takes two days.\n",
}
OTHER_PROJECT = {
    "zed.py": f'def of_theirs():\n    """{SECRET}"""\n    return 2\n',
    "docs/roadmap.md": f"# Roadmap\n\nThe zeppelin is called {SECRET}.\n",
}
ODD_TEXTS = (
    "", " ", "\0", "a\0b", "\ud800", "é" * 5_000, "x" * 100_000, "-1", "1e999", "../..", "/", "~", "/dev/zero",
    "/proc/self/environ", "file:///etc/passwd", "http://127.0.0.1:1/", "http://[::ffff:169.254.169.254]/",
    "http://a@b:c/", "pypi:../x", "npm:" + "@" * 300, "(" * 5_000, "(a*)*b", "/(a|a)*$/", '"', "*" * 3_000,
    "**/" * 500, "[" * 1_000, "code:", "doc:-1", "api:x:y", "'; DROP TABLE file; --", "\x1b[2J", "\u202egnp",
    "NEAR(a b)", "a AND", "0" * 4_000, "2999-99-99", "of_mine", "a.py", "docs",
)  # fmt: skip
ODD_VALUES: tuple[Any, ...] = (
    None, True, 0, -1, 2**63, 10**400, 1e308, 0.5, [], {}, [[[]]], [""] * 2_000, {"a": {"b": None}}, [None, {"x": [1]}],
)  # fmt: skip


class Answers:
    """Numbers of answers by outcome."""

    def __init__(self) -> None:
        self.answered = 0
        self.refused = 0
        self.leaks = 0
        self.improper: Counter[str] = Counter()
        self.slowest_seconds = 0.0

    def note(self, name: str, status: str, message: JsonObject, seconds: float) -> None:
        """Count an answer by its outcome."""
        text = json.dumps(message, ensure_ascii=False)
        self.slowest_seconds = max(self.slowest_seconds, seconds)
        self.leaks += SECRET in text
        if fault := find_error(status, message, text):
            self.improper[f"{name}: {fault}"] += 1
        elif "result" in message and not message["result"].get("isError"):
            self.answered += 1
        else:
            self.refused += 1


def main() -> None:
    """Run the calls and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=7_000)
    given = parser.parse_args()
    with TemporaryDirectory() as folder:
        odd, confined, control = run_calls(Path(folder), given.calls)
    print("| calls | number | answered | error with a reason | improper | leaks | slowest s |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    print_row("odd values in every argument", odd, "–")
    print_row("about another project, without permission", confined, str(confined.leaks))
    print_row("about another project, with permission", control, str(control.leaks))
    faults = odd.improper + confined.improper + control.improper
    for fault, count in faults.most_common():
        print(f"- {count} × {fault}")
    sys.exit(1 if faults or confined.leaks or not control.leaks else 0)


def run_calls(folder: Path, count: int) -> tuple[Answers, Answers, Answers]:
    """Make all calls to one server.

    The calls have odd arguments, or they name the other project, first without and then with permission.
    """
    served = folder / "served"
    for name, files in (("mine", OWN_PROJECT), ("theirs", OTHER_PROJECT)):
        write_repository(served / name, files)
    wide, narrow = create_tokens(folder / "home", served / "mine")
    options = ("--require-token", "--root", str(served))
    with start_server(served / "mine", str(folder / "home"), *options) as (_, host, port):
        tools = every_tool(folder)
        asyncio.run(index_other_project(host, port, wide, served))
        confined = asyncio.run(make_calls(host, port, narrow, intruding_calls(tools, served)))
        control = asyncio.run(make_calls(host, port, wide, intruding_calls(tools, served)))
        odd = asyncio.run(make_calls(host, port, wide, odd_calls(tools, count)))
    return odd, confined, control


def every_tool(folder: Path) -> list[JsonObject]:
    """Return the tools of the server with all parameters.

    This includes parameters that are mentioned only in a description.
    """
    toolbox = open_toolbox(Config(folder / "unused"))
    toolbox.close()
    return [tool.listing() for tool in toolbox.tools]


async def index_other_project(host: str, port: int, token: str, served: Path) -> None:
    """As a caller with permission, index the other project, add its documentation, and store an observation there."""
    session = await open_session(host, port, token)
    for name, arguments in (
        ("set_working_directory", {"directory": str(served / "theirs")}),
        ("index_repository", {}),
        ("add_source", {"url": str(served / "theirs" / "docs"), "name": "roadmap"}),
        ("remember", {"text": f"We call the zeppelin {SECRET} in zed.py"}),
    ):
        status, message = await session.ask("tools/call", {"name": name, "arguments": arguments})
        assert status == "200", message
        assert not message["result"].get("isError"), message
    while "CRAWLING" in str(await session.ask("tools/call", {"name": "list_sources", "arguments": {}})):
        pass


async def open_session(host: str, port: int, token: str) -> Session:
    """Open a session and complete its handshake."""
    session = Session(host, port, token)
    problem = await session.open()
    assert not problem, problem
    return session


async def make_calls(host: str, port: int, token: str, calls: Iterator[tuple[str, JsonObject]]) -> Answers:
    """Make all calls from a few concurrent sessions."""
    answers = Answers()

    async def work() -> None:
        session = await open_session(host, port, token)
        for name, arguments in calls:
            started = time.monotonic()
            try:
                asked = session.ask("tools/call", {"name": name, "arguments": arguments})
                status, message = await asyncio.wait_for(asked, ANSWER_TIMEOUT_SECONDS)
            except (OSError, EOFError, ValueError, TimeoutError) as error:
                answers.improper[f"{name}: {type(error).__name__}"] += 1
                session = await open_session(host, port, token)
            else:
                answers.note(name, status, message, time.monotonic() - started)

    await asyncio.gather(*(work() for _ in range(SESSIONS)))
    return answers


def odd_calls(tools: list[JsonObject], count: int, seed: int = 3) -> Iterator[tuple[str, JsonObject]]:
    """Generate calls whose arguments have unusual values of the right or of a wrong type."""
    chance = random.Random(seed)
    for number in range(count):
        tool = tools[number % len(tools)]
        properties = tool["inputSchema"].get("properties", {})
        required = tool["inputSchema"].get("required", ())
        chosen = [name for name in properties if name in required or chance.random() < 0.5]
        arguments = {name: chance.choice(ODD_VALUES if chance.random() < 0.3 else ODD_TEXTS) for name in chosen}
        if chance.random() < 0.05:
            arguments[chance.choice(ODD_TEXTS)] = chance.choice(ODD_VALUES)
        yield tool["name"], arguments


def intruding_calls(tools: list[JsonObject], served: Path) -> Iterator[tuple[str, JsonObject]]:
    """Generate calls in which each text argument names the other project or its contents."""
    ways = private_texts(served)
    for tool in tools:
        schema = tool["inputSchema"]
        for name, way in itertools.product(schema.get("properties", {}), ways):
            others = {other: "zeppelin of_theirs" for other in schema.get("required", ()) if other != name}
            yield tool["name"], {**others, name: [way] if schema["properties"][name].get("type") == "array" else way}


def private_texts(served: Path) -> list[str]:
    """Return names from the other project: its files, definitions, documents and memories."""
    theirs, relative = str(served / "theirs"), "../theirs"
    folders = [theirs, relative, f"{served}/mine/../theirs", f"file://{theirs}", str(served), "..", "theirs"]
    files = [f"{folder}/{name}" for folder in (theirs, relative) for name in ("zed.py", "docs/roadmap.md")]
    ids = [f"code:{name}#of_theirs" for name in ("zed.py", f"{theirs}/zed.py", f"{relative}/zed.py")]
    ids += ["doc:1", "doc:2", "mem:1", "memory:1", "roadmap", "1", "symbol:of_theirs"]
    return [
        *folders,
        *files,
        *ids,
        "of_theirs",
        "zeppelin",
        "what is the zeppelin called",
        "/zeppelin.*/",
        '"zeppelin"',
    ]


def find_error(status: str, message: JsonObject, text: str) -> str:
    """Return the error in an answer, or "" if the answer is a valid result or a proper error message."""
    if status not in ("200", "400"):
        return f"status {status}"
    if message.get("error", {}).get("code") == -32603:
        return "an internal error of the protocol"
    if "internal error" in text:
        return "internal error"
    return "" if "result" in message or "error" in message else "neither a result nor an error"


def write_repository(root: Path, files: dict[str, str]) -> None:
    """Create a repository with one commit."""
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    author = ("-c", "user.name=b", "-c", "user.email=b@example.org")
    for words in (("init", "-q"), ("add", "-A"), (*author, "commit", "-qm", "first")):
        subprocess.run(["git", "-C", str(root), *words], check=True)


def create_tokens(home: Path, project: Path) -> tuple[str, str]:
    """Create an unrestricted token and one for a single project."""
    store = SqliteTokens(home)
    made = Tokens(store, time.time)
    wide, narrow = (made.create("bench", Level.ADMIN, projects, 36_000)[1] for projects in ([], [str(project)]))
    store.close()
    return wide, narrow


def print_row(calls: str, answers: Answers, leaks: str) -> None:
    """Print a row of the table."""
    improper = answers.improper.total()
    count = answers.answered + answers.refused + improper
    print(
        f"| {calls} | {count:,} | {answers.answered:,} | {answers.refused:,} | {improper} | {leaks} "
        f"| {answers.slowest_seconds:.1f} |"
    )


if __name__ == "__main__":
    main()
