"""Measure the API domain on real descriptions: counts, indexing cost, search and answer sizes, as Markdown tables.

    python -m benchmarks.apis [--bench FOLDER] [--github FILE] [counts] [cost] [search] [sizes]

`--bench` is the folder with `specs/`; `--github` is `generated/api.github.com.json` of the npm package
`@octokit/openapi`; `--spec` adds a file.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.count_apis import count
from benchmarks.paths import REPOSITORY, SHARED
from benchmarks.processes import child_processes, cpu_seconds_with_children
from deltos.domains.apis.domain import Apis, open_apis
from deltos.domains.apis.endpoints import Filter, show_endpoints
from deltos.domains.apis.hits import ApiSearcher
from deltos.embed.embedders import api_embedder
from deltos.semantic_index import SemanticIndex
from deltos.store.sqlite.library import SqliteLibrary

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deltos.store.apis import UnitRow

TOKEN_BUDGET = 5_000
PARAPHRASES = 150
REPEATS = 3
SEARCHED_APIS = ("github", "stripe", "slack")

# Synonyms for words of operation ids, to write paraphrases. They are independent of the synonyms that Deltos uses.
OTHER_WORDS = {
    "get": ("fetch", "look up", "show me", "read"),
    "list": ("show all", "enumerate", "view every", "browse"),
    "create": ("add a new", "make", "set up", "register"),
    "post": ("add a new", "make", "create", "submit"),
    "add": ("create", "attach", "put in"),
    "delete": ("remove", "get rid of", "erase", "drop"),
    "remove": ("delete", "take away", "drop"),
    "update": ("change", "modify", "edit", "alter"),
    "set": ("change", "assign", "configure"),
    "check": ("verify", "test", "find out"),
    "cancel": ("abort", "stop", "call off"),
    "search": ("find", "look for"),
    "replace": ("overwrite", "swap"),
    "archive": ("put away", "shelve"),
    "repo": ("repository",),
    "repos": ("repositories",),
    "org": ("organization",),
    "orgs": ("organizations",),
    "pulls": ("pull requests",),
    "admin": ("administrator",),
    "info": ("details", "information"),
    "auth": ("authentication",),
    "chat": ("conversation", "message"),
    "users": ("people", "users"),
    "customers": ("customers", "clients"),
    "config": ("configuration", "settings"),
}


def main() -> None:
    """Run the given measurements, or all of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bench", type=Path, default=SHARED)
    parser.add_argument("--github", type=Path)
    parser.add_argument("--spec", type=Path, action="append", default=[])
    parser.add_argument("--measure", choices=("parse", "index"), help=argparse.SUPPRESS)
    parser.add_argument("what", nargs="*", default=[])
    args = parser.parse_args()
    if args.measure:
        print(json.dumps(measure(args.measure, args.spec[0])))
        return
    files = sorted(path for path in (args.bench / "specs").rglob("*.*") if path.is_file())
    files += [path for path in (args.github, *args.spec) if path]
    wanted = args.what or ["counts", "cost", "search", "sizes"]
    with tempfile.TemporaryDirectory() as folder:
        library = SqliteLibrary(Path(folder, "library.db"))
        apis = open_apis(library, network=None, clock=time.time)
        names = {path: apis.indexer.add(str(path), api_name(path, args.github)).apis[0].name for path in files}
        if "counts" in wanted:
            print_counts(apis, names)
        if "cost" in wanted:
            print_cost(files)
        if "search" in wanted:
            print_search(apis, SemanticIndex(api_embedder(), library.api_vectors), list(names.values()))
        if "sizes" in wanted:
            print_sizes(apis, list(names.values()))


def api_name(path: Path, github: Path | None) -> str:
    """Return a short API name: the file name up to the version."""
    return (
        "github" if path == github else re.split(r"[_.]", f"{path.parent.name}-{path.name}".removeprefix("openapi-"))[0]
    )


def print_counts(apis: Apis, names: dict[Path, str]) -> None:
    """Print the numbers of operations and schemas that Deltos finds, and the numbers of an independent count."""
    print("\n| file | operations | expected | schemas | expected | equal |\n|---|--:|--:|--:|--:|---|")
    for path, name in names.items():
        row = apis.library.row(name)
        operations, schemas = count(path)
        equal = "yes" if (row.operations, row.schemas) == (operations, schemas) else "**no**"
        print(f"| {path.name} | {row.operations} | {operations} | {row.schemas} | {schemas} | {equal} |")


def print_cost(files: list[Path]) -> None:
    """Print the CPU time and peak memory of indexing, and of parsing alone. Each is measured in a new process."""
    print("\n| file | MB | parse alone s | index s | ratio | peak memory / file |\n|---|--:|--:|--:|--:|--:|")
    for path in files:
        if path.suffix in (".json", ".yaml", ".yml"):
            size = path.stat().st_size
            parse = min(measure_in_process("parse", path)[0] for _ in range(REPEATS))
            index, memory = min(measure_in_process("index", path) for _ in range(REPEATS))
            ratios = f"{parse:.3f} | {index:.3f} | {index / parse:.2f} | {memory / size:.1f}"
            print(f"| {path.name} | {size / 1e6:.2f} | {ratios} |")


def measure_in_process(what: str, path: Path) -> tuple[float, float]:
    """Return the CPU seconds and peak memory in bytes of one step, run in its own process."""
    command = [sys.executable, "-m", "benchmarks.apis", "--measure", what, "--spec", str(path)]
    seconds, memory = json.loads(
        subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout
    )
    return seconds, memory


def measure(what: str, path: Path) -> tuple[float, float]:
    """Index or parse one file in this process. Imports and the first use of the parser are not included in the cost."""
    with tempfile.TemporaryDirectory() as folder:
        apis = open_apis(SqliteLibrary(Path(folder, "library.db")), network=None, clock=time.time)
        index_warm_up_file(apis, Path(folder), path.suffix)
        before, started = peak_memory(), cpu_seconds_with_children()
        if what == "index":
            apis.indexer.add(str(path), "measured")
        else:
            parse_alone(path.read_bytes(), path.suffix)
        return cpu_seconds_with_children() - started, peak_memory() - before


def peak_memory() -> int:
    """Return the sum of the peak memory of this process and its children, in bytes.

    `getrusage` is not used, because a child inherits the peak of its parent.
    """
    processes = [Path("/proc/self"), *child_processes()]
    statuses = [process.joinpath("status").read_text("ascii") for process in processes]
    return sum(int(status.split("VmHWM:")[1].split()[0]) * 1024 for status in statuses)


def index_warm_up_file(apis: Apis, folder: Path, suffix: str) -> None:
    """Index a small file, so that later measurements exclude imports and the compilation of patterns."""
    small = folder / f"small{suffix}"
    small.write_text('{"openapi": "3.1.0", "info": {"title": "x"}, "paths": {"/a": {"get": {}}}}', "utf-8")
    apis.indexer.add(str(small), "small")
    parse_alone(small.read_bytes(), suffix)


def parse_alone(data: bytes, suffix: str) -> None:
    """Parse a description with the standard C loaders only."""
    if suffix == ".json":
        json.loads(data)
        return
    import yaml

    class TolerantLoader(yaml.CSafeLoader):
        """Safe YAML loader that accepts a bare `=`, which occurs in real files."""

        yaml_constructors = yaml.CSafeLoader.yaml_constructors | {"tag:yaml.org,2002:value": lambda _, node: node.value}

    yaml.load(data, TolerantLoader)


def print_search(apis: Apis, semantic_index: SemanticIndex, names: list[str]) -> None:
    """Print how often the right operation is first, and among the first three, with and without the encoder."""
    semantic_index.embed_new()
    searchers = {"terms": apis.searcher, "encoder": ApiSearcher(apis.library, lambda: semantic_index)}
    print(
        "\n| API | questions | n | by | first | first 3 | first 3, all types | ms |\n|---|---|--:|---|--:|--:|--:|--:|"
    )
    names = [name for name in SEARCHED_APIS if name in names] + [name for name in names if name not in SEARCHED_APIS]
    found: dict[tuple[str, str], list[list[int]]] = defaultdict(list)
    for name in names:
        units = apis.library.store.units(apis.library.row(name).id, ("operation",))
        asked = {"summaries": [(unit.title, unit) for unit in units], "paraphrases": list(paraphrases(apis, units))}
        for kind, questions in asked.items() if len(units) >= 50 else ():
            for by, searcher in searchers.items():
                found[kind, by].append(print_questions(searcher, name, kind, by, questions))
    for (kind, by), counts in found.items():
        total, *places = map(sum, zip(*counts, strict=True))
        print(f"| all | {kind} | {total} | {by} | " + " | ".join(f"{place / total:.3f}" for place in places) + " | |")


def print_questions(
    searcher: ApiSearcher, name: str, kind: str, by: str, questions: list[tuple[str, UnitRow]]
) -> list[int]:
    """Print one row of the search table and return its counts."""
    started = time.process_time()
    places = [rank(searcher, name, question, unit, ["endpoint"]) for question, unit in questions]
    spent = 1_000 * (time.process_time() - started) / len(questions)
    of_any_type = [rank(searcher, name, question, unit, []) for question, unit in questions]
    counts = [sum(place < 1 for place in places), sum(place < 3 for place in places), sum(p < 3 for p in of_any_type)]
    shares = " | ".join(f"{count / len(questions):.3f}" for count in counts)
    print(f"| {name} | {kind} | {len(questions)} | {by} | {shares} | {spent:.0f} |", flush=True)
    return [len(questions), *counts]


def rank(searcher: ApiSearcher, name: str, question: str, unit: UnitRow, types: list[str]) -> int:
    """Return the position of the operation in the results, or 99 if it is missing."""
    found = searcher.search(question, api_name=name, types=types, limit=3)
    wanted = f"api:{name}:{unit.key}"
    return next((place for place, hit in enumerate(found) if hit.id == wanted), 99)


def paraphrases(apis: Apis, units: list[UnitRow]) -> Iterator[tuple[str, UnitRow]]:
    """Yield operations at regular intervals, each with a paraphrase of its id."""
    step = max(1, len(units) // PARAPHRASES)
    for number, unit in enumerate(units[::step][:PARAPHRASES]):
        yield paraphrase(apis.library.operation(unit).name, number), unit


def paraphrase(operation_id: str, number: int) -> str:
    """Split an operation id, replace its words and drop repeated ones: `PostRefundsRefund` becomes `make refunds`."""
    words = re.findall(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+", operation_id)
    chosen_words: list[str] = []
    for position, word in enumerate(map(str.lower, words)):
        if not any(word.rstrip("s") == earlier.rstrip("s") for earlier in chosen_words):
            options = OTHER_WORDS.get(word, (word,))
            chosen_words.append(options[(number + position) % len(options)])
    return " ".join(chosen_words)


def print_sizes(apis: Apis, names: list[str]) -> None:
    """Print the tokens of the unfiltered operation list and of single operations."""
    print("\n| API | listing tokens | pages | operation tokens, median | largest |\n|---|--:|--:|--:|--:|")
    for name in names:
        answer = show_endpoints(apis.library, name, Filter(), page=1, token_budget=TOKEN_BUDGET)
        pages = re.search(r"page 1/(\d+)", answer.text)
        sizes = [len(text) / 4 for text in operation_answers(apis, name)]
        listing = f"{len(answer.text) / 4:.0f} | {pages[1] if pages else 1}"
        print(f"| {name} | {listing} | {statistics.median(sizes):.0f} | {max(sizes):.0f} |")


def operation_answers(apis: Apis, name: str) -> Iterator[str]:
    """Yield the answers that show a single operation in full."""
    for unit in apis.library.store.units(apis.library.row(name).id, ("operation",)):
        wanted = Filter(path=unit.path, method=unit.method)
        answer = show_endpoints(apis.library, name, wanted, page=1, token_budget=TOKEN_BUDGET)
        if answer.text.count("\n### ") == 1:
            yield answer.text


if __name__ == "__main__":
    main()
