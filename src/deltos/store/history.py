"""Protocols and row types of a project's git history: commits with index words and files, and statistics of files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from contextlib import AbstractContextManager

    from deltos.store.version import Version

# Commits that change more files than this are called sweeping, because the message does not describe each of the files.
MAX_RELATED_FILES = 30
# Number of latest commits of a file whose subjects are indexed for the file.
MAX_WORD_COMMITS = 30
# Number of latest commits of a file that are searched for files that change together with the file.
MAX_COUNTED_COMMITS = 500
# Metadata key of the one-line summary of the indexed history.
HISTORY_SUMMARY = "history/summary"
# Minimum number of common commits for two files to count as changing together.
MIN_COMMITS_TOGETHER = 3


@dataclass(frozen=True, slots=True)
class CommitRow:
    """A commit. `time` is in seconds. `file_count` is the number of project files that the commit touched."""

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
    """A commit to store, with index words. `paths` are the current paths of changed files that still exist."""

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
    """Concatenated int8 embedding vectors of the commits with the ids `ids`. `number` increases with every write."""

    number: int
    ids: tuple[int, ...]
    data: bytes


@dataclass(frozen=True, slots=True)
class CommitMatch:
    """A commit that contains some of the query terms. A higher score is better."""

    commit: CommitRow
    score: float


@dataclass(frozen=True, slots=True)
class FileHistoryRow:
    """Index words and statistics of the commits that changed a file.

    `words` contains the words of the latest commit subjects, newest first, with repetitions. `last_changed` is in
    seconds.
    """

    words: str
    changes: int
    last_changed: int


@dataclass(frozen=True, slots=True)
class ChangedTogether:
    """A file that was changed in `together` of the `changes` commits that changed another file."""

    path: str
    together: int
    changes: int


@dataclass(frozen=True, slots=True)
class HistoryTotals:
    """Number of commits, times of the oldest and newest commit, and number of sweeping commits.

    Sweeping commits changed more than MAX_RELATED_FILES files and are not counted in the history of single files.
    """

    commits: int = 0
    oldest: int = 0
    newest: int = 0
    sweeping: int = 0


class FileHistory(Protocol):
    """Queries on the history of files."""

    def version(self) -> Version:
        """Return a value that identifies the state that this thread reads."""

    def file_histories(self, paths: Collection[str]) -> dict[str, FileHistoryRow]:
        """Return the history of the given files by path. Files without commits are omitted."""

    def vectors_since(self, model: str, number: int) -> list[CommitVectors]:
        """Return the embedding vectors of a model that were written after the write with this number.

        Sweeping commits (with very many files) and commits without existing files have no vectors.
        """

    def vector_count(self, model: str) -> int:
        """Return the number of stored batches of vectors of an embedding model."""

    def vector_numbers(self, model: str) -> list[int]:
        """Return the numbers of all stored batches of vectors of an embedding model."""

    def commit_words(self, ids: Collection[int]) -> dict[int, str]:
        """Return the index words of commit subjects by commit id. Deleted commits are omitted."""

    def paths_of(self, ids: Collection[int], *, limit: int) -> dict[int, list[str]]:
        """Return the existing files that each commit changed, at most `limit` per commit."""

    def files_changed_with(self, path: str, *, limit: int) -> list[ChangedTogether]:
        """Return the files that usually change together with a file, most frequent first."""


class History(FileHistory, Protocol):
    """Queries on the git history of one project."""

    def snapshot(self) -> AbstractContextManager[object]:
        """Return a context manager within which all reads see the same state."""

    def totals(self) -> HistoryTotals:
        """Return the number of indexed commits and the times of the oldest and newest one."""

    def match_files(self, terms: Sequence[str], *, limit: int) -> list[tuple[str, float]]:
        """Return the indexed files whose commits match the terms, best first. A higher score is better."""

    def match_commits(
        self, terms: Sequence[str], spans: Sequence[tuple[int, int]] = (), authors: Sequence[str] = (), *, limit: int
    ) -> list[CommitMatch]:
        """Return the commits that best match the terms, optionally limited to time spans and authors."""

    def commits_with_subject_terms(
        self,
        groups: Sequence[Sequence[str]],
        spans: Sequence[tuple[int, int]] = (),
        authors: Sequence[str] = (),
        *,
        limit: int,
    ) -> list[CommitRow]:
        """Return the newest commits whose subjects contain a term of each group, filtered like `match_commits`."""

    def commit_counts(self, terms: Sequence[str]) -> dict[str, int]:
        """Return the number of commits that contain each term."""

    def commits_in(
        self, spans: Sequence[tuple[int, int]], authors: Sequence[str] = (), *, limit: int
    ) -> list[CommitRow]:
        """Return the newest commits within the time spans and by the authors."""

    def authors(self) -> Collection[str]:
        """Return the distinct names of all commit authors."""

    def commits_by_hash(self, prefix: str, *, limit: int) -> list[CommitRow]:
        """Return the commits whose hash begins with `prefix`."""

    def commits_of(self, path: str, *, limit: int) -> list[CommitRow]:
        """Return the last commits that changed a file, newest first."""

    def renamed_files(self) -> dict[str, str]:
        """Return the current paths of renamed files by former path."""


class HistoryWriter(Protocol):
    """Writer of history within one transaction."""

    def clear(self) -> None:
        """Delete the whole history."""

    def add_newer(self, commits: Sequence[CommitRecord], model: str = "") -> None:
        """Store commits that are newer than all stored commits, newest first. `model` is the embedding model of the
        vectors."""

    def add_older(self, commits: Sequence[CommitRecord], model: str = "") -> None:
        """Store commits that are older than all stored commits, newest first. `model` is the embedding model of the
        vectors."""

    def remove(self, hashes: Collection[str]) -> None:
        """Delete commits that no longer belong to the history."""

    def rename(self, before: str, path: str) -> None:
        """Move the history of a renamed file to the new name."""

    def add_renames(self, names: dict[str, str]) -> None:
        """Record renamed files. `names` maps former names to current names."""

    def keep_files(self, paths: Collection[str]) -> None:
        """Delete the history of all files except `paths`."""

    def update_changed_files(self, *, limit: int) -> int:
        """Update the index words and commit counts of up to `limit` files whose commits changed.

        Return the number of updated files.
        """
