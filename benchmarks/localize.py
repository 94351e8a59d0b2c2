"""Measure how often search_code finds the files that fix an issue: Acc@k with the whole issue and with its first line.

    python -m benchmarks.localize [--most N] [--per-repository N] [--fold N/M] [--answers FILE] [--list]

Uses the issues of Loc-Bench whose repositories are among the mirrors (fetch them first; issues with missing commits are
skipped). An issue counts at k if all files changed by its fix are among the first k distinct paths. `--fold 1/2`
selects the repositories of one half, `--fold 2/2` the others: use one half for tuning, and report the figures of the
other.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import time
import zlib
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, cast

from benchmarks.code_dataset import open_index
from benchmarks.paths import MIRRORS, SCRATCH, SHARED
from benchmarks.python_imports import PythonImports
from benchmarks.tree_history import CloneHistory
from deltos.domains.code.search import CodeSearch

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from deltos.store.history import FileHistory
    from deltos.store.project import ProjectStore

ISSUES = SHARED / "localize" / "locbench_dev.jsonl"
ACCURACY_DEPTHS = (1, 3, 5, 10)


@dataclass(frozen=True, slots=True)
class Issue:
    """A real issue and the files that its fix changed."""

    id: str
    repository: str
    commit: str
    text: str
    targets: frozenset[str]

    @property
    def root(self) -> Path:
        """Folder with the repository before the fix."""
        return SCRATCH / "localize" / self.id

    @property
    def first_line(self) -> str:
        """Title of the issue."""
        return self.text.strip().split("\n", 1)[0]


@dataclass(frozen=True, slots=True)
class RankedPaths:
    """The distinct paths that a query returned, best first, and the CPU time of the query."""

    issue: Issue
    paths: tuple[str, ...]
    cpu_seconds: float

    def has_all(self, depth: int) -> bool:
        """Return whether all files of the fix are among the first `depth` paths."""
        return self.issue.targets <= set(self.paths[:depth])


def main() -> None:
    """Print one row per kind of query."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--most", type=int, default=120)
    parser.add_argument("--per-repository", type=int, default=3)
    parser.add_argument("--fold", default="1/1", metavar="N/M")
    parser.add_argument("--answers", type=Path, metavar="FILE", help="write the answers to whole issues for score.py")
    parser.add_argument("--list", action="store_true", help="print each issue with the ranks of its files")
    chosen = parser.parse_args()
    nth, folds = map(int, chosen.fold.split("/"))
    sample = [issue for issue in issues(chosen.most, chosen.per_repository) if repository_fold(issue, folds) == nth]
    print(f"{len(sample)} issues of {len({issue.repository for issue in sample})} repositories\n")
    print("| query | " + " | ".join(f"Acc@{depth}" for depth in ACCURACY_DEPTHS) + " | CPU ms, median | CPU ms, p95 |")
    print("|---|" + "--:|" * (len(ACCURACY_DEPTHS) + 2))
    asked = [(search_issue(issue, issue.first_line), search_issue(issue, issue.text)) for issue in sample]
    first, whole = [one for one, _ in asked], [other for _, other in asked]
    print_row("first line", first)
    print_row("whole issue", whole)
    if chosen.answers:
        rows = ({"id": each.issue.id, "paths": each.paths} for each in whole)
        chosen.answers.write_text("".join(json.dumps(row) + "\n" for row in rows))
    if chosen.list:
        for one, other in zip(first, whole, strict=True):
            print(
                one.issue.id,
                format_ranks(one),
                format_ranks(other),
                f"{other.cpu_seconds * 1000:.0f} ms",
                len(one.issue.text),
            )


def issues(most: int, per_repository: int) -> Iterator[Issue]:
    """Return a sample of issues, a few for each mirrored repository, with their files on disk."""
    taken: Counter[str] = Counter()
    for line in ISSUES.read_text("utf-8").splitlines():
        row = json.loads(line)
        issue = Issue(row["id"], row["repo"], row["commit"], row["query"], frozenset(row["targets"]))
        mirror = MIRRORS / issue.repository.replace("/", "+") / "repo"
        if taken.total() >= most or taken[issue.repository] >= per_repository or not mirror.is_dir():
            continue
        if write_commit_files(mirror / ".git" if (mirror / ".git").is_dir() else mirror, issue):
            taken[issue.repository] += 1
            yield issue


def repository_fold(issue: Issue, folds: int) -> int:
    """Return the number of the fold to which an issue's repository belongs, counted from 1."""
    return zlib.crc32(issue.repository.encode()) % folds + 1


def write_commit_files(mirror: Path, issue: Issue) -> bool:
    """Write the files of the issue's commit; return whether all files of the fix were written. Large files may be
    missing.
    """
    if not issue.root.is_dir():
        listed = git_output(mirror, "ls-tree", "-r", "-z", issue.commit).decode("utf-8", "replace").split("\0")
        entries = [entry.partition("\t")[::2] for entry in listed if entry.startswith("100")]
        wanted = "".join(f"{head.split()[2]}\n" for head, _ in entries).encode()
        objects = read_objects(git_output(mirror, "cat-file", "--batch", given=wanted))
        for (_, path), content in zip(entries, objects, strict=True):
            if content is not None:
                (issue.root / path).parent.mkdir(parents=True, exist_ok=True)
                (issue.root / path).write_bytes(content)
    return all((issue.root / path).is_file() for path in issue.targets)


def git_output(mirror: Path, *arguments: str, given: bytes = b"") -> bytes:
    """Return the output of git, or empty bytes if git fails."""
    command = ["git", "--git-dir", str(mirror), *arguments]
    return subprocess.run(command, input=given, capture_output=True, check=False).stdout


def read_objects(batch: bytes) -> Iterator[bytes | None]:
    """Yield each object in the output of `cat-file --batch`, or None if it is missing."""
    at = 0
    while at < len(batch):
        end = batch.index(b"\n", at)
        head = batch[at:end].split()
        at = end + 1
        if len(head) != 3:  # The object is missing.
            yield None
            continue
        yield batch[at : at + int(head[2])]
        at += int(head[2]) + 1


class _StoreWithHistory:
    """Index of the files of a commit, with the history of the repository and the imports between the files."""

    def __init__(self, store: ProjectStore, history: FileHistory, root: Path) -> None:
        self._store = store
        self.history = history
        self.graph = PythonImports(root, store.files())

    def __getattr__(self, name: str) -> object:
        return getattr(self._store, name)


@lru_cache(maxsize=1)
def _tree_history(issue: Issue) -> CloneHistory:
    return CloneHistory(MIRRORS / issue.repository.replace("/", "+") / "repo", issue.commit)


def search_issue(issue: Issue, text: str) -> RankedPaths:
    """Search the code at the commit before the fix, with the history up to this commit."""
    store = cast("ProjectStore", _StoreWithHistory(open_index(issue.root), _tree_history(issue).whole(), issue.root))
    started = time.process_time()
    answer = CodeSearch(store, issue.root).search(text, limit=max(ACCURACY_DEPTHS))
    spent = time.process_time() - started
    return RankedPaths(issue, tuple(dict.fromkeys(hit.path for hit in answer.hits)), spent)


def format_ranks(found: RankedPaths) -> str:
    """Format the rank of each file of the fix, or "–" if the file was not found."""
    return ",".join(str(found.paths.index(path) + 1) if path in found.paths else "–" for path in found.issue.targets)


def print_row(name: str, found: Iterable[RankedPaths]) -> None:
    """Print the accuracy and the cost of one kind of query."""
    rows = list(found)
    spent = sorted(each.cpu_seconds * 1000 for each in rows)
    right = (f"{statistics.mean(each.has_all(depth) for each in rows):.3f}" for depth in ACCURACY_DEPTHS)
    print(f"| {name} | {' | '.join(right)} | {statistics.median(spent):.0f} | {spent[int(len(spent) * 0.95)]:.0f} |")


if __name__ == "__main__":
    main()
