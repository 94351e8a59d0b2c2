"""What is kept of a project's history: commits with their words and files, and what they say of each file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from contextlib import AbstractContextManager

    from deltos.store.version import Version

# A commit with more files is a sweep: it tells nothing about any one of them, nor that they belong together.
MAX_RELATED_FILES = 30
# How many of the latest commits of a file give it words, and how many are counted for what changes together.
MAX_WORD_COMMITS = 30
MAX_COUNTED_COMMITS = 500
# The recorded fact that says in one line how much is known.
HISTORY_SUMMARY = "history/summary"
# Files count as changing together from so many common commits on.
LEAST_TOGETHER = 3


@dataclass(frozen=True, slots=True)
class CommitRow:
    """A commit; `time` is in seconds, `file_count` counts those in the project that it touched."""

    id: int
    hash: str
    time: int
    author: str
    subject: str
    body: str
    file_count: int
    is_merge: bool


@dataclass(frozen=True, slots=True)
class CommitRecord:
    """A commit as written, with its words; `paths` are the touched files that there still are, under today's names."""

    hash: str
    time: int
    author: str
    subject: str
    body: str
    file_count: int
    is_merge: bool
    paths: tuple[str, ...]
    subject_words: str
    body_words: str
    path_words: str
    vector: bytes = b""


@dataclass(frozen=True, slots=True)
class CommitVectors:
    """What some commits mean, in the order of their ids: int8 vectors end to end; `number` grows with every write."""

    number: int
    ids: tuple[int, ...]
    data: bytes


@dataclass(frozen=True, slots=True)
class CommitMatch:
    """A commit that has some of the words; a higher score is better."""

    commit: CommitRow
    score: float


@dataclass(frozen=True, slots=True)
class FileHistoryRow:
    """What history tells about a file: words of its last commits' subjects (newest first, repeated as they occur), how
    often it changed, and when last, in seconds."""

    words: str
    changes: int
    last_changed: int


@dataclass(frozen=True, slots=True)
class ChangedTogether:
    """A file that changed in `together` of the `changes` commits that changed another one."""

    path: str
    together: int
    changes: int


@dataclass(frozen=True, slots=True)
class HistoryTotals:
    """How much is known: commits, the time of the oldest and the newest, and how many touch too many files to count."""

    commits: int = 0
    oldest: int = 0
    newest: int = 0
    sweeping: int = 0


class FileHistory(Protocol):
    """What history tells about files."""

    def version(self) -> Version:
        """What tells the state that this thread reads from every other."""

    def of_files(self, paths: Collection[str]) -> dict[str, FileHistoryRow]:
        """What is known about files; those without history are left out."""

    def vectors_since(self, model: str, number: int) -> list[CommitVectors]:
        """The vectors of a model that were written after those with that number; only of commits that say something
        about files: those that touched some that there are, and not too many."""

    def vector_count(self, model: str) -> int:
        """How many times vectors of a model were written."""

    def vector_numbers(self, model: str) -> list[int]:
        """The numbers of all vectors of a model."""

    def commit_words(self, ids: Collection[int]) -> dict[int, str]:
        """The words of commits' subjects; those that are gone are left out."""

    def paths_of(self, ids: Collection[int], *, limit: int) -> dict[int, list[str]]:
        """The files that commits touched and that there still are, at most so many of each."""

    def changed_with(self, path: str, *, limit: int) -> list[ChangedTogether]:
        """The files that usually change when this one does, most often first."""


class History(FileHistory, Protocol):
    """The history of one project."""

    def snapshot(self) -> AbstractContextManager[object]:
        """Several reads that see one state, whatever is written meanwhile."""

    def totals(self) -> HistoryTotals:
        """How much is known."""

    def match_files(self, terms: Sequence[str], *, limit: int) -> list[tuple[str, float]]:
        """The indexed files whose commits have the terms, best first; a higher score is better."""

    def match_commits(
        self, terms: Sequence[str], spans: Sequence[tuple[int, int]] = (), authors: Sequence[str] = (), *, limit: int
    ) -> list[CommitMatch]:
        """The commits that best match the terms; in one of the spans of time (from, up to) where there are any, and by
        one of the authors where there are any."""

    def commits_saying(
        self,
        groups: Sequence[Sequence[str]],
        spans: Sequence[tuple[int, int]] = (),
        authors: Sequence[str] = (),
        *,
        limit: int,
    ) -> list[CommitRow]:
        """The newest commits whose subject has a word of each group; narrowed as in `match_commits`."""

    def commit_counts(self, terms: Sequence[str]) -> dict[str, int]:
        """In how many commits each term stands."""

    def commits_in(
        self, spans: Sequence[tuple[int, int]], authors: Sequence[str] = (), *, limit: int
    ) -> list[CommitRow]:
        """The newest commits in some spans of time, by some authors."""

    def authors(self) -> Collection[str]:
        """The names of all who wrote commits, each once."""

    def commits_named(self, prefix: str, *, limit: int) -> list[CommitRow]:
        """The commits whose id begins so."""

    def commits_of(self, path: str, *, limit: int) -> list[CommitRow]:
        """The last commits of a file, newest first."""

    def renamed(self) -> dict[str, str]:
        """The name that a file has today, by the names that it had."""


class HistoryWriter(Protocol):
    """Writes history inside one transaction."""

    def clear(self) -> None:
        """Forget everything."""

    def add_newer(self, commits: Sequence[CommitRecord], model: str = "") -> None:
        """Write commits, newest first, that come after all that are known; their vectors are of a model."""

    def add_older(self, commits: Sequence[CommitRecord], model: str = "") -> None:
        """Write commits, newest first, that come before all that are known; their vectors are of a model."""

    def remove(self, hashes: Collection[str]) -> None:
        """Forget commits that are no longer part of the history."""

    def rename(self, before: str, path: str) -> None:
        """What is known of a file belongs to it under its new name."""

    def add_renamed(self, names: dict[str, str]) -> None:
        """Remember today's name of files by the names that they had."""

    def keep_files(self, paths: Collection[str]) -> None:
        """Forget files that there are no longer."""

    def settle(self, *, limit: int) -> int:
        """Gather the words of files whose commits were changed, at most so many; how many were."""
