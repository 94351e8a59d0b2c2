"""Queries and row types of a project's git history: commits with index words and files, and statistics of files."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from deltos.store.word_index import COMMIT_WORDS, EVERY_ROW, PAST_FILE_WORDS, RowCondition

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from contextlib import AbstractContextManager

    from deltos.store.project_rows import ProjectRows
    from deltos.store.version import Version

# Commits that change more files than this are called sweeping, because the commit message does not describe each file.
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
    """A file that changes together with another file.

    `changes` is the number of commits that changed the other file, and `together` the number that changed both files.
    """

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


_COMMIT_COLUMNS = ", ".join(
    f"past_commit.{name}" for name in ("id", "hash", "time", "author", "subject", "body", "file_count", "is_merge")
)
_EXTRA_MATCHES = 50  # additional matches to request, because removed commits remain in the word index
_IS_INDEXED_FILE = RowCondition(
    "EXISTS (SELECT 1 FROM past_file JOIN file ON file.path = past_file.path WHERE past_file.id = {id})"
)


class History:
    """Queries on the git history of one project."""

    def __init__(self, rows: ProjectRows) -> None:
        self._rows = rows
        self._commit_words = rows.words(COMMIT_WORDS)
        self._file_words = rows.words(PAST_FILE_WORDS)

    def snapshot(self) -> AbstractContextManager[object]:
        """Return a context manager within which all reads see the same state."""
        return self._rows.snapshot()

    def version(self) -> Version:
        """Return a value that identifies the state that this thread reads."""
        return self._rows.version()

    def totals(self) -> HistoryTotals:
        """Return the number of indexed commits and the times of the oldest and newest one."""

        def read() -> HistoryTotals:
            sql = "SELECT COUNT(*), MIN(time), MAX(time) FROM past_commit"
            ((commits, oldest, newest),) = self._rows.query(sql)
            sql = f"SELECT COUNT(*) FROM past_commit WHERE file_count > {MAX_RELATED_FILES}"
            ((sweeping,),) = self._rows.query(sql)
            return HistoryTotals(commits, oldest or 0, newest or 0, sweeping)

        return self._rows.cached("history totals", read)

    def file_histories(self, paths: Collection[str]) -> dict[str, FileHistoryRow]:
        """Return the history of the given files by path. Files without commits are omitted."""
        sql = """SELECT past_file.path, words, changes, last_changed FROM past_file
                 WHERE past_file.path IN ? AND changes > 0"""
        return {row[0]: FileHistoryRow(*row[1:]) for row in self._query(sql, list(paths))}

    def vectors_since(self, model: str, number: int) -> list[CommitVectors]:
        """Return the embedding vectors of a model that were written after the write with this number.

        Sweeping commits (with very many files) and commits without existing files have no vectors.
        """
        sql = "SELECT number, ids, data FROM past_vectors WHERE model = ? AND number > ? ORDER BY number"
        return [CommitVectors(row[0], tuple(array("q", row[1])), row[2]) for row in self._query(sql, model, number)]

    def vector_count(self, model: str) -> int:
        """Return the number of stored batches of vectors of an embedding model."""
        return int(self._query("SELECT COUNT(*) FROM past_vectors WHERE model = ?", model)[0][0])

    def vector_numbers(self, model: str) -> list[int]:
        """Return the numbers of all stored batches of vectors of an embedding model."""
        return [row[0] for row in self._query("SELECT number FROM past_vectors WHERE model = ? ORDER BY number", model)]

    def commit_words(self, ids: Collection[int]) -> dict[int, str]:
        """Return the index words of commit subjects by commit id. Deleted commits are omitted."""
        return dict(self._query("SELECT id, words FROM past_commit WHERE id IN ?", list(ids)))

    def match_files(self, terms: Sequence[str], *, limit: int) -> list[tuple[str, float]]:
        """Return the indexed files whose commits match the terms, best first. A higher score is better."""
        with self._rows.snapshot():
            found = self._file_words.match(terms, condition=_IS_INDEXED_FILE, limit=limit)
            paths = dict(self._query("SELECT id, path FROM past_file WHERE id IN ?", [row_id for row_id, _ in found]))
        return [(paths[row_id], score) for row_id, score in found]

    def files_changed_with(self, path: str, *, limit: int) -> list[ChangedTogether]:
        """Return the files that usually change together with a file, most frequent first."""
        rows = self._query(
            """WITH own (file, id) AS (
                   SELECT past_touch.file_id, commit_id FROM past_file
                   JOIN past_touch ON past_touch.file_id = past_file.id
                   JOIN past_commit ON past_commit.id = commit_id
                   WHERE past_file.path = ? AND file_count <= ? ORDER BY commit_id DESC LIMIT ?)
               SELECT MIN(path), COUNT(*), (SELECT COUNT(*) FROM own)
               FROM own JOIN past_touch ON past_touch.commit_id = own.id AND past_touch.file_id <> own.file
               JOIN past_file ON past_file.id = past_touch.file_id
               GROUP BY past_touch.file_id HAVING COUNT(*) >= ? ORDER BY 2 DESC, 1 LIMIT ?""",
            path,
            MAX_RELATED_FILES,
            MAX_COUNTED_COMMITS,
            MIN_COMMITS_TOGETHER,
            limit,
        )
        return [ChangedTogether(*row) for row in rows]

    def match_commits(
        self, terms: Sequence[str], spans: Sequence[tuple[int, int]] = (), authors: Sequence[str] = (), *, limit: int
    ) -> list[CommitMatch]:
        """Return the commits that best match the terms, optionally limited to time spans and authors."""
        condition, values = _commit_filter(spans, authors)
        wanted = EVERY_ROW
        if condition:
            sql = f"EXISTS (SELECT 1 FROM past_commit WHERE past_commit.id = {{id}} {condition})"
            wanted = RowCondition(sql, values)
        with self._rows.snapshot():
            found = self._commit_words.match(terms, condition=wanted, limit=limit + _EXTRA_MATCHES)
            rows = self._commits("WHERE past_commit.id IN ?", [row_id for row_id, _ in found])
        commits = {row.id: row for row in rows}
        return [CommitMatch(commits[row_id], score) for row_id, score in found if row_id in commits][:limit]

    def commits_with_subject_terms(
        self,
        groups: Sequence[Sequence[str]],
        spans: Sequence[tuple[int, int]] = (),
        authors: Sequence[str] = (),
        *,
        limit: int,
    ) -> list[CommitRow]:
        """Return the newest commits whose subjects contain at least one term of each group.

        `spans` and `authors` limit the commits as in `match_commits`.
        """
        if not all(groups) or not groups:
            return []
        condition, values = _commit_filter(spans, authors)
        with self._rows.snapshot():
            ids = self._commit_words.rows_with_all(groups)
            rest = f"WHERE past_commit.id IN ? {condition} ORDER BY past_commit.id DESC LIMIT ?"
            return self._commits(rest, ids, *values, limit)

    def commit_counts(self, terms: Sequence[str]) -> dict[str, int]:
        """Return the number of commits that contain each term."""
        return dict.fromkeys(terms, 0) | self._commit_words.row_counts(terms)

    def commits_in(
        self, spans: Sequence[tuple[int, int]], authors: Sequence[str] = (), *, limit: int
    ) -> list[CommitRow]:
        """Return the newest commits within the time spans and by the authors."""
        condition, values = _commit_filter(spans, authors)
        return self._commits(f"WHERE TRUE {condition} ORDER BY past_commit.id DESC LIMIT ?", *values, limit)

    def authors(self) -> Collection[str]:
        """Return the distinct names of all commit authors."""
        sql = "SELECT DISTINCT author FROM past_commit"
        return self._rows.cached("history authors", lambda: tuple(row[0] for row in self._query(sql)))

    def commits_by_hash(self, prefix: str, *, limit: int) -> list[CommitRow]:
        """Return the commits whose hash begins with `prefix`."""
        rest = "WHERE hash >= ? AND hash < ? ORDER BY past_commit.id DESC LIMIT ?"
        return self._commits(rest, prefix, f"{prefix}g", limit)

    def commits_of(self, path: str, *, limit: int) -> list[CommitRow]:
        """Return the last commits that changed a file, newest first."""
        rest = """JOIN past_touch ON commit_id = past_commit.id JOIN past_file ON past_file.id = file_id
                  WHERE past_file.path = ? ORDER BY commit_id DESC LIMIT ?"""
        return self._commits(rest, path, limit)

    def paths_of(self, ids: Collection[int], *, limit: int) -> dict[int, list[str]]:
        """Return the existing files that each commit changed, at most `limit` per commit."""
        found: dict[int, list[str]] = {commit_id: [] for commit_id in ids}
        sql = """SELECT commit_id, path FROM past_touch CROSS JOIN past_file ON past_file.id = file_id
                 WHERE commit_id IN ? ORDER BY commit_id, file_id"""
        for commit_id, path in self._query(sql, list(ids)):
            if len(found[commit_id]) < limit:
                found[commit_id].append(path)
        return found

    def renamed_files(self) -> dict[str, str]:
        """Return the current paths of renamed files by former path."""
        return dict(self._query("SELECT before, path FROM past_name"))

    def _commits(self, rest: str, *values: object) -> list[CommitRow]:
        rows = self._query(f"SELECT {_COMMIT_COLUMNS} FROM past_commit {rest}", *values)
        return [CommitRow(*row) for row in rows]

    def _query(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        with self._rows.translating_errors():
            return self._rows.query(sql, *values)


def _commit_filter(spans: Sequence[tuple[int, int]], authors: Sequence[str]) -> tuple[str, tuple[object, ...]]:
    """Return an SQL condition on time and author, to be appended to other conditions, and the bound values."""
    condition, values = "", list[object]()
    if spans:
        inside = " OR ".join(["past_commit.time >= ? AND past_commit.time < ?"] * len(spans))
        condition += f"AND ({inside})"
        values += [edge for span in spans for edge in span]
    if authors:
        condition += " AND past_commit.author IN ?"
        values.append(list(authors))
    return condition, tuple(values)
