"""The code-search benchmark: queries with the files that answer them, and an index of every repository."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from benchmarks.places import MIRRORS, SCRATCH, SHARED
from deltos.domains.code.index import CodeIndexer
from deltos.store.sqlite.projects import SqliteProjects
from deltos.workspace.projects import Projects

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from deltos.store.project import ProjectStore

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from deltos.store.project import ProjectStore

CODE = SHARED / "code"
DEPTH = 10


@dataclass(frozen=True, slots=True)
class Query:
    """A question and the files that answer it. `set` is `labelled` or `commits`."""

    id: str
    set: str
    repository: str
    language: str
    category: str
    text: str
    targets: tuple[dict[str, object], ...]

    @property
    def root(self) -> Path:
        """The repository's files, laid out at the commit that the labels fit."""
        return SCRATCH / "code" / self.set / self.repository


def queries() -> Iterator[Query]:
    """All queries, those of one repository together."""
    for name, file in (("labelled", "queries.jsonl"), ("commits", "commit_queries.jsonl")):
        rows = [json.loads(line) for line in (CODE / file).read_text().splitlines()]
        for row in sorted(rows, key=lambda row: row["repo"]):
            yield Query(
                row["id"], name, row["repo"], row["language"], row["category"], row["query"], tuple(row["targets"])
            )


def lay_out() -> None:
    """Write the repositories' files from local clones; what is there already stays."""
    for name, file in (("labelled", "repos.json"), ("commits", "commit_repos.json")):
        target = SCRATCH / "code" / name
        target.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, CODE / "lay_out.py", "--mirrors", MIRRORS, "--out", target, "--repos", CODE / file]
        subprocess.run([str(word) for word in command], check=True, stdout=subprocess.DEVNULL)


@cache
def projects() -> Projects:
    """Projects indexed for code search alone; their data lies with the scratch data."""
    return Projects(SqliteProjects(SCRATCH / "home"), (CodeIndexer(),))


@cache
def index_of(root: Path) -> ProjectStore:
    """The up-to-date index of one repository."""
    index = projects().at(root)
    index.index()
    return index.store


def hits(path: str, target: dict[str, object]) -> bool:
    """Whether a path means the target, as the benchmark's own scorer has it."""
    theirs = str(target["path"])
    return path == theirs or path.endswith("/" + theirs) or theirs.endswith("/" + path)


def ndcg(paths: list[str], targets: tuple[dict[str, object], ...]) -> float:
    """NDCG@10 of ranked paths."""
    ranks = set()
    for target in targets:
        rank = next((i for i, path in enumerate(paths[:DEPTH], 1) if hits(path, target)), None)
        if rank:
            ranks.add(rank)
    ideal = sum(1 / math.log2(i + 1) for i in range(1, min(DEPTH, len(targets)) + 1))
    return sum(1 / math.log2(rank + 1) for rank in ranks) / ideal
