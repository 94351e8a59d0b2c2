"""Measure whether plain tasks find their obvious operation first, for the tasks of `questions/api_tasks.jsonl`.

    python -m benchmarks.api_tasks --home FOLDER NAME=DESCRIPTION ... [--held-out] [--show]

Each description is indexed in the library in FOLDER under NAME, unless it is there already. Each task is asked with its
API named and over all APIs. The APIs marked `held_out` chose nothing; `--held-out` asks their tasks.
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
from deltos.domains.apis.hits import ApiSearcher
from deltos.embed.embedders import api_embedder
from deltos.semantic_index import SemanticIndex
from deltos.store.sqlite.library import SqliteLibrary

if TYPE_CHECKING:
    from collections.abc import Sequence

TASKS = REPOSITORY / "benchmarks" / "questions" / "api_tasks.jsonl"
SHOWN_RESULTS = 3


def main() -> None:
    """Print a Markdown table of the share of tasks whose operation is first, or among the first three."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--held-out", action="store_true")
    parser.add_argument("--words", action="store_true", help="search by words only")
    parser.add_argument("--show", action="store_true", help="print the tasks whose operation is not first")
    parser.add_argument("descriptions", nargs="*", metavar="NAME=DESCRIPTION")
    given = parser.parse_args()
    library = SqliteLibrary(given.home / "library.db")
    apis = open_apis(library, network=None, clock=time.time)
    known = {row.name for row in apis.library.rows()}
    for name, _, path in (each.partition("=") for each in given.descriptions):
        if name not in known:
            apis.indexer.add(path, name)
    semantic_index = None if given.words else SemanticIndex(api_embedder(), library.api_vectors)
    if semantic_index:
        semantic_index.embed_new()
    searcher = ApiSearcher(apis.library, lambda: semantic_index)
    tasks = [json.loads(line) for line in TASKS.read_text("utf-8").splitlines()]
    names = {row.name for row in apis.library.rows()}
    asked = [task for task in tasks if task["api"] in names and task["held_out"] == given.held_out]
    ranks = {task["id"]: (rank(searcher, task, task["api"], given.show), rank(searcher, task, "")) for task in asked}
    print("| API | tasks | first | three | first of all APIs | three of all APIs |\n|---|--:|--:|--:|--:|--:|")
    by_api: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for task in asked:
        by_api[task["api"]].append(ranks[task["id"]])
    for name, found in (*by_api.items(), ("**all**", list(ranks.values()))):
        shares = (share([each[which] for each in found], most) for which in (0, 1) for most in (1, SHOWN_RESULTS))
        print(f"| {name} | {len(found)} | {' | '.join(f'{each:.3f}' for each in shares)} |")


def rank(searcher: ApiSearcher, task: dict[str, Any], api_name: str, show: bool = False) -> int:
    """Return the position of a task's operation among the first ten results, starting with 1; 99 if it is not there."""
    wanted = {f"api:{task['api']}:{key}" for key in (task["operation"], *task.get("also", ()))}
    found = [hit.id for hit in searcher.search(task["query"], api_name=api_name, types=("endpoint",), limit=10)]
    place = next((at for at, each in enumerate(found, 1) if each in wanted), 99)
    if show and place > 1:
        print(f"{place:2} {task['query']} → {task['operation']}\n     {' | '.join(found[:SHOWN_RESULTS])}")
    return place


def share(ranks: Sequence[int], most: int) -> float:
    """Return the share of ranks up to `most`."""
    return sum(each <= most for each in ranks) / max(1, len(ranks))


if __name__ == "__main__":
    main()
