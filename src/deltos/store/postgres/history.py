"""Git history in PostgreSQL: tables of commits and touched files, and packed word indexes by commit and by file."""

from __future__ import annotations

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
from deltos.store.postgres.code import next_vector_numbers
from deltos.store.postgres.packed_word_index import PackedWordIndex, WordChanges, WordKind, remove_words
from deltos.store.postgres.partitions import partitioned_table_sql
from deltos.store.postgres.rows import copy_rows, digest_expression, indexed_prefix, is_one_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from contextlib import AbstractContextManager

    from deltos.store.postgres.database import Connection
    from deltos.store.postgres.project_tables import IdAllocator, ProjectTables
    from deltos.store.version import Version

# A higher id means a later commit. The vectors of one write are in one row, because all vectors are always read
# together. Readers ignore vectors of removed commits.
HISTORY_001 = Migration(
    "history-001-commits",
    partitioned_table_sql(
        "past_commit",
        """id bigint NOT NULL,
        hash text COLLATE "C" NOT NULL,
        time bigint NOT NULL,
        author text NOT NULL,
        subject text NOT NULL,
        body text NOT NULL,
        file_count integer NOT NULL,
        is_merge boolean NOT NULL,
        words text NOT NULL,
        PRIMARY KEY (project, id),
        UNIQUE (project, hash)""",
    )
    + "CREATE INDEX past_commit_by_time ON past_commit (project, time);"
    + partitioned_table_sql(
        "past_file",
        """id bigint NOT NULL,
        path text COLLATE "C" NOT NULL,
        changes integer NOT NULL DEFAULT 0,
        last_changed bigint NOT NULL DEFAULT 0,
        words text NOT NULL DEFAULT '',
        is_settled boolean NOT NULL DEFAULT false,
        PRIMARY KEY (project, id)""",
    )
    + f"CREATE INDEX past_file_by_path ON past_file (project, {indexed_prefix('path')});"
    + "CREATE INDEX past_file_unsettled ON past_file (project, id) WHERE NOT is_settled;"
    + partitioned_table_sql(
        "past_touch",
        "file_id bigint NOT NULL, commit_id bigint NOT NULL, PRIMARY KEY (project, file_id, commit_id)",
    )
    + "CREATE INDEX past_touch_by_commit ON past_touch (project, commit_id, file_id);"
    + partitioned_table_sql("past_name", 'before text COLLATE "C" NOT NULL, path text COLLATE "C" NOT NULL')
    + f"CREATE INDEX past_name_by_before ON past_name (project, {indexed_prefix('before')});"
    + partitioned_table_sql(
        "past_vectors",
        """number bigint NOT NULL,
        model text COLLATE "C" NOT NULL,
        ids bytea NOT NULL,
        data bytea NOT NULL,
        PRIMARY KEY (project, model, number)""",
    ),
)
COMMIT_WORDS = WordKind(3, (3.0, 1.0, 0.6))  # weights of subject, body and paths
PAST_FILE_WORDS = WordKind(4, (1.0,))
_COMMIT_COLUMNS = ", ".join(
    f"past_commit.{name}" for name in ("id", "hash", "time", "author", "subject", "body", "file_count", "is_merge")
)
# Start value of commit ids. Older commits receive descending ids below it, and newer commits ascending ids above it.
_FIRST_COMMIT_ID = 1 << 40


class PostgresHistory:
    """Implementation of `store.history.History`."""

    def __init__(self, tables: ProjectTables) -> None:
        self._tables = tables
        self._commit_words = PackedWordIndex(tables, COMMIT_WORDS)
        self._file_words = PackedWordIndex(tables, PAST_FILE_WORDS)

    def _query(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        return self._tables.query(sql, (self._tables.key, *values))

    def snapshot(self) -> AbstractContextManager[object]:
        return self._tables.snapshot()

    def version(self) -> Version:
        return self._tables.version()

    def totals(self) -> HistoryTotals:
        def read(_: object) -> dict[str, HistoryTotals]:
            ((commits, oldest, newest, sweeping),) = self._query(
                f"""SELECT COUNT(*), MIN(time), MAX(time), COUNT(*) FILTER (WHERE file_count > {MAX_RELATED_FILES})
                    FROM past_commit WHERE project = %s"""
            )
            return {"": HistoryTotals(commits, oldest or 0, newest or 0, sweeping)}

        return self._tables.cached_value("history totals", read)

    def file_histories(self, paths: Collection[str]) -> dict[str, FileHistoryRow]:
        def read(missing: list[str]) -> dict[str, FileHistoryRow]:
            named, given = is_one_of("path", missing)
            sql = f"""SELECT path, words, changes, last_changed FROM past_file
                      WHERE project = %s AND {named} AND changes > 0"""
            return {row[0]: FileHistoryRow(*row[1:]) for row in self._query(sql, *given)}

        return self._tables.cached_rows("history of file", paths, read, lambda row: len(row.words))

    def vectors_since(self, model: str, number: int) -> list[CommitVectors]:
        rows = self._query(
            """SELECT number, ids, data FROM past_vectors
               WHERE project = %s AND model = %s AND number > %s ORDER BY number""",
            model,
            number,
        )
        return [CommitVectors(number, tuple(array("q", ids)), data) for number, ids, data in rows]

    def vector_count(self, model: str) -> int:
        sql = "SELECT COUNT(*) FROM past_vectors WHERE project = %s AND model = %s"
        count: int = self._query(sql, model)[0][0]
        return count

    def vector_numbers(self, model: str) -> list[int]:
        sql = "SELECT number FROM past_vectors WHERE project = %s AND model = %s ORDER BY number"
        return [row[0] for row in self._query(sql, model)]

    def commit_words(self, ids: Collection[int]) -> dict[int, str]:
        def read(missing: list[int]) -> dict[int, str]:
            return dict(self._query("SELECT id, words FROM past_commit WHERE project = %s AND id = ANY(%s)", missing))

        return self._tables.cached_rows("commit words", ids, read, len)

    def match_files(self, terms: Sequence[str], *, limit: int) -> list[tuple[str, float]]:
        if not terms:
            return []

        def indexed(ids: list[int]) -> Mapping[int, str]:
            return dict(
                self._query(
                    f"""SELECT past_file.id, past_file.path FROM past_file
                        JOIN file ON file.project = past_file.project
                        AND {digest_expression("file.path")} = {digest_expression("past_file.path")}
                        AND file.path = past_file.path
                        WHERE past_file.project = %s AND past_file.id = ANY(%s)""",
                    ids,
                )
            )

        with self._tables.snapshot():
            found = self._file_words.match(terms).best_with_values(limit, indexed)
        return [(path, score) for _, score, path in found]

    def files_changed_with(self, path: str, *, limit: int) -> list[ChangedTogether]:
        named, given = is_one_of("path", [path])
        key = self._tables.key
        rows = self._query(
            f"""WITH own (file, id) AS (
                    SELECT past_touch.file_id, commit_id FROM past_file
                    JOIN past_touch ON past_touch.project = past_file.project AND past_touch.file_id = past_file.id
                    JOIN past_commit ON past_commit.project = past_file.project AND past_commit.id = commit_id
                    WHERE past_file.project = %s AND {named} AND file_count <= %s ORDER BY commit_id DESC LIMIT %s)
                SELECT MIN(path), COUNT(*) AS together, (SELECT COUNT(*) FROM own)
                FROM own JOIN past_touch ON past_touch.project = %s AND past_touch.commit_id = own.id
                AND past_touch.file_id <> own.file
                JOIN past_file ON past_file.project = past_touch.project AND past_file.id = past_touch.file_id
                GROUP BY past_touch.file_id HAVING COUNT(*) >= %s ORDER BY together DESC, 1 LIMIT %s""",
            *given,
            MAX_RELATED_FILES,
            MAX_COUNTED_COMMITS,
            key,
            MIN_COMMITS_TOGETHER,
            limit,
        )
        return [ChangedTogether(*row) for row in rows]

    def match_commits(
        self, terms: Sequence[str], spans: Sequence[tuple[int, int]] = (), authors: Sequence[str] = (), *, limit: int
    ) -> list[CommitMatch]:
        if not terms:
            return []
        condition, values = _commit_filter(spans, authors)

        def known(ids: list[int]) -> Mapping[int, CommitRow]:
            rows = self._query(
                f"SELECT {_COMMIT_COLUMNS} FROM past_commit WHERE project = %s AND id = ANY(%s) {condition}",
                ids,
                *values,
            )
            return {row[0]: CommitRow(*row) for row in rows}

        with self._tables.snapshot():
            found = self._commit_words.match(terms).best_with_values(limit, known)
        return [CommitMatch(commit, score) for _, score, commit in found]

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
        with self._tables.snapshot():
            ids = self._commit_words.rows_with_all(groups)
            rest = f"AND id = ANY(%s) {condition} ORDER BY past_commit.id DESC LIMIT %s"
            return self._query_commits(rest, ids, *values, limit) if ids else []

    def commit_counts(self, terms: Sequence[str]) -> dict[str, int]:
        counts = self._commit_words.row_counts(terms)
        return {term: counts.get(term, 0) for term in terms}

    def commits_in(
        self, spans: Sequence[tuple[int, int]], authors: Sequence[str] = (), *, limit: int
    ) -> list[CommitRow]:
        condition, values = _commit_filter(spans, authors)
        return self._query_commits(f"{condition} ORDER BY past_commit.id DESC LIMIT %s", *values, limit)

    def authors(self) -> Collection[str]:
        return [row[0] for row in self._query("SELECT DISTINCT author FROM past_commit WHERE project = %s")]

    def commits_by_hash(self, prefix: str, *, limit: int) -> list[CommitRow]:
        rest = "AND hash >= %s AND hash < %s ORDER BY past_commit.id DESC LIMIT %s"
        return self._query_commits(rest, prefix, f"{prefix}g", limit)

    def commits_of(self, path: str, *, limit: int) -> list[CommitRow]:
        named, given = is_one_of("path", [path])
        sql = f"""SELECT {_COMMIT_COLUMNS} FROM past_file
                  JOIN past_touch ON past_touch.project = past_file.project AND past_touch.file_id = past_file.id
                  JOIN past_commit ON past_commit.project = past_file.project AND past_commit.id = commit_id
                  WHERE past_file.project = %s AND {named} ORDER BY commit_id DESC LIMIT %s"""
        return [CommitRow(*row) for row in self._query(sql, *given, limit)]

    def paths_of(self, ids: Collection[int], *, limit: int) -> dict[int, list[str]]:
        def read(missing: list[tuple[int, int]]) -> dict[tuple[int, int], tuple[str, ...]]:
            found: dict[tuple[int, int], list[str]] = {asked: [] for asked in missing}
            rows = self._tables.query(
                """SELECT asked.id, touched.path
                   FROM unnest(%s::bigint[]) AS asked (id) CROSS JOIN LATERAL (
                       SELECT path, past_file.id FROM past_touch
                       JOIN past_file ON past_file.project = past_touch.project AND past_file.id = file_id
                       WHERE past_touch.project = %s AND commit_id = asked.id ORDER BY file_id LIMIT %s) AS touched
                   ORDER BY asked.id, touched.id""",
                ([commit_id for commit_id, _ in missing], self._tables.key, limit),
            )
            for commit_id, path in rows:
                found[commit_id, limit].append(path)
            return {asked: tuple(paths) for asked, paths in found.items()}

        asked = [(commit_id, limit) for commit_id in ids]
        cached_rows = self._tables.cached_rows(
            "paths of commit", asked, read, lambda paths: sum(map(len, paths)) + 60 * len(paths)
        )
        return {commit_id: list(cached_rows[commit_id, limit]) for commit_id in ids}

    def renamed_files(self) -> dict[str, str]:
        return dict(self._query("SELECT before, path FROM past_name WHERE project = %s"))

    def _query_commits(self, rest: str, *values: object) -> list[CommitRow]:
        rows = self._query(f"SELECT {_COMMIT_COLUMNS} FROM past_commit WHERE project = %s {rest}", *values)
        return [CommitRow(*row) for row in rows]


class PostgresHistoryWriter:
    """Implementation of `store.history.HistoryWriter`."""

    def __init__(self, tables: ProjectTables, connection: Connection, ids: IdAllocator) -> None:
        self._tables = tables
        self._key = tables.key
        self._connection = connection
        self._ids = ids
        self._commit_words = WordChanges(COMMIT_WORDS)
        self._file_words = WordChanges(PAST_FILE_WORDS)

    def flush(self) -> None:
        """Write the buffered words."""
        self._commit_words.write(self._connection, self._key)
        self._file_words.write(self._connection, self._key)

    def clear_buffer(self) -> None:
        """Discard the buffered words."""
        self._commit_words.clear()
        self._file_words.clear()

    def clear(self) -> None:
        self.clear_buffer()
        remove_words(self._connection, self._key, (COMMIT_WORDS, PAST_FILE_WORDS))
        for table in ("past_commit", "past_file", "past_touch", "past_name", "past_vectors"):
            self._run(f"DELETE FROM {table} WHERE project = %s")

    def _run(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        cursor = self._connection.execute(sql.encode(), (self._key, *values), binary=True)
        return cursor.fetchall() if cursor.description else []

    def add_newer(self, commits: Sequence[CommitRecord], model: str = "") -> None:
        highest = self._outermost_id("highest")
        self._add_commits(commits, range(highest + len(commits), highest, -1), model)

    def add_older(self, commits: Sequence[CommitRecord], model: str = "") -> None:
        lowest = self._outermost_id("lowest")
        self._add_commits(commits, range(lowest - 1, lowest - 1 - len(commits), -1), model)

    def _outermost_id(self, which: str) -> int:
        """Return the lowest or highest commit id, or the first id if there are no commits."""
        # The ids of removed commits are included, because the words of these commits are still in the index.
        self.flush()
        rows = self._run(f"SELECT {which} FROM word_total WHERE project = %s AND kind = %s", COMMIT_WORDS.number)
        return rows[0][0] if rows else _FIRST_COMMIT_ID

    def _add_commits(self, commits: Sequence[CommitRecord], ids: Sequence[int], model: str) -> None:
        with self._tables.database.errors:
            known = self._known_hashes([commit.hash for commit in commits])
            numbered = reversed([*zip(ids, commits, strict=True)])
            fresh = [(number, commit) for number, commit in numbered if commit.hash not in known]
            copy_rows(
                self._connection,
                "past_commit (project, id, hash, time, author, subject, body, file_count, is_merge, words)",
                ("int8", "int8", "text", "int8", "text", "text", "text", "int4", "bool", "text"),
                ((self._key, n, c.hash, c.time, c.author, c.subject, c.body, *_count_columns(c)) for n, c in fresh),
            )
            for n, c in fresh:
                self._commit_words.added[n] = (c.subject_words, c.body_words, c.path_words)
            self._add_touches([(path, number) for number, commit in fresh for path in dict.fromkeys(commit.paths)])
            self._add_vectors([(number, commit.vector) for number, commit in fresh if _describes_files(commit)], model)

    def _add_vectors(self, vectors: Sequence[tuple[int, bytes]], model: str) -> None:
        if not model or not vectors:
            return
        ids, data = array("q", [number for number, _ in vectors]), b"".join(data for _, data in vectors)
        (number,) = next_vector_numbers(self._connection, 1)
        self._run(
            "INSERT INTO past_vectors (project, number, model, ids, data) VALUES (%s, %s, %s, %b, %b)",
            number,
            model,
            ids.tobytes(),
            data,
        )

    def _known_hashes(self, hashes: Sequence[str]) -> set[str]:
        rows = self._run("SELECT hash FROM past_commit WHERE project = %s AND hash = ANY(%s)", list(hashes))
        return {row[0] for row in rows}

    def _add_touches(self, touches: Sequence[tuple[str, int]]) -> None:
        if not touches:
            return
        paths = list(dict.fromkeys(path for path, _ in touches))
        ids = self._file_ids(paths)
        self._run(
            "UPDATE past_file SET is_settled = false WHERE project = %s AND id = ANY(%s) AND is_settled",
            list(ids.values()),
        )
        fresh = [path for path in paths if path not in ids]
        first = self._ids.allocate("past_file", len(fresh))
        ids |= {path: n for n, path in enumerate(fresh, first)}
        rows = ((self._key, ids[path], path) for path in fresh)
        copy_rows(self._connection, "past_file (project, id, path)", ("int8", "int8", "text"), rows)
        copy_rows(
            self._connection,
            "past_touch (project, file_id, commit_id)",
            ("int8", "int8", "int8"),
            sorted({(self._key, ids[path], commit_id) for path, commit_id in touches}),
        )

    def _file_ids(self, paths: Sequence[str]) -> dict[str, int]:
        named, given = is_one_of("path", paths)
        return dict(self._run(f"SELECT path, id FROM past_file WHERE project = %s AND {named}", *given))

    def remove(self, hashes: Collection[str]) -> None:
        rows = self._run("SELECT id FROM past_commit WHERE project = %s AND hash = ANY(%s)", list(hashes))
        ids = [row[0] for row in rows]
        files = self._run("DELETE FROM past_touch WHERE project = %s AND commit_id = ANY(%s) RETURNING file_id", ids)
        self._mark_files_outdated(row[0] for row in files)
        # The words of removed commits remain in the index. Searches ignore matches without a commit row.
        self._run("DELETE FROM past_commit WHERE project = %s AND id = ANY(%s)", ids)

    def _mark_files_outdated(self, ids: Iterable[int]) -> None:
        """Mark files whose index words and commit counts must be updated by `update_changed_files`."""
        self._run("UPDATE past_file SET is_settled = false WHERE project = %s AND id = ANY(%s)", list(set(ids)))

    def rename(self, before: str, path: str) -> None:
        ids = self._file_ids([before, path])
        old, new = ids.get(before), ids.get(path)
        if old is None:
            return
        if new is None:
            sql = "UPDATE past_file SET path = %s WHERE project = %s AND id = %s"
            self._connection.execute(sql, (path, self._key, old))
            return
        self._connection.execute(
            """INSERT INTO past_touch (project, file_id, commit_id)
               SELECT project, %s, commit_id FROM past_touch WHERE project = %s AND file_id = %s
               ON CONFLICT DO NOTHING""",
            (new, self._key, old),
        )
        self._delete_files([old])
        self._mark_files_outdated([new])

    def add_renames(self, names: dict[str, str]) -> None:
        named, given = is_one_of("before", list(names))
        self._run(f"DELETE FROM past_name WHERE project = %s AND {named}", *given)
        rows = ((self._key, before, path) for before, path in names.items())
        copy_rows(self._connection, "past_name (project, before, path)", ("int8", "text", "text"), rows)

    def keep_files(self, paths: Collection[str]) -> None:
        rows = self._run("SELECT id, path FROM past_file WHERE project = %s")
        self._delete_files([file_id for file_id, path in rows if path not in paths])

    def update_changed_files(self, *, limit: int) -> int:
        with self._tables.database.errors:
            rows = self._run(
                "SELECT id, changes, words FROM past_file WHERE project = %s AND NOT is_settled ORDER BY id LIMIT %s",
                limit,
            )
            if rows:
                self._update_files({row[0]: row[2] if row[1] else None for row in rows})
        return len(rows)

    def _update_files(self, before: Mapping[int, str | None]) -> None:
        """Update the commit counts and index words of files.

        `before` maps each file id to the indexed words of the file, or to None if the file is not indexed.
        """
        found = self._commits_of(list(before))
        self._delete_files([file_id for file_id in before if file_id not in found])
        for file_id, (_, _, words) in found.items():
            known = before[file_id]
            if known is not None:
                self._unindex(file_id, known)
            self._file_words.added[file_id] = (words,)
        self._connection.execute(
            """UPDATE past_file SET changes = given.changes, last_changed = given.last_changed, words = given.words,
               is_settled = true FROM unnest(%s::bigint[], %s::int[], %s::bigint[], %s::text[])
               AS given (id, changes, last_changed, words)
               WHERE past_file.project = %s AND past_file.id = given.id""",
            (list(found), *([row[n] for row in found.values()] for n in range(3)), self._key),
        )

    def _commits_of(self, file_ids: list[int]) -> dict[int, tuple[int, int, str]]:
        """Return the number of commits, last commit time and index words of each file. Omit files without commits."""
        rows = self._run(
            f"""SELECT file_id, COUNT(*), MAX(time), coalesce(string_agg(words, ' ' ORDER BY commit_id DESC)
                FILTER (WHERE words <> '' AND rank <= {MAX_WORD_COMMITS} AND file_count <= {MAX_RELATED_FILES}), '')
                FROM (SELECT file_id, commit_id, time, words, file_count, ROW_NUMBER() OVER
                      (PARTITION BY file_id, file_count <= {MAX_RELATED_FILES} ORDER BY commit_id DESC) AS rank
                      FROM past_touch
                      JOIN past_commit ON past_commit.project = past_touch.project AND past_commit.id = commit_id
                      WHERE past_touch.project = %s AND file_id = ANY(%s)) AS touched
                GROUP BY file_id ORDER BY file_id""",
            file_ids,
        )
        return {row[0]: (row[1], row[2], row[3]) for row in rows}

    def _delete_files(self, ids: Collection[int]) -> None:
        rows = self._run(
            "DELETE FROM past_file WHERE project = %s AND id = ANY(%s) RETURNING id, words, changes", list(ids)
        )
        for file_id, words, changes in rows:
            if changes:
                self._unindex(file_id, words)
        self._run("DELETE FROM past_touch WHERE project = %s AND file_id = ANY(%s)", list(ids))

    def _unindex(self, file_id: int, words: str) -> None:
        """Remove the words of a file from the index of files."""
        if self._file_words.added.pop(file_id, None) is None:
            self._file_words.removed[file_id] = (words,)


def _count_columns(commit: CommitRecord) -> tuple[int, bool, str]:
    return commit.file_count, commit.is_merge, commit.subject_words


def _describes_files(commit: CommitRecord) -> bool:
    """Whether the embedding of the commit's subject describes the changed files, which is not so for large commits."""
    return bool(commit.vector and commit.paths) and commit.file_count <= MAX_RELATED_FILES


def _commit_filter(spans: Sequence[tuple[int, int]], authors: Sequence[str]) -> tuple[str, list[object]]:
    """Return an SQL condition on time and author, to be appended to other conditions, and the bound values."""
    condition, values = "", list[object]()
    if spans:
        inside = " OR ".join(["past_commit.time >= %s AND past_commit.time < %s"] * len(spans))
        condition += f"AND ({inside})"
        values += [edge for span in spans for edge in span]
    if authors:
        condition += " AND past_commit.author = ANY(%s)"
        values.append(list(authors))
    return condition, values
