"""Count the symbols whose list of references may be incomplete.

    python -m benchmarks.graph_completeness REPOSITORY … [--symbols 250] [--show 0]

Takes a sample of functions, methods and types of each repository. Prints how many symbols have lines that contain the
name but match no known reference, how many names are too frequent to compare, and the CPU time of the comparison and of
finding the references. `--show N` prints the first such lines of N symbols.
"""

from __future__ import annotations

import argparse
import os
import random
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from deltos.app import App
from deltos.config import Config
from deltos.domains.graph.search import GraphSearch

_KINDS = frozenset({"function", "method", "class", "interface", "enum", "type"})
_SEED = 4
_LINES_SHOWN = 3


def main() -> None:
    """Print a row for each repository."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repositories", type=Path, nargs="+")
    parser.add_argument("--symbols", type=int, default=250)
    parser.add_argument("--show", type=int, default=0)
    given = parser.parse_args()
    print("| repository | symbols | with unknown lines | not compared | comparison, CPU ms | references, CPU ms |")
    print("|---|--:|--:|--:|--:|--:|")
    with TemporaryDirectory() as home:
        os.environ["DELTOS_HOME"] = home
        app = App(Config.from_environment())
        try:
            for root in given.repositories:
                measure(app, root.resolve(), given.symbols, given.show)
        finally:
            app.close()


def measure(app: App, root: Path, count: int, shown: int) -> None:
    """Index a repository, and compare the references of sampled symbols with its text."""
    index = app.domains.projects.index_of(root)
    index.index()
    search = GraphSearch(index.store, root)
    rows = [row for path in search.reader.paths() for row in search.reader.symbols_in(path) if row.kind in _KINDS]
    random.Random(_SEED).shuffle(rows)
    found: list[tuple[str, tuple[tuple[str, int], ...]]] = []
    not_compared, finding, comparing = 0, 0.0, 0.0
    sample = rows[:count]
    for row in sample:
        started = time.process_time()
        uses = search.uses(search.target_on_line(f"{row.path}:{row.line}"))
        finding += time.process_time() - started
        started = time.process_time()
        text = search.compare_text(uses, search.same_name_lines(uses))
        comparing += time.process_time() - started
        not_compared += not text.is_done
        if text.is_done and text.locations:
            found.append((f"{row.label} {row.path}:{row.line}", text.locations))
    each = 1000 / max(1, len(sample))
    counts = f"{len(sample)} | {len(found)} | {not_compared}"
    print(f"| {root.name} | {counts} | {comparing * each:.1f} | {finding * each:.1f} |", flush=True)
    for name, places in found[:shown]:
        print(f"    {name}: {len(places)}")
        for path, line in places[:_LINES_SHOWN]:
            print(f"        {path}:{line} {(root / path).read_text('utf-8', 'replace').splitlines()[line - 1].strip()}")


if __name__ == "__main__":
    main()
