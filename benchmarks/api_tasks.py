"""Measure how often the plainly worded tasks of `questions/api_tasks.jsonl` find their obvious operation first.

    python -m benchmarks.api_tasks --home FOLDER NAME=DESCRIPTION ... [--held-out] [--show]

Each description is indexed under NAME in the library in FOLDER, unless it is already there. Each task is searched in
its own API, and in all APIs at once. APIs marked `held_out` were not used for tuning; `--held-out` measures these.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.paths import REPOSITORY
from deltos.domains.apis.domain import open_apis
from deltos.domains.apis.hits import normalise_query
from deltos.domains.apis.search import search_units
from deltos.embed.embedders import api_embedder
from deltos.semantic_index import SemanticIndex
from deltos.store.sqlite.library import SqliteLibrary

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deltos.domains.apis.search import RankedUnit

TASKS = REPOSITORY / "benchmarks" / "questions" / "api_tasks.jsonl"
SHOWN_RESULTS = 3


def main() -> None:
    """Print a Markdown table of the share of tasks whose operation is first, or among the first three."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--held-out", action="store_true")
    parser.add_argument(
        "--words", action="store_true", help="rank by words and word vectors only, without embedded operations"
    )
    parser.add_argument("--show", action="store_true", help="print the tasks whose operation is not first")
    parser.add_argument("descriptions", nargs="*", metavar="NAME=DESCRIPTION")
    given = parser.parse_args()
    library = SqliteLibrary(given.home / "library.db")
    apis = open_apis(library, network=None, clock=time.time)
    known = {row.name for row in apis.library.rows()}
    for name, _, path in (each.partition("=") for each in given.descriptions):
        if name not in known:
            apis.indexer.add(path, name)
    semantic_index = None
    if not given.words:
        semantic_index = SemanticIndex(api_embedder(), library.api_vectors)
        semantic_index.embed_new()
    rows = {row.name: row.id for row in apis.library.rows()}
    tasks = [json.loads(line) for line in TASKS.read_text("utf-8").splitlines()]
    asked = [task for task in tasks if task["api"] in rows and task["held_out"] == given.held_out]
    ranks: dict[str, tuple[int, int]] = {}
    for task in asked:
        query = normalise_query(task["query"])
        similarities = semantic_index.compare(query) if semantic_index else None
        found = [
            search_units(
                library.apis,
                query,
                api_id=api_id,
                kinds=("operation", "webhook"),
                limit=10,
                similarities=similarities,
                model=api_embedder(),
            )
            for api_id in (rows[task["api"]], None)
        ]
        ranks[task["id"]] = (rank(task, found[0]), rank(task, found[1]))
        if given.show and ranks[task["id"]][0] > 1:
            shown = " | ".join(unit.row.key for unit in found[0][:SHOWN_RESULTS])
            print(f"{ranks[task['id']][0]:2} {task['query']} → {task['operation']}\n     {shown}")
    print("| API | tasks | first | three | first of all APIs | three of all APIs |\n|---|--:|--:|--:|--:|--:|")
    by_api: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for task in asked:
        by_api[task["api"]].append(ranks[task["id"]])
    for name, places in (*by_api.items(), ("**all**", list(ranks.values()))):
        shares = (
            share_within([each[which] for each in places], most) for which in (0, 1) for most in (1, SHOWN_RESULTS)
        )
        print(f"| {name} | {len(places)} | {' | '.join(f'{each:.3f}' for each in shares)} |")


def rank(task: dict[str, Any], found: Sequence[RankedUnit]) -> int:
    """Return the 1-based position of a task's operation among the results, or 99 if it is missing."""
    wanted = {task["operation"], *task.get("also", ())}
    places = (at for at, unit in enumerate(found, 1) if unit.api_name == task["api"] and unit.row.key in wanted)
    return next(places, 99)


def share_within(ranks: Sequence[int], most: int) -> float:
    """Return the share of ranks that are at most `most`."""
    return sum(each <= most for each in ranks) / max(1, len(ranks))


if __name__ == "__main__":
    main()
