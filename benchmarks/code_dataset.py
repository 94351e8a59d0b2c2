"""Questions about code with the files that answer them, and an index of each repository.

There are four sets: `labelled` and `commits` from the shared benchmark, `questions` written for this project (a third
of the repositories is held out), and `subjects`: commit subjects from the same repositories.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from benchmarks.paths import MIRRORS, REPOSITORY, SCRATCH, SHARED
from benchmarks.tree_history import CloneHistory, History
from deltos.domains.code.index import CodeIndexer
from deltos.domains.code.paths import is_prose, is_settings
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
MAX_CHANGED_FILES = 3


@dataclass(frozen=True, slots=True)
class Query:
    """A question and the files that answer it. Held-out questions are measured but not used for training."""

    id: str
    set: str
    repository: str
    language: str
    category: str
    text: str
    targets: tuple[dict[str, object], ...]
    held_out: bool = False

    @property
    def root(self) -> Path:
        """Folder with the repository at the labelled commit."""
        if self.set in ("questions", "subjects"):
            return SCRATCH / "questions" / self.repository
        return SCRATCH / "code" / self.set / self.repository


def queries() -> Iterator[Query]:
    """Yield all questions of the shared benchmark, grouped by repository."""
    for name, file in (("labelled", "queries.jsonl"), ("commits", "commit_queries.jsonl")):
        rows = [json.loads(line) for line in (CODE / file).read_text().splitlines()]
        for row in sorted(rows, key=lambda row: row["repo"]):
            yield Query(
                row["id"], name, row["repo"], row["language"], row["category"], row["query"], tuple(row["targets"])
            )


def questions() -> Iterator[Query]:
    """Yield the questions of `questions/code.jsonl`, grouped by repository.

    Files in the field `also` count as right too.
    """
    rows = [json.loads(line) for line in QUESTIONS.read_text("utf-8").splitlines()]
    for row in sorted(rows, key=lambda row: row["repo"]):
        targets = (*row["targets"], *({"path": path} for path in row["also"]))
        name = row["repo"].replace("/", "+")
        yield Query(row["id"], "questions", name, "", row["kind"], row["query"], targets, held_out=row["held_out"])


def subjects() -> Iterator[Query]:
    """Yield commit subjects of the same repositories.

    The right files are the one to three files that the commit changed.
    """
    held_out = {query.repository: query.held_out for query in questions()}
    for repository in sorted(held_out):
        if not (SCRATCH / "questions" / repository).is_dir():
            continue
        found = 0
        for number, (subject, files) in enumerate(_read_log(MIRRORS / repository / "repo")):
            files = [path for path in files if not is_prose(path) and not is_settings(path)]
            there = [path for path in files if (SCRATCH / "questions" / repository / path).is_file()]
            if not 1 <= len(there) == len(files) <= MAX_CHANGED_FILES or not _describes_change(subject):
                continue
            targets: tuple[dict[str, object], ...] = tuple({"path": path} for path in there)
            name = f"{repository}-{number}"
            yield Query(name, "subjects", repository, "", "", subject, targets, held_out=held_out[repository])
            found += 1
            if found == SUBJECTS_PER_REPOSITORY:
                break


def _read_log(clone: Path) -> Iterator[tuple[str, list[str]]]:
    command = ["git", "-C", str(clone), "log", "-n", "1500", "--no-merges", "--no-renames"]
    command += ["--name-only", "--format=%x01%s"]
    listing = subprocess.run(command, capture_output=True, text=True, errors="replace", check=True).stdout
    for commit in listing.split("\x01")[1:]:
        subject, *files = [line for line in commit.split("\n") if line]
        yield subject, files


def _describes_change(subject: str) -> bool:
    """Return whether a subject describes a change, and not a release, version bump, revert or merge."""
    words = subject.lower().split()
    return len(words) >= 4 and not any(
        word.startswith(("bump", "release", "revert", "merge", "upgrade")) for word in words
    )


def lay_out() -> None:
    """Write the files of the repositories from local clones, unless the files exist already."""
    for name, file in (("labelled", "repos.json"), ("commits", "commit_repos.json")):
        target = SCRATCH / "code" / name
        target.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, CODE / "lay_out.py", "--mirrors", MIRRORS, "--out", target, "--repos", CODE / file]
        subprocess.run([str(word) for word in command], check=True, stdout=subprocess.DEVNULL)


@lru_cache(maxsize=2)
def _tree_history(name: str, repository: str) -> CloneHistory:
    """Return the history of a repository up to the commit whose files are on disk."""
    if name in ("questions", "subjects"):
        rows = [json.loads(line) for line in QUESTIONS.read_text("utf-8").splitlines()]
        commit = next(row["commit"] for row in rows if row["repo"].replace("/", "+") == repository)
        return CloneHistory(MIRRORS / repository / "repo", commit)
    file = "repos.json" if name == "labelled" else "commit_repos.json"
    row = next(row for row in json.loads((CODE / file).read_text()) if row["name"] == repository)
    return CloneHistory(MIRRORS / row["github"].replace("/", "+") / "repo", row["commit"])


def history_of(query: Query) -> History:
    """Return the commits before the commit whose subject is the question. For other questions, return all commits."""
    past = _tree_history(query.set, query.repository)
    return past.before(query.text) if query.set == "subjects" else past.whole()


@cache
def projects() -> Projects:
    """Return projects that are indexed for code search only, in the scratch folder."""
    return Projects(SqliteProjects(SCRATCH / "home"), (CodeIndexer(),))


@cache
def open_index(root: Path) -> ProjectStore:
    """Index a repository with embeddings, and return its store."""
    index = projects().index_of(root)
    index.index()
    return index.store


def matches_target(path: str, target: dict[str, object]) -> bool:
    """Return whether a path matches the target by the rules of the shared benchmark's scoring script."""
    theirs = str(target["path"])
    return path == theirs or path.endswith("/" + theirs) or theirs.endswith("/" + path)


def ndcg(paths: list[str], targets: tuple[dict[str, object], ...]) -> float:
    """Return NDCG@10 of ranked paths."""
    ranks = set()
    for target in targets:
        rank = next((i for i, path in enumerate(paths[:DEPTH], 1) if matches_target(path, target)), None)
        if rank:
            ranks.add(rank)
    ideal = sum(1 / math.log2(i + 1) for i in range(1, min(DEPTH, len(targets)) + 1))
    return sum(1 / math.log2(rank + 1) for rank in ranks) / ideal
