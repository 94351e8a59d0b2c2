"""Measure memory: recall on LoCoMo, durability next to another server, latency and size, hooks.

    python -m benchmarks.memory recall | durability | latency | hook

Prints Markdown tables. `recall` reads the shared material; `durability` also installs npm's memory server.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import random
import re
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks import memory_durability
from benchmarks.paths import REPOSITORY, SHARED
from benchmarks.startup import PEER, install_peer
from deltos.domains.memory.core.memory import Memory, local_now
from deltos.domains.memory.core.model import Draft, ObservationOrigin
from deltos.domains.memory.core.transfer import import_lines
from deltos.embed.embedders import memory_embedder
from deltos.semantic_index import SemanticIndex
from deltos.store.sqlite.database import check_file
from deltos.store.sqlite.memory.reader import SqliteObservations
from deltos.text.stop_words import PROSE_STOP_WORDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from deltos.domains.memory.core.model import Clock


def main() -> None:
    """Run the chosen measurement."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("recall", "durability", "latency", "hook"))
    parser.add_argument("--observations", type=int, default=100_000)
    args = parser.parse_args()
    {"recall": recall, "durability": durability, "latency": latency, "hook": hook}[args.what](args)


def recall(_: argparse.Namespace) -> None:
    """Print R@5 and R@10 (shares of answering turns) of Deltos and of a Porter-stemmed OR search with BM25."""
    conversations = read_locomo()
    with tempfile.TemporaryDirectory() as folder:
        memory = open_memory(SqliteObservations(Path(folder) / "memory.db"))
        for turns, _ in conversations:
            import_lines(memory, map(turn_line, turns), project_id="")
        ours = recall_of(conversations, lambda _, question: search_memory(memory, question))
    baseline = recall_of(conversations, _search_with_fts5)
    table(
        ("questions", "n", "porter OR R@5", "porter OR R@10", "deltos R@5", "deltos R@10"),
        (
            (group, len(ours[group]), *_mean_recalls(baseline[group]), *_mean_recalls(ours[group]))
            for group in sorted(ours)
        ),
    )


def open_memory(store: SqliteObservations, *, clock: Clock = local_now) -> Memory:
    """Open a memory with semantic search, or without it if DELTOS_EMBED is `off`."""
    if os.environ.get("DELTOS_EMBED") == "off":
        return Memory(store, clock=clock)
    semantic_index = SemanticIndex(memory_embedder(), store.vectors)
    return Memory(store, clock=clock, semantic_index=lambda: semantic_index)


def read_locomo() -> list[Any]:
    """Read the shared conversations: their turns, and questions with the turns that answer them."""
    return list(_score_module().conversations(SHARED / "memory" / "locomo_dev.json"))


def _score_module() -> Any:
    spec = importlib.util.spec_from_file_location("score", SHARED / "memory" / "score.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def turn_line(turn: dict[str, Any]) -> str:
    """Format a turn of a conversation as a line of an import file."""
    return json.dumps(
        {
            "id": turn["turn"],
            "session_id": str(turn["session"]),
            "project_id": turn["conversation"],
            "created_at": turn["created_at"],
            "text": turn["text"],
        }
    )


def search_memory(memory: Memory, question: dict[str, Any]) -> list[str]:
    found = memory.search(question["question"], question["conversation"], limit=10)
    return [hit.observation.id for hit in found.hits]


def _search_with_fts5(turns: list[dict[str, Any]], question: dict[str, Any]) -> list[str]:
    """Return the results of FTS5 alone, ordered by BM25. Any term of the question except stop words may match."""
    connection = _fts_table(turns)
    words = [word for word in re.findall(r"[a-z0-9]+", question["question"].lower()) if word not in PROSE_STOP_WORDS]
    if not words:
        return []
    sql = "SELECT id FROM turn WHERE turn MATCH ? ORDER BY rank LIMIT 10"
    return [row[0] for row in connection.execute(sql, (" OR ".join(f'"{word}"' for word in words),))]


_TABLES: dict[str, sqlite3.Connection] = {}


def _fts_table(turns: list[dict[str, Any]]) -> sqlite3.Connection:
    conversation = turns[0]["conversation"]
    if conversation not in _TABLES:
        connection = _TABLES[conversation] = sqlite3.connect(":memory:")
        connection.execute("CREATE VIRTUAL TABLE turn USING fts5 (id UNINDEXED, text, tokenize = 'porter unicode61')")
        connection.executemany("INSERT INTO turn VALUES (?, ?)", ((turn["turn"], turn["text"]) for turn in turns))
    return _TABLES[conversation]


def recall_of(
    conversations: list[tuple[list[dict[str, Any]], list[dict[str, Any]]]],
    answer: Callable[[list[dict[str, Any]], dict[str, Any]], list[str]],
) -> dict[str, list[tuple[float, float]]]:
    groups: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for turns, questions in conversations:
        for question in questions:
            found, gold = answer(turns, question), question["gold"]
            figures = (len(gold & set(found[:5])) / len(gold), len(gold & set(found[:10])) / len(gold))
            for group in ("all", f"category {question['category']}"):
                groups[group].append(figures)
    return groups


def _mean_recalls(figures: list[tuple[float, float]]) -> tuple[str, str]:
    first, second = (statistics.fmean(column) for column in zip(*figures, strict=True))
    return f"{first:.3f}", f"{second:.3f}"


def durability(_: argparse.Namespace) -> None:
    """Print the number of acknowledged observations that are lost after 8 × 500 writes and 20 kills."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        contenders = [_deltos_server(Path(folder))]
        if command := install_peer(Path(folder)):
            contenders.append(_server_memory(Path(folder), command))
        for memory_server in contenders:
            outcome = memory_durability.run(memory_server, clients=8, writes=500, kills=20)
            lost = len(outcome.acknowledged - memory_server.stored_texts())
            counts = (len(outcome.acknowledged), outcome.kills, outcome.errors, lost)
            rows.append((memory_server.name, *counts, f"{outcome.seconds:.0f}"))
        integrity = check_file(Path(folder) / "memory.db") or ["ok"]
    table(("server", "acknowledged", "kills", "errors", "lost", "seconds"), rows)
    print(f"\nintegrity of deltos' file: {', '.join(integrity)}")


def _deltos_server(folder: Path) -> memory_durability.MemoryServer:
    def kept() -> set[str]:
        return {observation.text for observation in SqliteObservations(folder / "memory.db").all()}

    return memory_durability.MemoryServer(
        "deltos",
        [sys.executable, "-P", "-m", "deltos", "mcp", "--toolsets", "memory"],
        {"PYTHONPATH": str(REPOSITORY / "src"), "DELTOS_HOME": str(folder)},
        lambda text: {"name": "remember", "arguments": {"text": text}},
        kept,
    )


def _server_memory(folder: Path, command: list[str]) -> memory_durability.MemoryServer:
    file = folder / "peer.jsonl"

    def call(text: str) -> dict[str, Any]:
        entity = {"name": text, "entityType": "note", "observations": [text]}
        return {"name": "create_entities", "arguments": {"entities": [entity]}}

    def kept() -> set[str]:
        names = set()
        for line in file.read_text("utf-8", "replace").splitlines() if file.exists() else ():
            try:
                names.add(json.loads(line)["name"])
            except (ValueError, KeyError):
                continue  # Concurrent writers of the other server leave broken lines.
        return names

    return memory_durability.MemoryServer(PEER, command, {"MEMORY_FILE_PATH": str(file)}, call, kept)


def latency(args: argparse.Namespace) -> None:
    """Print the times of search and remember with many observations, and the file size."""
    prose = _Prose(seed=5)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "memory.db"
        store = SqliteObservations(path)
        memory = open_memory(store)
        import_lines(memory, (prose.line(number) for number in range(args.observations)), project_id="bench")
        store.database.read().execute("PRAGMA wal_checkpoint(TRUNCATE)")
        ratio = path.stat().st_size / memory.store.counts().text_characters
        searches = [_time_ms(lambda: memory.search(prose.words(60), "bench", limit=10)) for _ in range(200)]
        place = ObservationOrigin("bench", session_id="now")
        writes = [_time_ms(lambda: memory.remember(Draft(prose.words(25)), place)) for _ in range(300)]
        flushes = [_time_ms(lambda: _flush(Path(folder) / "probe")) for _ in range(100)]
    table(
        ("at " + f"{args.observations:,} observations", "p50 ms", "p95 ms", "p95 CPU ms"),
        (
            ("search, 60-word questions", *_format_percentiles(searches)),
            ("remember", *_format_percentiles(writes)),
            ("(one fsync of this disk)", *_format_percentiles(flushes)),
        ),
    )
    print(f"\nfile size / text: {ratio:.2f}")


class _Prose:
    """Generator of text with the uneven word frequencies of real prose."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        syllables = [a + b for a in "bdfgklmnprstv" for b in "aeiou"]
        vocabulary = {"".join(self._random.choices(syllables, k=self._random.randint(2, 4))) for _ in range(30_000)}
        self._vocabulary = sorted(vocabulary)
        self._weights = [1 / (rank + 3) for rank in range(len(self._vocabulary))]

    def words(self, count: int) -> str:
        """Return `count` random words."""
        return " ".join(self._random.choices(self._vocabulary, self._weights, k=count))

    def line(self, number: int) -> str:
        """Return one random observation as a line of an import file."""
        text = self.words(self._random.randint(8, 60))
        return json.dumps(
            {
                "text": text,
                "session_id": f"s{number // 40}",
                "created_at": f"2025-{1 + number % 12:02d}-11T10:00:00",
            }
        )


def _flush(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"x" * 16_384)
        file.flush()
        os.fsync(file.fileno())


def _time_ms(work: Callable[[], object]) -> tuple[float, float]:
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return (time.perf_counter() - wall) * 1000, (time.process_time() - cpu) * 1000


def _format_percentiles(times: list[tuple[float, float]]) -> tuple[str, str, str]:
    wall, cpu = sorted(time[0] for time in times), sorted(time[1] for time in times)
    last = int(len(times) * 0.95)
    return f"{wall[len(wall) // 2]:.1f}", f"{wall[last]:.1f}", f"{cpu[last]:.1f}"


HOOK_RUNS = 20


def _hook_payloads() -> dict[str, dict[str, Any]]:
    """Return hook events of an agent: a prompt, an edit, a folder listing, a whole file, a command with long output."""
    edited = "src/deltos/store/sqlite/database.py"
    source = (REPOSITORY / edited).read_text("utf-8")
    guide = (REPOSITORY / "docs/memory.md").read_text("utf-8")
    output = f"{guide}\nE   assert token == 'x'\nFAILED tests/test_a.py::test_b - assert 1 == 2\nExit code 1\n"
    edit = {"file_path": edited, "old_string": source[:1_500], "new_string": source[200:1_800]}
    return {
        "SessionStart": {"source": "startup"},
        "UserPromptSubmit": {"prompt": "From now on always run the linter before you commit, please."},
        "PostToolUse (ls)": {
            "tool_name": "Bash",
            "tool_input": {"command": "ls -la"},
            "tool_response": {"stdout": "a.py"},
        },
        "PostToolUse (edit)": {"tool_name": "Edit", "tool_input": edit, "tool_response": {"success": True}},
        "PostToolUse (write, 13 kB)": {
            "tool_name": "Write",
            "tool_input": {"file_path": edited, "content": source},
            "tool_response": {"success": True},
        },
        "PostToolUseFailure (8 kB)": {"tool_name": "Bash", "tool_input": {"command": "pytest -q"}, "error": output},
    }


def hook(_: argparse.Namespace) -> None:
    """Print the CPU time of `deltos hook`, and of Python alone for comparison.

    Both are measured alternately, because other load on the machine affects both.
    """
    code = "import sys; from deltos.cli.main import main; sys.exit(main())"
    times: dict[str, list[float]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        environment = {
            **os.environ,
            "DELTOS_HOME": folder,
            "PYTHONPATH": str(REPOSITORY / "src"),
            "PYTHONPYCACHEPREFIX": f"{folder}/cache",
            "PYTHONDONTWRITEBYTECODE": "",
        }
        for _number in range(HOOK_RUNS + 2):
            times["python -c pass"].append(_cpu_ms([sys.executable, "-c", "pass"], "", environment))
            for name, payload in _hook_payloads().items():
                data = json.dumps({"session_id": "s", "cwd": str(REPOSITORY), **payload})
                times[name].append(_cpu_ms([sys.executable, "-c", code, "hook", name.split()[0]], data, environment))
    # The first two runs are not counted, because they write the bytecode.
    kept = {name: runs[2:] for name, runs in times.items()}
    rows = [
        (name, f"{statistics.median(runs):.0f}", f"{min(runs):.0f}", f"{max(runs):.0f}") for name, runs in kept.items()
    ]
    table(("hook", "median CPU ms", "least", "most"), rows)
    print(f"\n{HOOK_RUNS} runs each; {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}")


def _cpu_ms(command: list[str], data: str, environment: dict[str, str]) -> float:
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, env=environment) as process:
        assert process.stdin is not None
        process.stdin.write(data.encode())
        process.stdin.close()
        _, _, usage = os.wait4(process.pid, 0)
        process.returncode = 0
    return (usage.ru_utime + usage.ru_stime) * 1000


def table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> None:
    for row in _format_markdown(list(head), rows):
        print(row)


def _format_markdown(head: list[str], rows: Iterable[Iterable[object]]) -> Iterator[str]:
    yield "| " + " | ".join(head) + " |"
    yield "|" + "---|" * len(head)
    for row in rows:
        yield "| " + " | ".join(map(str, row)) + " |"


if __name__ == "__main__":
    main()
