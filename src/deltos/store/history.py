"""Protocols and rows of a project's git history: commits with their words and files, and statistics of each file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from contextlib import AbstractContextManager

    from deltos.store.version import Version

# A commit with more files is a sweeping change: it says nothing about a single file or about related files.
MAX_RELATED_FILES = 30
# Number of latest commits that give a file its words, and number counted for files that change together.
MAX_WORD_COMMITS = 30
MAX_COUNTED_COMMITS = 500
# Key of the recorded fact that summarises in one line how much history is indexed.
HISTORY_SUMMARY = "history/summary"
# Minimum number of common commits of two files that count as changing together.
MIN_COMMITS_TOGETHER = 3


@dataclass(frozen=True, slots=True)
class CommitRow:
    """A commit. `time` is in seconds; `file_count` is the number of project files that it touched."""

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
    """A commit to write, with its words. `paths` are the touched files that still exist, under their present names."""

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
    """Vectors of several commits, in the order of `ids`: concatenated int8 vectors. `number` grows with every write."""

    number: int
    ids: tuple[int, ...]
    data: bytes


@dataclass(frozen=True, slots=True)
class CommitMatch:
    """A commit that contains some of the terms; a higher score is better."""

    commit: CommitRow
    score: float


@dataclass(frozen=True, slots=True)
class FileHistoryRow:
    """History of a file: words of its latest commit subjects (newest first, with repetitions), number of changes, and
    time of the last change in seconds."""

    words: str
    changes: int
    last_changed: int


@dataclass(frozen=True, slots=True)
class ChangedTogether:
    """A file that changed in `together` of the `changes` commits that changed another file."""

    path: str
    together: int
    changes: int


@dataclass(frozen=True, slots=True)
class HistoryTotals:
    """Number of commits, time of the oldest and newest, and number of sweeping commits that are not counted for
    files."""

    commits: int = 0
    oldest: int = 0
    newest: int = 0
    sweeping: int = 0


class FileHistory(Protocol):
    """History of files."""

    def version(self) -> Version:
        """Return a value that identifies the state that this thread reads."""

    def of_files(self, paths: Collection[str]) -> dict[str, FileHistoryRow]:
        """Return the history of files by path; files without history are left out."""

    def vectors_since(self, model: str, number: int) -> list[CommitVectors]:
        """Return the vectors of a model with a higher number.

        Only commits that touched existing files, and not too many, have vectors.
        """

    def vector_count(self, model: str) -> int:
        """Return the number of writes of vectors of a model."""

    def vector_numbers(self, model: str) -> list[int]:
        """Return the numbers of all vector writes of a model."""

    def commit_words(self, ids: Collection[int]) -> dict[int, str]:
        """Return the words of commit subjects by id; deleted commits are left out."""

    def paths_of(self, ids: Collection[int], *, limit: int) -> dict[int, list[str]]:
        """Return the existing files that commits touched, at most `limit` of each."""

    def changed_with(self, path: str, *, limit: int) -> list[ChangedTogether]:
        """Return the files that usually change together with this one, most often first."""


class History(FileHistory, Protocol):
    """The history of one project."""

    def snapshot(self) -> AbstractContextManager[object]:
        """Return a context in which all reads see the same state."""

    def totals(self) -> HistoryTotals:
        """Return how much history is indexed."""

    def match_files(self, terms: Sequence[str], *, limit: int) -> list[tuple[str, float]]:
        """Return the indexed files whose commits match the terms, best first; a higher score is better."""

    def match_commits(
        self, terms: Sequence[str], spans: Sequence[tuple[int, int]] = (), authors: Sequence[str] = (), *, limit: int
    ) -> list[CommitMatch]:
        """Return the commits that best match the terms, optionally within time spans (start, end) and by some
        authors."""

    def commits_with_subject_terms(
        self,
        groups: Sequence[Sequence[str]],
        spans: Sequence[tuple[int, int]] = (),
        authors: Sequence[str] = (),
        *,
        limit: int,
    ) -> list[CommitRow]:
        """Return the newest commits whose subject contains a term of each group; filtered as in `match_commits`."""

    def commit_counts(self, terms: Sequence[str]) -> dict[str, int]:
        """Return the number of commits that contain each term."""

    def commits_in(
        self, spans: Sequence[tuple[int, int]], authors: Sequence[str] = (), *, limit: int
    ) -> list[CommitRow]:
        """Return the newest commits within time spans and by some authors."""

    def authors(self) -> Collection[str]:
        """Return the distinct names of all commit authors."""

    def commits_by_hash(self, prefix: str, *, limit: int) -> list[CommitRow]:
        """Return the commits whose hash begins with `prefix`."""

    def commits_of(self, path: str, *, limit: int) -> list[CommitRow]:
        """Return the last commits of a file, newest first."""

    def renamed(self) -> dict[str, str]:
        """Return the present names of renamed files by their former names."""


class HistoryWriter(Protocol):
    """Writes history inside one transaction."""

    def clear(self) -> None:
        """Delete the whole history."""

    def add_newer(self, commits: Sequence[CommitRecord], model: str = "") -> None:
        """Write commits, newest first, that are newer than all stored ones; `model` is the model of their vectors."""

    def add_older(self, commits: Sequence[CommitRecord], model: str = "") -> None:
        """Write commits, newest first, that are older than all stored ones; `model` is the model of their vectors."""

    def remove(self, hashes: Collection[str]) -> None:
        """Delete commits that no longer belong to the history."""

    def rename(self, before: str, path: str) -> None:
        """Move the history of a file to its new name."""

    def add_renamed(self, names: dict[str, str]) -> None:
        """Record the present names of files by their former names."""

    def keep_files(self, paths: Collection[str]) -> None:
        """Delete the history of all files except `paths`."""

    def settle(self, *, limit: int) -> int:
        """Recompute the words and counts of up to `limit` files whose commits changed; return how many."""
