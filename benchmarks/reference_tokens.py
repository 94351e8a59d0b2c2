"""Compare the tokens of a list of references with source lines, of the same list without source lines, and of `grep -n
-w`.

python -m benchmarks.reference_tokens [--project FOLDER …] [--symbols N]
"""

from __future__ import annotations

import argparse
import random
import statistics
import subprocess
import tempfile
import time
from collections import defaultdict
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.paths import CORPORA, REPOSITORY, SCRATCH
from deltos.app import App
from deltos.budget import estimate_tokens
from deltos.config import Config
from deltos.domains.graph.budgeted_lines import BudgetedLines
from deltos.domains.graph.render import render_references
from deltos.domains.graph.uses import group_uses

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deltos.domains.graph.search import FoundReferences, GraphSearch, Target

SYMBOLS_PER_PROJECT = 30
MIN_REFERENCES, MAX_REFERENCES = 2, 120
MIN_NAMESAKES = 3  # minimum number of definitions with the same name
MAX_REFERENCES = 500
TOKEN_BUDGET = 5_000
SPEED_FILES = 200
SEED = 16


@dataclass(frozen=True, slots=True)
class SymbolMeasurement:
    """Measurements for the references of one symbol.

    These are the tokens of each kind of list, the number of references, and the number of references with source text.
    """

    answer: int
    places: int
    grep: int
    uses: int
    with_text: int


def main() -> None:
    """Print the tokens by project, and the time that reading source lines adds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--project", type=Path, action="append", help="a folder; may be repeated")
    parser.add_argument("--symbols", type=int, default=SYMBOLS_PER_PROJECT, help="of each project")
    given = parser.parse_args()
    labelled = SCRATCH / "code" / "labelled"
    projects = given.project or [REPOSITORY / "src", CORPORA / "django", labelled / "trpc", CORPORA / "gitleaks"]
    print(
        "| project | symbols | answer, median tokens | locations | grep -n -w | ratio to grep | references with text |"
    )
    print("|---|--:|--:|--:|--:|--:|--:|")
    with tempfile.TemporaryDirectory() as home, closing(App(Config(Path(home)))) as app:
        for project in projects:
            search = _open_search(app, project)
            for what, is_shared in (("any name", False), ("shared names", True)):
                targets = _sample_symbols(search, given.symbols, is_shared=is_shared)
                _print_row(f"{project.name}, {what}", [_measure(search, target) for target in targets])
        _print_speed(app, Path(home) / "many")


def _open_search(app: App, project: Path) -> GraphSearch:
    index = app.domains.projects.index_of(project)
    index.index()
    return app.graph_search(index)


def _sample_symbols(search: GraphSearch, count: int, *, is_shared: bool) -> list[Target]:
    """Return a reproducible sample of functions, methods and classes with references.

    If `is_shared` is set, return only symbols whose name has several definitions.
    """
    names = sorted(search.reader.defined_names())
    random.Random(SEED).shuffle(names)
    found: list[Target] = []
    for name in names:
        if len(found) == count:
            break
        rows = [row for row in search.reader.symbols_named(name) if row.kind in ("function", "method", "class")]
        if is_shared and len(rows) < MIN_NAMESAKES:
            continue
        counts = search.reader.reference_counts(row.node_id for row in rows)
        used = [row for row in rows if MIN_REFERENCES <= counts.get(row.node_id, 0) <= MAX_REFERENCES]
        if used:
            found.append(search.target_on_line(f"{used[0].path}:{used[0].line}"))
    return found


def _measure(search: GraphSearch, target: Target) -> SymbolMeasurement:
    references = search.references(target)
    uses = [use for group in group_uses(references) for use in group.uses]
    texts = search.source.lines(use.location for use in uses)
    page = BudgetedLines(token_budget=TOKEN_BUDGET)
    answer = render_references(references, search.source, limit=MAX_REFERENCES, page=page)
    return SymbolMeasurement(
        estimate_tokens(answer.text),
        estimate_tokens(_format_locations(references)),
        estimate_tokens(_grep_output(search.root, target.first.name)),
        len(uses),
        sum(use.location in texts for use in uses),
    )


def _format_locations(references: FoundReferences) -> str:
    """Format the references as line numbers and kinds, without source text."""
    lines = [f"{references.target.first.label} {references.target.first.path}:{references.target.first.line}"]
    for group in group_uses(references):
        files: dict[str, dict[tuple[str, str], list[int]]] = defaultdict(lambda: defaultdict(list))
        for use in group.uses:
            files[use.path][(",".join(use.kinds), use.label)].append(use.line)
        for path, kinds in files.items():
            lines.append(path)
            lines += [f" {','.join(map(str, numbers))} {kind} {label}" for (kind, label), numbers in kinds.items()]
    return "\n".join(lines)


def _grep_output(root: Path, name: str) -> str:
    """Return the output of a word search from the root of the project."""
    command = ["grep", "-rnwI", "--exclude-dir=.git", "-F", "-e", name, "."]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, errors="replace", check=False).stdout


def _print_row(name: str, measured: Sequence[SymbolMeasurement]) -> None:
    def median(values: Sequence[float]) -> float:
        return statistics.median(values) if values else 0

    answer, places = median([m.answer for m in measured]), median([m.places for m in measured])
    grep = median([m.grep for m in measured])
    ratio = median([m.answer / m.grep for m in measured if m.grep])
    share = sum(m.with_text for m in measured) / max(1, sum(m.uses for m in measured))
    print(
        f"| {name} | {len(measured)} | {answer:.0f} | {places:.0f} | {grep:.0f} | {ratio:.2f}× | {share:.3f} |",
        flush=True,
    )


def _print_speed(app: App, folder: Path) -> None:
    """Print the additional time for reading source lines if a symbol has many references in many files."""
    folder.mkdir()
    (folder / "keep.py").write_text("def keep(n):\n    return n\n")
    filler = "".join(f"def other_{n}(a, b):\n    return a + b + {n}\n\n\n" for n in range(60))
    for number in range(SPEED_FILES):
        uses = "".join(
            f"    keep({n})\n" for n in range(1 + number % 2)
        )  # Each symbol has five references in two files, including the import.
        (folder / f"user_{number}.py").write_text(f"from keep import keep\n\n\n{filler}def run():\n{uses}")
    search = _open_search(app, folder)
    (target,) = search.targets("keep")
    references = search.references(target)
    places = [use.location for group in group_uses(references) for use in group.uses]
    took = []
    for _ in range(9):
        fresh = app.graph_search(app.domains.projects.index_of(folder))
        started = time.process_time()
        texts = fresh.source.lines(places)
        took.append(time.process_time() - started)
    files = len({path for path, _ in places})
    median_ms = statistics.median(took) * 1000
    print(f"\nLines of {len(texts)} references in {files} files: {median_ms:.1f} ms of CPU, median of 9")


if __name__ == "__main__":
    main()
