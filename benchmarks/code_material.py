"""The code-search benchmarks: queries with the files that answer them, and an index of every repository.

Four sets: `label_source` and `commits` of the shared benchmark, `questions` written for this project (a third of their
repositories is kept apart: never tuned on), and `subjects` of commits of the same repositories.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from benchmarks.past import History, Past
from benchmarks.places import MIRRORS, REPOSITORY, SCRATCH, SHARED
from deltos.domains.code.index import CodeIndexer
from deltos.domains.code.paths import is_prose, is_settings
from deltos.domains.code.semantic_candidates import project_vectors
from deltos.progress import Silent
from deltos.store.sqlite.projects import SqliteProjects
from deltos.workspace.projects import Projects

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from deltos.store.project import ProjectStore

CODE = SHARED / "code"
QUESTIONS = REPOSITORY / "benchmarks" / "questions" / "code.jsonl"
DEPTH = 10
SUBJECTS_PER_REPOSITORY = 15
MOST_FILES_OF_COMMIT = 3


@dataclass(frozen=True, slots=True)
class Query:
    """A question and the files that answer it; `apart` ones are for reporting only."""

    id: str
    set: str
    repository: str
    language: str
    category: str
    text: str
    targets: tuple[dict[str, object], ...]
    apart: bool = False

    @property
    def root(self) -> Path:
        """The repository's files, laid out at the commit that the labels fit."""
        if self.set in ("questions", "subjects"):
            return SCRATCH / "questions" / self.repository
        return SCRATCH / "code" / self.set / self.repository


def queries() -> Iterator[Query]:
    """All queries, those of one repository together."""
    for name, file in (("labelled", "queries.jsonl"), ("commits", "commit_queries.jsonl")):
        rows = [json.loads(line) for line in (CODE / file).read_text().splitlines()]
        for row in sorted(rows, key=lambda row: row["repo"]):
            yield Query(
                row["id"], name, row["repo"], row["language"], row["category"], row["query"], tuple(row["targets"])
            )


def questions() -> Iterator[Query]:
    """The questions of `questions/code.jsonl`, those of one repository together; `also` counts as right too."""
    rows = [json.loads(line) for line in QUESTIONS.read_text("utf-8").splitlines()]
    for row in sorted(rows, key=lambda row: row["repo"]):
        targets = (*row["targets"], *({"path": path} for path in row["also"]))
        name = row["repo"].replace("/", "+")
        yield Query(row["id"], "questions", name, "", row["kind"], row["query"], targets, apart=row["apart"])


def subjects() -> Iterator[Query]:
    """Commit subjects of the questions' repositories, with the one to three files that each changed."""
    apart = {query.repository: query.apart for query in questions()}
    for repository in sorted(apart):
        found = 0
        for number, (subject, files) in enumerate(_log(MIRRORS / repository / "repo")):
            files = [path for path in files if not is_prose(path) and not is_settings(path)]
            there = [path for path in files if (SCRATCH / "questions" / repository / path).is_file()]
            if not 1 <= len(there) == len(files) <= MOST_FILES_OF_COMMIT or not _tells(subject):
                continue
            targets: tuple[dict[str, object], ...] = tuple({"path": path} for path in there)
            name = f"{repository}-{number}"
            yield Query(name, "subjects", repository, "", "", subject, targets, apart=apart[repository])
            found += 1
            if found == SUBJECTS_PER_REPOSITORY:
                break


def _log(clone: Path) -> Iterator[tuple[str, list[str]]]:
    command = ["git", "-C", str(clone), "log", "-n", "1500", "--no-merges", "--no-renames"]
    command += ["--name-only", "--format=%x01%s"]
    listing = subprocess.run(command, capture_output=True, text=True, errors="replace", check=True).stdout
    for commit in listing.split("\x01")[1:]:
        subject, *files = [line for line in commit.split("\n") if line]
        yield subject, files


def _tells(subject: str) -> bool:
    """Whether a subject says enough to be asked: not a release, a bump or a revert."""
    words = subject.lower().split()
    return len(words) >= 4 and not any(
        word.startswith(("bump", "release", "revert", "merge", "upgrade")) for word in words
    )


def lay_out() -> None:
    """Write the repositories' files from local clones; what is there already stays."""
    for name, file in (("labelled", "repos.json"), ("commits", "commit_repos.json")):
        target = SCRATCH / "code" / name
        target.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, CODE / "lay_out.py", "--mirrors", MIRRORS, "--out", target, "--repos", CODE / file]
        subprocess.run([str(word) for word in command], check=True, stdout=subprocess.DEVNULL)


@lru_cache(maxsize=2)
def _past_of(name: str, repository: str) -> Past:
    """The history of a repository up to the commit that it is laid out at."""
    if name in ("questions", "subjects"):
        rows = [json.loads(line) for line in QUESTIONS.read_text("utf-8").splitlines()]
        commit = next(row["commit"] for row in rows if row["repo"].replace("/", "+") == repository)
        return Past(MIRRORS / repository / "repo", commit)
    file = "repos.json" if name == "labelled" else "commit_repos.json"
    row = next(row for row in json.loads((CODE / file).read_text()) if row["name"] == repository)
    return Past(MIRRORS / row["github"].replace("/", "+") / "repo", row["commit"])


def history_of(query: Query) -> History:
    """What had happened when a query was asked; the commits of the shared set all come after their repository's."""
    past = _past_of(query.set, query.repository)
    return past.before(query.text) if query.set == "subjects" else past.whole()


@cache
def projects() -> Projects:
    """Projects indexed for code search alone; their data lies with the scratch data."""
    return Projects(SqliteProjects(SCRATCH / "home"), (CodeIndexer(),))


@cache
def index_of(root: Path) -> ProjectStore:
    """The up-to-date index of one repository, its chunks read."""
    index = projects().at(root)
    index.index()
    project_vectors(index.store.code).embed(index.store.code, Silent())
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
