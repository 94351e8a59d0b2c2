"""Scripted policies: a reproducible lower bound for the tokens that agents need.

Each policy runs commands until the output shows the right answer, or until it has run `MAX_COMMANDS` commands.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

from benchmarks.agents import look_log
from benchmarks.agents.evidence import is_visible
from benchmarks.agents.look import Place, look
from benchmarks.agents.report import Result
from benchmarks.agents.scoring import Score
from benchmarks.agents.server import Server
from benchmarks.agents.tasks import Task
from benchmarks.agents.trees import Repository, environment, product_command, repositories

MAX_COMMANDS = 12
MAX_HITS = 60
MAX_REFERENCES = 300
REGION_LINES = 80
_STOP_WORDS = set(
    "a an and are as at be been but by can change code did do does each every file files for from get has have how "
    "if in into is it its line "
    "lines list made make many may more most must name no not of on one only or other our out own same should "
    "source that the their then "
    "there these they this to used uses very was wanted way we were what when where which who why will with within "
    "within would answer "
    "method class function number which source tests documentation changed defined refers signature looked users "
    "see raised produced "
    "statement begins installed default called something same time".split()
)
_QUOTED = re.compile(r"[“`]([^“”`]+)[”`]")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]{2,}")

Look = Callable[[list[str]], str]
Policy = Callable[[Task, Look], Iterator[str]]


def run_policy(setup: str, task: Task) -> Result:
    """Run the scripted policy of a setup on a task.

    The result is right if the output of the commands shows the answer.
    """
    repository = repositories()[task.repository]
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "log.jsonl")
        place = Place(task.id, repository.tree, log)
        server = (
            Server([*product_command(), "mcp"], repository.tree, environment(repository)) if setup == "deltos" else None
        )

        def take(words: list[str]) -> str:
            if words[0] != "deltos" or server is None:
                return look(place, words)
            shown = look_log.truncate_output(server.call(words[1], json.loads(words[2])))
            look_log.write(log, look_log.Look(task.id, " ".join(words), shown))
            return shown

        for number, _ in enumerate(POLICIES[setup](task, take), start=1):
            if is_visible(task, look_log.read(log)) or number >= MAX_COMMANDS:
                break
        looks = look_log.read(log)
        right = is_visible(task, looks)
        if server is not None:
            looks.append(look_log.Look(task.id, "", server.listed, resident=True))
            server.end()
        return Result(
            task,
            setup,
            Score(right, float(right), float(right), "" if right else "not shown"),
            look_log.total_cost(looks),
        )


def query_words(task: Task) -> list[str]:
    """Return the search terms of a question: names and quotations, then the other words, the rarest words first."""
    counts = word_counts(repositories()[task.repository])
    quoted = [text for text in _QUOTED.findall(task.question) if " " not in text]
    names = [part for text in quoted for part in text.split(".")[-1:]]
    words = [word for word in _WORD.findall(task.question) if word.lower() not in _STOP_WORDS and len(word) > 3]
    known = sorted({word.lower() for word in words if counts[word.lower()]}, key=lambda word: counts[word])
    return list(dict.fromkeys([*names, *known]))


@cache
def word_counts(repository: Repository) -> Counter[str]:
    """Return, for each word in a repository, the number of files that contain it."""
    counts: Counter[str] = Counter()
    roots = [repository.tree, repository.sessions]
    for path in (path for root in roots if root.exists() for path in root.rglob("*")):
        if path.is_file() and path.stat().st_size < 1_000_000:
            counts.update(set(re.findall(r"[a-z]{3,}", path.read_text("utf-8", "replace").lower())))
    return counts


def grep_policy(task: Task, run_command: Look) -> Iterator[str]:
    """Search for the rarest words, then read around the matches in the files that contain most of these words."""
    where = [_search_folder(task)]
    most = MAX_REFERENCES if task.kind in ("references", "impact") else MAX_HITS
    hits: dict[str, dict[str, list[int]]] = {}
    for words in (*_search_patterns(task), *([word, "-i"] for word in query_words(task)[:4])):
        shown = run_command(
            ["rg", "-n", "-H", "--no-heading", "-M", "200", *words, *where, "|", "head", "-n", str(most)]
        )
        yield shown
        for path, line in re.findall(r"^([^:\n]+):(\d+):", shown, re.MULTILINE):
            hits.setdefault(path, {}).setdefault(words[0], []).append(int(line))
        if task.kind == "error" and hits:
            break
    for path, line in best_lines(hits):
        yield run_command(_read_around(path, line))


def _search_folder(task: Task) -> str:
    below = re.search(r"every line in `([^`]+)`", task.question)
    service = re.search(r"services/\w+\.yaml", task.question)
    if below or service:
        return below.group(1) if below else service.group() if service else "."
    return {"library": ".venv/lib/python3.11/site-packages", "decided": "../sessions"}.get(task.kind, ".")


def best_lines(hits: dict[str, dict[str, list[int]]]) -> list[tuple[str, int]]:
    """Return the line with the most search words nearby for each file, best files first.

    A second line of each file follows at the end.
    """
    ranked: list[tuple[int, int, str, int]] = []
    for path, by_word in hits.items():
        lines = sorted({line for found in by_word.values() for line in found})
        counts = {
            line: sum(any(abs(line - other) <= REGION_LINES // 2 for other in found) for found in by_word.values())
            for line in lines
        }
        best = max(lines, key=lambda line: counts[line])
        ranked.append((0, -counts[best], path, best))
        distant = [line for line in lines if abs(line - best) > REGION_LINES]
        if distant:
            second = max(distant, key=lambda line: counts[line])
            ranked.append((1, -counts[second], path, second))
    return [(path, line) for _, _, path, line in sorted(ranked)]


def _read_around(path: str, line: int) -> list[str]:
    first = max(1, line - REGION_LINES // 4)
    return ["sed", "-n", f"{first},{first + REGION_LINES}p", path.removeprefix("./")]


def _search_patterns(task: Task) -> Iterator[list[str]]:
    """Yield search patterns: a call of the name, then the name alone; for an error message, its constant parts."""
    if task.kind in ("references", "impact"):
        owner, _, name = quoted_name(task).rpartition(".")
        yield [rf"\.{name}\(" if owner else rf"\b{name}\("]
        yield [name, "-w"]
    elif task.kind == "error":
        yield from ([part, "-F"] for part in _constant_parts(quoted_name(task)))


def quoted_name(task: Task) -> str:
    """Return the name or the error message that a question is about."""
    return next(found[1] for found in _QUOTED.finditer(task.question) if not found[1].endswith("/"))


def _constant_parts(message: str) -> list[str]:
    """Return the constant parts of an error message, longest first."""
    pieces = re.split(r"'[^']*'|\"[^\"]*\"|\[[^\]]*\]|\d+|: ", message)
    return sorted((piece.strip() for piece in pieces if len(piece.strip()) > 8), key=len, reverse=True)[:3]


def deltos_policy(task: Task, run_command: Look) -> Iterator[str]:
    """Call the tool of Deltos for this kind of question, then read the lines that its answer mentions."""

    def call(tool: str, **arguments: object) -> str:
        return run_command(["deltos", tool, json.dumps(arguments)])

    found: list[str] = []
    for shown in _FIRST_CALLS[task.kind](task, call):
        found.append(shown)
        yield shown
    if task.kind in ("locate", "how", "error"):
        for path, line in list(dict.fromkeys(place for shown in found for place in _named_lines(shown)))[:6]:
            yield run_command(_read_around(path, line))
    yield from grep_policy(task, run_command)


def _named_lines(shown: str) -> Iterator[tuple[str, int]]:
    """Yield the paths and line numbers in an answer, in the order of the answer."""
    for path, line in re.findall(r'([\w./-]+\.\w+)(?::|","start_line":)(\d+)', shown):
        yield path, int(line)


Call = Callable[..., str]


def _query(task: Task) -> str:
    """Return the question without the instructions about the form of the answer."""
    quoted = _QUOTED.search(task.question)
    if task.kind in ("locate", "error") and quoted:
        return quoted.group(1)
    return task.question.split(" Answer with")[0].split(" for this: ")[-1]


def _ask_code(task: Task, call: Call) -> Iterator[str]:
    yield call("search_code", query=_query(task))
    yield call("search_code", query=_query(task), limit=30, concise=True)


def _ask_graph(tool: str) -> Callable[[Task, Call], Iterator[str]]:
    def ask(task: Task, call: Call) -> Iterator[str]:
        name = quoted_name(task)
        yield call(tool, symbol=name)
        yield call(tool, symbol=name, limit=300)

    return ask


def _ask_docs(task: Task, call: Call) -> Iterator[str]:
    yield call("search_docs", query=_query(task))
    yield call("search_docs", query=" ".join(query_words(task)[:6]))
    yield call("search", query=_query(task))


def _ask_apis(task: Task, call: Call) -> Iterator[str]:
    service = task.answer["service"]
    found = call("search_docs", query=_query(task), api_name=service, types=["endpoint"])
    yield found
    for path in list(dict.fromkeys(re.findall(r"(?:GET|PUT|POST|DELETE|PATCH) (/[^\s`\"\\,;)]*)", found)))[:5]:
        yield call("get_api_endpoints", api_name=service, path=path)


def _ask_memory(task: Task, call: Call) -> Iterator[str]:
    found = call("search", query=_query(task), scope=["memory"])
    yield found
    for identifier in list(dict.fromkeys(re.findall(r"memory:[\w-]+|mem_\w+", found)))[:4]:
        yield call("fetch", id=identifier)


_FIRST_CALLS: dict[str, Callable[[Task, Call], Iterator[str]]] = {
    "locate": _ask_code,
    "how": _ask_code,
    "error": _ask_code,
    "references": _ask_graph("find_references"),
    "impact": _ask_graph("get_impact"),
    "library": _ask_docs,
    "api": _ask_apis,
    "decided": _ask_memory,
}

POLICIES: dict[str, Policy] = {"grep": grep_policy, "deltos": deltos_policy}
