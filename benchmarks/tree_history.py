"""History of source trees, read from their clones.

It implements the protocols of `store.history` without an index. If a question is the subject of a commit, only the
commits before that commit are used.
"""

from __future__ import annotations

import subprocess
from bisect import bisect_left
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltos.domains.history.terms import words_of
from deltos.embed.static import shared_model
from deltos.embed.vector_rows import quantised
from deltos.store.history import (
    MAX_COUNTED_COMMITS,
    MAX_RELATED_FILES,
    MAX_WORD_COMMITS,
    MIN_COMMITS_TOGETHER,
    ChangedTogether,
    CommitVectors,
    FileHistoryRow,
)

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

MAX_COMMITS = 20_000


@dataclass(frozen=True, slots=True)
class _Commit:
    """A commit. `file_count` also counts files that no longer exist."""

    time: int
    subject: str
    words: str
    paths: tuple[str, ...]
    file_count: int

    @property
    def has_few_files(self) -> bool:
        return bool(self.paths) and self.file_count <= MAX_RELATED_FILES


class CloneHistory:
    """Commits reachable from a commit of a clone, newest first."""

    def __init__(self, clone: Path, commit: str) -> None:
        there = set(_git_output(clone, "ls-tree", "-r", "-z", "--name-only", commit).split("\0"))
        listing = ["log", "-n", str(MAX_COMMITS), "--no-merges", "--no-renames", "--name-only"]
        self.commits: list[_Commit] = []
        self.touches: dict[str, list[int]] = defaultdict(list)
        for entry in _git_output(clone, *listing, "--format=%x01%ct%x02%s", commit).split("\x01")[1:]:
            head, _, listed = entry.partition("\n")
            seconds, _, subject = head.partition("\x02")
            if not seconds.isdigit():  # The subject contains the separator of the fields, so the row cannot be split.
                continue
            touched = [path for path in listed.split("\n") if path]
            paths = tuple(path for path in touched if path in there)
            for path in paths:
                self.touches[path].append(len(self.commits))
            self.commits.append(_Commit(int(seconds), subject, words_of(subject), paths, len(touched)))
        self.vectors = quantised(shared_model().of_words([commit.words for commit in self.commits]))
        self._positions = {commit.subject: at for at, commit in reversed([*enumerate(self.commits)])}

    def whole(self) -> History:
        """Return the entire history."""
        return History(self, 0)

    def before(self, subject: str) -> History:
        """Return the history before the last commit with this subject. If there is none, return the entire history."""
        return History(self, self._positions.get(subject, -1) + 1)


class History:
    """Implements `store.history.FileHistory` for a part of a log. The ids increase with time."""

    def __init__(self, past: CloneHistory, start: int) -> None:
        self._past = past
        self._start = start

    def version(self) -> None:
        """Return None, because the vectors of this history are never cached."""

    def file_histories(self, paths: Collection[str]) -> dict[str, FileHistoryRow]:
        found = {}
        for path in paths:
            touches = self._past.touches.get(path, [])
            commits = [self._past.commits[at] for at in touches[bisect_left(touches, self._start) :]]
            relevant = [commit.words for commit in commits if commit.has_few_files][:MAX_WORD_COMMITS]
            if commits:
                found[path] = FileHistoryRow(" ".join(relevant), len(commits), commits[0].time)
        return found

    def vectors_since(self, model: str, number: int) -> list[CommitVectors]:  # noqa: ARG002
        commits = self._past.commits
        places = [at for at in range(self._start, len(commits)) if commits[at].has_few_files]
        ids = tuple(len(commits) - at for at in places)
        return [] if number else [CommitVectors(1, ids, self._past.vectors[places].tobytes())]

    def vector_count(self, model: str) -> int:  # noqa: ARG002
        return 1

    def vector_numbers(self, model: str) -> list[int]:  # noqa: ARG002
        return [1]

    def commit_words(self, ids: Collection[int]) -> dict[int, str]:
        return {commit_id: self._past.commits[-commit_id].words for commit_id in ids}

    def paths_of(self, ids: Collection[int], *, limit: int) -> dict[int, list[str]]:
        return {commit_id: list(self._past.commits[-commit_id].paths[:limit]) for commit_id in ids}

    def files_changed_with(self, path: str, *, limit: int) -> list[ChangedTogether]:
        touches = self._past.touches.get(path, [])
        commits = [self._past.commits[at] for at in touches[bisect_left(touches, self._start) :]]
        counted = [commit for commit in commits if commit.file_count <= MAX_RELATED_FILES][:MAX_COUNTED_COMMITS]
        together = Counter(other for commit in counted for other in commit.paths if other != path)
        often = [(other, count) for other, count in together.most_common(limit) if count >= MIN_COMMITS_TOGETHER]
        return [ChangedTogether(other, count, len(counted)) for other, count in often]


def _git_output(clone: Path, *arguments: str) -> str:
    command = ["git", "-C", str(clone), *arguments]
    return subprocess.run(command, capture_output=True, text=True, errors="replace", check=False).stdout
