"""Git history in SQLite: tables of commits and touched files, and word indexes by commit and by file."""

from __future__ import annotations

import json
from array import array
from typing import TYPE_CHECKING, Any

from deltos.store.history import (
    MAX_COUNTED_COMMITS,
    MAX_RELATED_FILES,
    MAX_WORD_COMMITS,
    MIN_COMMITS_TOGETHER,
    ChangedTogether,
    CommitMatch,
    CommitRecord,
    CommitRow,
    CommitVectors,
    FileHistoryRow,
    HistoryTotals,
)
from deltos.store.migration import Migration
from deltos.store.sqlite.fts_query import any_of

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection, Iterable, Sequence
    from contextlib import AbstractContextManager

    from deltos.store.sqlite.database import SqliteDatabase, SqliteErrorTranslator
    from deltos.store.version import Version

# A higher id means a later commit. The words of commits are stored only in the word index. The words of files are also
# stored in `past_file`.
HISTORY_001 = Migration(
    "history-001-commits",
    """
    CREATE TABLE past_commit (
        id INTEGER PRIMARY KEY,
        hash TEXT NOT NULL UNIQUE,
        time INTEGER NOT NULL,
        author TEXT NOT NULL,
        subject TEXT NOT NULL,
        body TEXT NOT NULL,
        file_count INTEGER NOT NULL,
        is_merge INTEGER NOT NULL,
        words TEXT NOT NULL
    );
    CREATE INDEX past_commit_by_time ON past_commit (time);
    CREATE INDEX past_commit_sweeping ON past_commit (id) WHERE file_count > 30;
    CREATE TABLE past_file (
        id INTEGER PRIMARY KEY,
        path TEXT NOT NULL UNIQUE,
        changes INTEGER NOT NULL DEFAULT 0,
        last_changed INTEGER NOT NULL DEFAULT 0,
        words TEXT NOT NULL DEFAULT '',
        is_settled INTEGER NOT NULL DEFAULT 0
    );
    CREATE INDEX past_file_unsettled ON past_file (id) WHERE NOT is_settled;
    CREATE TABLE past_touch (
        file_id INTEGER NOT NULL,
        commit_id INTEGER NOT NULL,
        PRIMARY KEY (file_id, commit_id)
    ) WITHOUT ROWID;
    CREATE INDEX past_touch_by_commit ON past_touch (commit_id);
    CREATE TABLE past_name (before TEXT PRIMARY KEY, path TEXT NOT NULL) WITHOUT ROWID;
    CREATE VIRTUAL TABLE past_commit_words USING fts5 (subject, body, paths, content = '', tokenize = 'ascii');
    CREATE VIRTUAL TABLE past_file_words
        USING fts5 (words, content = 'past_file', content_rowid = 'id', tokenize = 'ascii');
    """,
)
# The vectors of one write are in one row, because all vectors are always read together. Readers ignore vectors of
# removed commits.
HISTORY_002 = Migration(
    "history-002-vectors",
    """
    CREATE TABLE past_vectors (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        model TEXT NOT NULL,
        ids BLOB NOT NULL,
        data BLOB NOT NULL
    );
    """,
)
_COMMIT_COLUMNS = ", ".join(
    f"past_commit.{name}" for name in ("id", "hash", "time", "author", "subject", "body", "file_count", "is_merge")
)
# Start value of commit ids. Older commits receive descending ids below it, and newer commits ascending ids above it.
_FIRST_COMMIT_ID = 1 << 40
_MAX_COUNTS_PER_STATEMENT = 500
_EXTRA_MATCHES = 50  # additional matches, because removed commits remain in the index
_SUBJECT, _BODY, _PATHS = 3.0, 1.0, 0.6  # bm25 weights of the columns


class SqliteHistory:
    """Implementation of `store.history.History` in a project file."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    def snapshot(self) -> AbstractContextManager[object]:
        return self._database.snapshot()

    def version(self) -> Version:
        return self._database.version()

    def totals(self) -> HistoryTotals:
        return self._database.cached("history totals", _read_totals)

    def file_histories(self, paths: Collection[str]) -> dict[str, FileHistoryRow]:
        with self._database.snapshot() as connection:
            rows = connection.execute(
                """SELECT past_file.path, words, changes, last_changed
                   FROM json_each(?) AS asked CROSS JOIN past_file ON past_file.path = asked.value WHERE changes""",
                (json.dumps(list(paths)),),
            ).fetchall()
        return {row[0]: FileHistoryRow(*row[1:]) for row in rows}

    def vectors_since(self, model: str, number: int) -> list[CommitVectors]:
        with self._database.snapshot() as connection:
            rows = connection.execute(
                "SELECT number, ids, data FROM past_vectors WHERE number > ? AND model = ? ORDER BY number",
                (number, model),
            ).fetchall()
        return [CommitVectors(number, tuple(array("q", ids)), data) for number, ids, data in rows]

    def vector_count(self, model: str) -> int:
        with self._database.snapshot() as connection:
            count: int = connection.execute("SELECT COUNT(*) FROM past_vectors WHERE model = ?", (model,)).fetchone()[0]
        return count

    def vector_numbers(self, model: str) -> list[int]:
        with self._database.snapshot() as connection:
            rows = connection.execute("SELECT number FROM past_vectors WHERE model = ?", (model,)).fetchall()
        return [row[0] for row in rows]

    def commit_words(self, ids: Collection[int]) -> dict[int, str]:
        with self._database.snapshot() as connection:
            return dict(
                connection.execute(
                    """SELECT past_commit.id, words
                       FROM json_each(?) AS asked CROSS JOIN past_commit ON past_commit.id = asked.value""",
                    (json.dumps(list(ids)),),
                ).fetchall()
            )

    def match_files(self, terms: Sequence[str], *, limit: int) -> list[tuple[str, float]]:
        if not terms:
            return []
        with self._database.snapshot() as connection:
            return connection.execute(
                """SELECT past_file.path, -bm25(past_file_words) AS score FROM past_file_words
                   JOIN past_file ON past_file.id = past_file_words.rowid
                   JOIN file ON file.path = past_file.path
                   WHERE past_file_words MATCH ? ORDER BY score DESC LIMIT ?""",
                (any_of(terms), limit),
            ).fetchall()

    def files_changed_with(self, path: str, *, limit: int) -> list[ChangedTogether]:
        with self._database.snapshot() as connection:
            rows = connection.execute(
                """WITH own (file, id) AS (
                       SELECT past_touch.file_id, commit_id FROM past_file
                       JOIN past_touch ON past_touch.file_id = past_file.id
                       JOIN past_commit ON past_commit.id = commit_id
                       WHERE path = ? AND file_count <= ? ORDER BY commit_id DESC LIMIT ?)
                   SELECT path, COUNT(*) AS together, (SELECT COUNT(*) FROM own)
                   FROM own JOIN past_touch ON past_touch.commit_id = own.id AND past_touch.file_id <> own.file
                   JOIN past_file ON past_file.id = past_touch.file_id
                   GROUP BY past_touch.file_id HAVING together >= ? ORDER BY together DESC, path LIMIT ?""",
                (path, MAX_RELATED_FILES, MAX_COUNTED_COMMITS, MIN_COMMITS_TOGETHER, limit),
            ).fetchall()
        return [ChangedTogether(*row) for row in rows]

    def match_commits(
        self, terms: Sequence[str], spans: Sequence[tuple[int, int]] = (), authors: Sequence[str] = (), *, limit: int
    ) -> list[CommitMatch]:
        if not terms:
            return []
        condition, values = _commit_filter(spans, authors)
        # Commit rows are read only for the best matches, because commit messages are long.
        id_filter = f"AND +rowid IN (SELECT id FROM past_commit WHERE TRUE {condition})" if condition else ""
        with self._database.snapshot() as connection:
            rows = connection.execute(
                f"""SELECT {_COMMIT_COLUMNS}, -match.score FROM
                    (SELECT rowid, bm25(past_commit_words, {_SUBJECT}, {_BODY}, {_PATHS}) AS score
                     FROM past_commit_words WHERE past_commit_words MATCH ? {id_filter} ORDER BY score LIMIT ?) AS match
                    JOIN past_commit ON past_commit.id = match.rowid ORDER BY match.score LIMIT ?""",
                (any_of(terms), *values, limit + _EXTRA_MATCHES, limit),
            ).fetchall()
        return [CommitMatch(_commit_from_row(row), row[-1]) for row in rows]

    def commits_with_subject_terms(
        self,
        groups: Sequence[Sequence[str]],
        spans: Sequence[tuple[int, int]] = (),
        authors: Sequence[str] = (),
        *,
        limit: int,
    ) -> list[CommitRow]:
        if not all(groups) or not groups:
            return []
        condition, values = _commit_filter(spans, authors)
        subject_match = " AND ".join(f"subject : ({any_of(group)})" for group in groups)
        rest = f"""JOIN past_commit_words ON past_commit_words.rowid = past_commit.id
                   WHERE past_commit_words MATCH ? {condition} ORDER BY past_commit_words.rowid DESC LIMIT ?"""
        return self._query_commits(rest, (subject_match, *values, limit))

    def commit_counts(self, terms: Sequence[str]) -> dict[str, int]:
        unique_terms = list(dict.fromkeys(terms))
        if not unique_terms:
            return {}
        count = "(SELECT COUNT(*) FROM past_commit_words WHERE past_commit_words MATCH ?)"
        with self._database.snapshot() as connection:
            # SQLite limits the number of columns of a statement. One statement is enough for most queries.
            parts = [
                unique_terms[start : start + _MAX_COUNTS_PER_STATEMENT]
                for start in range(0, len(unique_terms), _MAX_COUNTS_PER_STATEMENT)
            ]
            rows = [
                connection.execute(f"SELECT {', '.join([count] * len(part))}", [any_of([term]) for term in part])
                for part in parts
            ]
            return dict(zip(unique_terms, (found for row in rows for found in row.fetchone()), strict=True))

    def commits_in(
        self, spans: Sequence[tuple[int, int]], authors: Sequence[str] = (), *, limit: int
    ) -> list[CommitRow]:
        condition, values = _commit_filter(spans, authors)
        return self._query_commits(f"WHERE TRUE {condition} ORDER BY past_commit.id DESC LIMIT ?", (*values, limit))

    def authors(self) -> Collection[str]:
        return self._database.cached("history authors", _read_authors)

    def commits_by_hash(self, prefix: str, *, limit: int) -> list[CommitRow]:
        return self._query_commits(
            "WHERE hash >= ? AND hash < ? ORDER BY past_commit.id DESC LIMIT ?", (prefix, f"{prefix}g", limit)
        )

    def commits_of(self, path: str, *, limit: int) -> list[CommitRow]:
        return self._query_commits(
            """JOIN past_touch ON commit_id = past_commit.id JOIN past_file ON past_file.id = file_id
               WHERE path = ? ORDER BY commit_id DESC LIMIT ?""",
            (path, limit),
        )

    def paths_of(self, ids: Collection[int], *, limit: int) -> dict[int, list[str]]:
        sql = "SELECT path FROM past_touch JOIN past_file ON past_file.id = file_id WHERE commit_id = ? LIMIT ?"
        with self._database.snapshot() as connection:
            return {commit_id: [row[0] for row in connection.execute(sql, (commit_id, limit))] for commit_id in ids}

    def renamed_files(self) -> dict[str, str]:
        with self._database.snapshot() as connection:
            return dict(connection.execute("SELECT before, path FROM past_name").fetchall())

    def _query_commits(self, rest: str, values: Sequence[object]) -> list[CommitRow]:
        with self._database.snapshot() as connection:
            rows = connection.execute(f"SELECT {_COMMIT_COLUMNS} FROM past_commit {rest}", tuple(values)).fetchall()
        return [_commit_from_row(row) for row in rows]


class SqliteHistoryWriter:
    """Implementation of `store.history.HistoryWriter` in a transaction of a project file."""

    def __init__(self, connection: sqlite3.Connection, errors: SqliteErrorTranslator) -> None:
        self._connection = connection
        self._errors = errors

    def clear(self) -> None:
        for table in ("past_commit_words", "past_file_words"):
            self._connection.execute(f"INSERT INTO {table} ({table}) VALUES ('delete-all')")
        for table in ("past_commit", "past_file", "past_touch", "past_name", "past_vectors"):
            self._connection.execute(f"DELETE FROM {table}")

    def add_newer(self, commits: Sequence[CommitRecord], model: str = "") -> None:
        highest = self._outermost_id("MAX")
        self._add_commits(commits, range(highest + len(commits), highest, -1), model)

    def add_older(self, commits: Sequence[CommitRecord], model: str = "") -> None:
        lowest = self._outermost_id("MIN")
        self._add_commits(commits, range(lowest - 1, lowest - 1 - len(commits), -1), model)

    def _outermost_id(self, which: str) -> int:
        """Return the lowest (MIN) or highest (MAX) commit id, or the first id if there are no commits."""
        # The ids of removed commits are included, because the words of these commits are still in the index.
        found: int | None = self._connection.execute(f"SELECT {which}(id) FROM past_commit_words_docsize").fetchone()[0]
        return found or _FIRST_COMMIT_ID

    def _add_commits(self, commits: Sequence[CommitRecord], ids: Sequence[int], model: str) -> None:
        with self._errors:
            known = self._known_hashes([commit.hash for commit in commits])
            # Rows are inserted in ascending order, because FTS5 flushes the write buffer when a rowid decreases.
            numbered = reversed([*zip(ids, commits, strict=True)])
            fresh = [(number, commit) for number, commit in numbered if commit.hash not in known]
            self._connection.executemany(
                "INSERT INTO past_commit VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [
                    (n, c.hash, c.time, c.author, c.subject, c.body, c.file_count, c.is_merge, c.subject_words)
                    for n, c in fresh
                ],
            )
            self._connection.executemany(
                "INSERT INTO past_commit_words (rowid, subject, body, paths) VALUES (?, ?, ?, ?)",
                [(n, c.subject_words, c.body_words, c.path_words) for n, c in fresh],
            )
            self._add_touches([(path, number) for number, commit in fresh for path in dict.fromkeys(commit.paths)])
            self._add_vectors([(number, commit.vector) for number, commit in fresh if _describes_files(commit)], model)

    def _add_vectors(self, vectors: Sequence[tuple[int, bytes]], model: str) -> None:
        if not model or not vectors:
            return
        ids, data = array("q", [number for number, _ in vectors]), b"".join(data for _, data in vectors)
        self._connection.execute(
            "INSERT INTO past_vectors (model, ids, data) VALUES (?, ?, ?)", (model, ids.tobytes(), data)
        )

    def _known_hashes(self, hashes: Sequence[str]) -> set[str]:
        rows = self._connection.execute(
            "SELECT hash FROM json_each(?) AS asked CROSS JOIN past_commit ON hash = asked.value", (json.dumps(hashes),)
        )
        return {row[0] for row in rows}

    def _add_touches(self, touches: Sequence[tuple[str, int]]) -> None:
        paths = list(dict.fromkeys(path for path, _ in touches))
        self._connection.executemany(
            "INSERT INTO past_file (path) VALUES (?) ON CONFLICT (path) DO UPDATE SET is_settled = 0",
            [(path,) for path in paths],
        )
        ids = dict(
            self._connection.execute(
                """SELECT past_file.path, past_file.id
                   FROM json_each(?) AS asked CROSS JOIN past_file ON past_file.path = asked.value""",
                (json.dumps(paths),),
            )
        )
        rows = sorted((ids[path], commit_id) for path, commit_id in touches)
        self._connection.executemany("INSERT OR IGNORE INTO past_touch VALUES (?, ?)", rows)

    def remove(self, hashes: Collection[str]) -> None:
        ids = "SELECT past_commit.id FROM json_each(?) AS gone CROSS JOIN past_commit ON hash = gone.value"
        given = (json.dumps(list(hashes)),)
        self._connection.execute(
            f"""UPDATE past_file SET is_settled = 0
                WHERE id IN (SELECT file_id FROM past_touch WHERE commit_id IN ({ids}))""",
            given,
        )
        self._connection.execute(f"DELETE FROM past_touch WHERE commit_id IN ({ids})", given)
        # The words of removed commits remain in the index. Searches ignore matches without a commit row.
        self._connection.execute(f"DELETE FROM past_commit WHERE id IN ({ids})", given)

    def rename(self, before: str, path: str) -> None:
        old, new = self._file_id(before), self._file_id(path)
        if old is None:
            return
        if new is not None:
            self._connection.execute("UPDATE OR IGNORE past_touch SET file_id = ? WHERE file_id = ?", (new, old))
            self._delete_files([old])
            self._connection.execute("UPDATE past_file SET is_settled = 0 WHERE id = ?", (new,))
        else:
            self._connection.execute("UPDATE past_file SET path = ? WHERE id = ?", (path, old))

    def add_renames(self, names: dict[str, str]) -> None:
        self._connection.executemany("INSERT OR REPLACE INTO past_name VALUES (?, ?)", names.items())

    def keep_files(self, paths: Collection[str]) -> None:
        rows = self._connection.execute("SELECT id, path FROM past_file").fetchall()
        self._delete_files([file_id for file_id, path in rows if path not in paths])

    def update_changed_files(self, *, limit: int) -> int:
        with self._errors:
            rows = self._connection.execute(
                "SELECT id, changes FROM past_file WHERE NOT is_settled LIMIT ?", (limit,)
            ).fetchall()
            for file_id, known_changes in rows:
                self._update_file(file_id, is_indexed=bool(known_changes))
        return len(rows)

    def _update_file(self, file_id: int, *, is_indexed: bool) -> None:
        changes, last_changed = self._connection.execute(
            """SELECT COUNT(*), MAX(time) FROM past_touch JOIN past_commit ON past_commit.id = commit_id
               WHERE file_id = ?""",
            (file_id,),
        ).fetchone()
        subjects = self._connection.execute(
            """SELECT words FROM past_touch JOIN past_commit ON past_commit.id = commit_id
               WHERE file_id = ? AND file_count <= ? ORDER BY commit_id DESC LIMIT ?""",
            (file_id, MAX_RELATED_FILES, MAX_WORD_COMMITS),
        ).fetchall()
        if not changes:
            self._delete_files([file_id])
            return
        if is_indexed:
            self._unindex_files([file_id])
        words = " ".join(words for (words,) in subjects if words)
        self._connection.execute(
            "UPDATE past_file SET changes = ?, last_changed = ?, words = ?, is_settled = 1 WHERE id = ?",
            (changes, last_changed, words, file_id),
        )
        self._connection.execute("INSERT INTO past_file_words (rowid, words) VALUES (?, ?)", (file_id, words))

    def _delete_files(self, ids: Iterable[int]) -> None:
        ids = list(ids)
        self._unindex_files(ids)
        rows = [(file_id,) for file_id in ids]
        self._connection.executemany("DELETE FROM past_touch WHERE file_id = ?", rows)
        self._connection.executemany("DELETE FROM past_file WHERE id = ?", rows)

    def _unindex_files(self, ids: Iterable[int]) -> None:
        """Remove files from the word index. FTS5 requires the indexed words for a removal."""
        self._connection.executemany(
            """INSERT INTO past_file_words (past_file_words, rowid, words)
               SELECT 'delete', id, words FROM past_file WHERE id = ? AND changes""",
            [(file_id,) for file_id in ids],
        )

    def _file_id(self, path: str) -> int | None:
        row = self._connection.execute("SELECT id FROM past_file WHERE path = ?", (path,)).fetchone()
        return row[0] if row else None


def _read_totals(connection: sqlite3.Connection) -> HistoryTotals:
    commits, oldest, newest = connection.execute("SELECT COUNT(*), MIN(time), MAX(time) FROM past_commit").fetchone()
    sweeping = connection.execute(
        f"SELECT COUNT(*) FROM past_commit WHERE file_count > {MAX_RELATED_FILES}"
    ).fetchone()[0]
    return HistoryTotals(commits, oldest or 0, newest or 0, sweeping)


def _describes_files(commit: CommitRecord) -> bool:
    """Whether the embedding of the commit's subject describes the changed files, which is not so for large commits."""
    return bool(commit.vector and commit.paths) and commit.file_count <= MAX_RELATED_FILES


def _commit_from_row(row: Sequence[Any]) -> CommitRow:
    return CommitRow(*row[:8])


def _read_authors(connection: sqlite3.Connection) -> tuple[str, ...]:
    return tuple(row[0] for row in connection.execute("SELECT DISTINCT author FROM past_commit"))


def _commit_filter(spans: Sequence[tuple[int, int]], authors: Sequence[str]) -> tuple[str, list[object]]:
    """Return an SQL condition on time and author, to be appended to other conditions, and the bound values."""
    condition, values = "", list[object]()
    if spans:
        inside = " OR ".join(["past_commit.time >= ? AND past_commit.time < ?"] * len(spans))
        condition += f"AND ({inside})"
        values += [edge for span in spans for edge in span]
    if authors:
        condition += " AND past_commit.author IN (SELECT value FROM json_each(?))"
        values.append(json.dumps(list(authors)))
    return condition, values
