"""One project in PostgreSQL: tables of files, skipped files and facts about the index, and the project store."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeVar

from deltos.errors import StoreError
from deltos.store.migration import Migration
from deltos.store.postgres.blobs import add_blobs, delete_unused_blobs, protect_blobs, read_blobs
from deltos.store.postgres.code import PostgresCode, PostgresCodeWriter
from deltos.store.postgres.database import savepoint
from deltos.store.postgres.graph import GraphChanges, PostgresGraphWriter
from deltos.store.postgres.graph_read import PostgresGraph
from deltos.store.postgres.history import PostgresHistory, PostgresHistoryWriter
from deltos.store.postgres.partitions import partitioned_table_sql
from deltos.store.postgres.project_tables import STORED_FILE, IdAllocator, ProjectTables, stored_file
from deltos.store.postgres.rows import check_text, copy_rows, indexed_prefix, is_one_of
from deltos.store.project import (
    FACT_KEYS,
    FailedFile,
    FileRecord,
    IndexFacts,
    ProjectTotals,
    SeenStamp,
    SkippedFile,
    StoredFile,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from deltos.store.postgres.database import Connection, PostgresDatabase

    Query = Callable[[str, Sequence[object]], list[tuple[Any, ...]]]

_STAMP_COLUMNS = "size bigint NOT NULL, mtime_ns bigint NOT NULL, seen_at_ns bigint NOT NULL"
PROJECT_001 = Migration(
    "project-001-files",
    partitioned_table_sql("meta", 'key text COLLATE "C" NOT NULL, value text NOT NULL, PRIMARY KEY (project, key)')
    + partitioned_table_sql(
        "file",
        f"""id bigint NOT NULL,
        path text COLLATE "C" NOT NULL,
        language text COLLATE "C" NOT NULL,
        lines integer NOT NULL,
        {_STAMP_COLUMNS},
        hash bytea NOT NULL,
        PRIMARY KEY (project, id)""",
    )
    + f"CREATE INDEX file_by_path ON file (project, {indexed_prefix('path')});"
    + partitioned_table_sql(
        "skipped",
        f"""path text COLLATE "C" NOT NULL,
        reason text COLLATE "C" NOT NULL,
        {_STAMP_COLUMNS},
        hash bytea NOT NULL,
        failure text NOT NULL""",
    )
    + f"CREATE INDEX skipped_by_path ON skipped (project, {indexed_prefix('path')});"
    + partitioned_table_sql("folder", 'path text COLLATE "C" NOT NULL, mtime_ns bigint NOT NULL')
    + f"CREATE INDEX folder_by_path ON folder (project, {indexed_prefix('path')});"
    + partitioned_table_sql(
        "failure",
        """file_id bigint NOT NULL,
        indexer text COLLATE "C" NOT NULL,
        reason text NOT NULL,
        PRIMARY KEY (project, file_id, indexer)""",
    ),
)
PROJECT_002 = Migration(
    "project-002-generated", "ALTER TABLE file ADD COLUMN generated boolean NOT NULL DEFAULT false;"
)
_SELECT_FAILURES = """SELECT failure.project, path, indexer, failure.reason FROM failure
               JOIN file ON file.project = failure.project AND file.id = file_id
               WHERE failure.project = ANY(%s) AND file.project = ANY(%s)
               UNION ALL SELECT project, path, '', failure FROM skipped WHERE project = ANY(%s) AND failure <> ''
               UNION ALL SELECT project, 'all files', substr(key, 12), value FROM meta
               WHERE project = ANY(%s) AND key >= 'unfinished/' AND key < 'unfinished0'"""
# Suffix of an indexer's name in records of failures to resolve references.
UNRESOLVED = "/edges"
_SKIPPED_BYTES = 300  # estimated size in bytes of a cached SkippedFile
_T = TypeVar("_T")


class PostgresProject:
    """Implementation of `store.project.ProjectStore`."""

    keeps_contents = True
    damaged_file = ""  # only the administrator repairs a damaged database; it is never replaced

    def __init__(self, database: PostgresDatabase, name: str, root: str = "") -> None:
        self.name = name
        self._database = database
        self.tables = ProjectTables(database, name, root)
        self.code = PostgresCode(self.tables)
        self.graph = PostgresGraph(self.tables)
        self.history = PostgresHistory(self.tables)

    @contextmanager
    def writing(self) -> Iterator[PostgresProjectWriter]:
        with self._database.write() as connection:
            writer = PostgresProjectWriter(self.tables, connection)
            with self.tables.writing(writer.flush):
                yield writer
                writer.flush()
        with suppress(StoreError):  # errors are ignored, because workers delete remaining blobs later
            delete_unused_blobs(self._database, writer.released_digests)

    def run_with_repair(self, work: Callable[[], _T]) -> _T:
        self.tables.register_if_missing()  # `deltos forget-project` may have deleted the project
        return work()

    def try_lock(self, part: str = "") -> AbstractContextManager[bool]:
        return self._database.try_lock(index_lock_key(self.name, part))

    def release(self) -> None:
        """Do nothing, because a thread holds no resources between transactions."""

    def close(self) -> None:
        """Drop cached rows. The connection pool stays open, because all stores of the process share it."""
        self.tables.clear_cache()

    def facts(self) -> IndexFacts:
        def read(_: object) -> dict[str, IndexFacts]:
            sql = "SELECT key, value FROM meta WHERE project = %s AND key = ANY(%s)"
            return {
                "": IndexFacts.from_recorded(
                    dict(self.tables.query(sql, (self.tables.key, list(FACT_KEYS)))), self.failures()
                )
            }

        return self.tables.cached_value("facts", read)

    def meta(self, key: str) -> str:
        def read(_: object) -> dict[str, dict[str, str]]:
            sql = "SELECT key, value FROM meta WHERE project = %s"
            return {"": dict(self.tables.query(sql, (self.tables.key,)))}

        return self.tables.cached_value("meta", read, _text_bytes).get(key, "")

    def files(self) -> dict[str, StoredFile]:
        sql = "SELECT id, path, hash, size, mtime_ns, seen_at_ns FROM file WHERE project = %s ORDER BY id"
        rows = self.tables.query(sql, (self.tables.key,))
        return {row[1]: stored_file(*row) for row in rows}

    def file(self, path: str) -> StoredFile | None:
        def read(missing: list[str]) -> dict[str, StoredFile]:
            named, given = is_one_of("path", missing)
            sql = f"SELECT id, path, hash, size, mtime_ns, seen_at_ns FROM file WHERE project = %s AND {named}"
            rows = self.tables.query(sql, (self.tables.key, *given))
            return dict(
                zip(missing, [stored_file(*row) for row in rows], strict=False)
            )  # `missing` contains only this path

        return self.tables.cached_rows(STORED_FILE, [path], read, lambda file: len(file.path)).get(path)

    def contents(self, paths: Sequence[str]) -> dict[str, bytes]:
        named, given = is_one_of("path", paths)
        sql = f"SELECT path, hash FROM file WHERE project = %s AND {named}"
        digests: dict[str, bytes] = dict(self.tables.query(sql, (self.tables.key, *given)))
        found = read_blobs(self.tables.query, list(digests.values()))
        return {path: found[digest] for path, digest in digests.items() if digest in found}

    def skipped_files(self) -> dict[str, SkippedFile]:
        def read(_: object) -> dict[str, dict[str, SkippedFile]]:
            rows = self.tables.query(
                """SELECT path, reason, hash, failure, size, mtime_ns, seen_at_ns FROM skipped
                   WHERE project = %s ORDER BY path""",
                (self.tables.key,),
            )
            return {"": {row[0]: SkippedFile(row[0], row[1], SeenStamp(*row[4:]), row[2], row[3]) for row in rows}}

        found: dict[str, SkippedFile] = self.tables.cached_value("skipped", read, _skipped_bytes)
        return dict(found)

    def failures(self) -> list[FailedFile]:
        return failures_of(self.tables.query, [self.tables.key])[self.tables.key]

    def stamps(self) -> dict[str, SeenStamp]:
        rows = self.tables.query(
            """SELECT path, size, mtime_ns, seen_at_ns FROM file WHERE project = %s
               UNION ALL SELECT path, size, mtime_ns, seen_at_ns FROM skipped WHERE project = %s""",
            (self.tables.key,) * 2,
        )
        return {row[0]: SeenStamp(*row[1:]) for row in rows}

    def folder_times(self) -> dict[str, int]:
        return dict(self.tables.query("SELECT path, mtime_ns FROM folder WHERE project = %s", (self.tables.key,)))

    def file_count(self) -> int:
        sql = "SELECT COUNT(*) FROM file WHERE project = %s AND NOT generated"
        count: int = self.tables.query(sql, (self.tables.key,))[0][0]
        return count

    def generated_paths(self) -> frozenset[str]:
        rows = self.tables.query("SELECT path FROM file WHERE project = %s AND generated", (self.tables.key,))
        return frozenset(row[0] for row in rows)

    def totals(self) -> ProjectTotals:
        with self.tables.snapshot():
            rows = self.tables.query(
                """SELECT coalesce(nullif(language, ''), 'text'), COUNT(*), SUM(lines)::bigint FROM file
                   WHERE project = %s AND NOT generated GROUP BY 1 ORDER BY 1""",
                (self.tables.key,),
            )
            skipped = self.tables.query(
                """SELECT reason, COUNT(*) FROM (SELECT reason FROM skipped WHERE project = %s
                   UNION ALL SELECT 'generated' FROM file WHERE project = %s AND generated) AS left_out
                   GROUP BY reason""",
                (self.tables.key,) * 2,
            )
        languages = Counter({language: count for language, count, _ in rows})
        return ProjectTotals(
            files=sum(count for _, count, _ in rows),
            lines=sum(lines for _, _, lines in rows),
            languages=dict(languages.most_common()),
            skipped=dict(sorted(skipped)),
        )


class PostgresProjectWriter:
    """Implementation of `store.project.ProjectWriter`. Rows are buffered and written in bulk before each read."""

    def __init__(self, tables: ProjectTables, connection: Connection) -> None:
        self.connection = connection
        self._tables = tables
        self._ids = IdAllocator(connection, tables.key)
        self._files = _FileChanges(tables, connection, self._ids)
        self._graph = GraphChanges(tables, connection, self._ids)
        self.code = PostgresCodeWriter(tables, connection, self._ids)
        self.history = PostgresHistoryWriter(tables, connection, self._ids)
        self._begin_writing()

    def _begin_writing(self) -> None:
        # The update locks the row of the project, so that only one writer runs at a time. StoreBusy is raised after
        # lock_timeout. The version is increased, because readers cache rows by version.
        counted = "UPDATE project SET version = version + 1 WHERE id = %s RETURNING version"
        row = self.connection.execute(counted, (self._tables.key,)).fetchone()
        if row is None:
            raise StoreError(
                f"{self._tables.name} was deleted from the database meanwhile",
                hint="Repeat the call to index the project again.",
            )
        protect_blobs(self._tables.database, self.connection)
        self._ids.forget()

    @property
    def released_digests(self) -> set[bytes]:
        """Content digests of deleted files."""
        return self._files.released_digests

    @property
    def graph(self) -> PostgresGraphWriter:
        return PostgresGraphWriter(self._tables, self.connection, self._graph)

    def flush(self) -> None:
        """Write all buffered rows."""
        with self._tables.database.errors:
            self._files.flush()
            self.code.flush()
            self._graph.flush()
            self.history.flush()

    def commit_step(self) -> None:
        self.flush()
        self._tables.database.commit_step(self.connection)
        self._begin_writing()

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        self.flush()
        with self._tables.database.errors, savepoint(self.connection):
            try:
                yield
                self.flush()
            except BaseException:  # includes KeyboardInterrupt; discard the buffered rows and re-raise
                for changes in (self._files, self.code, self._graph):
                    changes.clear()
                self.history.clear_buffer()
                raise

    def set_metadata(self, values: dict[str, str]) -> None:
        self._files.flush()
        self.connection.execute(
            """INSERT INTO meta (project, key, value) SELECT %s, * FROM unnest(%s::text[], %s::text[])
               ON CONFLICT (project, key) DO UPDATE SET value = excluded.value""",
            (self._tables.key, list(values.keys()), list(values.values())),
        )

    def add_file(self, record: FileRecord) -> int:
        check_text(record.path, record.language)
        return self._files.add(record)

    def remove_file(self, file_id: int) -> None:
        self._files.remove(file_id)

    def touch_file(self, file_id: int, stamp: SeenStamp) -> None:
        self._files.touched[file_id] = stamp

    def set_unfinished(self, indexer: str, reason: str) -> None:
        key = f"unfinished/{indexer}{UNRESOLVED}"
        self.connection.execute("DELETE FROM meta WHERE project = %s AND key = %s", (self._tables.key, key))
        if reason:
            self.set_metadata({key: reason})

    def set_skipped(self, file: SkippedFile) -> None:
        check_text(file.path, file.reason, file.failure)
        self._files.skipped[file.path] = file

    def add_failures(self, file_id: int, reasons: Iterable[tuple[str, str]]) -> None:
        for indexer, reason in reasons:
            check_text(reason)
            self._files.failed[file_id, indexer] = reason

    def forget_skipped(self, paths: Iterable[str]) -> None:
        for path in paths:
            self._files.skipped[path] = None

    def set_folders(self, folders: dict[str, int]) -> None:
        key = self._tables.key
        sql = "SELECT path, mtime_ns FROM folder WHERE project = %s"
        known: dict[str, int] = dict(self.connection.execute(sql, (key,)).fetchall())
        changed = {path: stamp for path, stamp in folders.items() if known.get(path) != stamp}
        gone = [path for path in known if path not in folders]
        named, given = is_one_of("path", [*gone, *changed])
        self.connection.execute(f"DELETE FROM folder WHERE project = %s AND {named}", (key, *given))
        rows = ((key, path, stamp) for path, stamp in changed.items())
        copy_rows(self.connection, "folder (project, path, mtime_ns)", ("int8", "text", "int8"), rows)

    def set_unresolved(self, indexer: str, tried: Iterable[str], unresolved: Iterable[tuple[str, str]]) -> None:
        self.flush()
        key, name, reasons = self._tables.key, indexer + UNRESOLVED, dict(unresolved)
        named, given = is_one_of("path", list(tried))
        self.connection.execute(
            f"""DELETE FROM failure USING file WHERE failure.project = %s AND file.project = failure.project
                AND file.id = failure.file_id AND indexer = %s AND {named}""",
            (key, name, *given),
        )
        named, given = is_one_of("path", list(reasons))
        sql = f"SELECT id, path FROM file WHERE project = %s AND {named}"
        for file_id, path in self.connection.execute(sql, (key, *given)).fetchall():
            self._files.failed[file_id, name] = reasons[path]


class _FileChanges:
    """Buffered changes to files, skipped files and failures."""

    def __init__(self, tables: ProjectTables, connection: Connection, ids: IdAllocator) -> None:
        self._tables = tables
        self._connection = connection
        self._ids = ids
        self.added: dict[int, FileRecord] = {}
        self.removed: list[int] = []
        self.touched: dict[int, SeenStamp] = {}
        self.skipped: dict[str, SkippedFile | None] = {}
        self.failed: dict[tuple[int, str], str] = {}
        self.released_digests: set[bytes] = set()

    def add(self, record: FileRecord) -> int:
        file_id = self._ids.allocate("file")
        self.added[file_id] = record
        return file_id

    def remove(self, file_id: int) -> None:
        if self.added.pop(file_id, None) is None:
            self.removed.append(file_id)
        self.touched.pop(file_id, None)
        self.failed = {place: reason for place, reason in self.failed.items() if place[0] != file_id}

    def clear(self) -> None:
        for changes in (self.added, self.removed, self.touched, self.skipped, self.failed):
            changes.clear()

    def flush(self) -> None:
        if self.removed:
            key = self._tables.key
            self._connection.execute(
                "DELETE FROM failure WHERE project = %s AND file_id = ANY(%s)", (key, self.removed)
            )
            sql = "DELETE FROM file WHERE project = %s AND id = ANY(%s) RETURNING hash"
            self.released_digests.update(row[0] for row in self._connection.execute(sql, (key, self.removed)))
        if self.added:
            contents = {record.hash: record.content for record in self.added.values() if record.content}
            if contents:
                add_blobs(self._tables.database, contents)
            self._copy_files()
        if self.touched:
            self._write_stamps()
        if self.skipped:
            self._write_skipped()
        if self.failed:
            self._write_failures()
        self.clear()

    def _copy_files(self) -> None:
        columns = "project, id, path, language, lines, size, mtime_ns, seen_at_ns, hash, generated"
        types = ("int8", "int8", "text", "text", "int4", "int8", "int8", "int8", "bytea", "bool")
        rows = (
            (self._tables.key, file_id, r.path, r.language, r.lines, *_stamp_values(r.stamp), r.hash, r.is_generated)
            for file_id, r in self.added.items()
        )
        copy_rows(self._connection, f"file ({columns})", types, rows)

    def _write_stamps(self) -> None:
        stamps = list(self.touched.values())
        self._connection.execute(
            """UPDATE file SET size = seen.size, mtime_ns = seen.mtime_ns, seen_at_ns = seen.seen_at_ns
               FROM unnest(%s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[])
               AS seen (id, size, mtime_ns, seen_at_ns) WHERE file.project = %s AND file.id = seen.id""",
            (list(self.touched.keys()), *_stamp_columns(stamps), self._tables.key),
        )

    def _write_skipped(self) -> None:
        key, files = self._tables.key, [file for file in self.skipped.values() if file is not None]
        named, given = is_one_of("path", list(self.skipped))
        self._connection.execute(f"DELETE FROM skipped WHERE project = %s AND {named}", (key, *given))
        types = ("int8", "text", "text", "int8", "int8", "int8", "bytea", "text")
        rows = ((key, f.path, f.reason, *_stamp_values(f.stamp), f.hash, f.failure) for f in files)
        columns = "project, path, reason, size, mtime_ns, seen_at_ns, hash, failure"
        copy_rows(self._connection, f"skipped ({columns})", types, rows)

    def _write_failures(self) -> None:
        self._connection.execute(
            """INSERT INTO failure (project, file_id, indexer, reason)
               SELECT %s, * FROM unnest(%s::bigint[], %s::text[], %s::text[])
               ON CONFLICT (project, file_id, indexer) DO UPDATE SET reason = excluded.reason""",
            (
                self._tables.key,
                [file_id for file_id, _ in self.failed],
                [indexer for _, indexer in self.failed],
                list(self.failed.values()),
            ),
        )


def index_lock_key(name: str, part: str = "") -> str:
    """Return the name of the lock for indexing a project. `part` names data that is indexed separately."""
    return f"index/{name}/{part}"


def failures_of(query: Query, keys: list[int]) -> dict[int, list[FailedFile]]:
    """Return the unreadable files of projects by project key, ordered by path and indexer."""
    found: dict[int, list[FailedFile]] = {key: [] for key in keys}
    for key, *failure in query(_SELECT_FAILURES, (keys,) * 4):
        found[key].append(FailedFile(*failure))
    for failures in found.values():
        failures.sort(key=lambda failed: (failed.path.encode(), failed.indexer))
    return found


def _skipped_bytes(files: Mapping[str, SkippedFile]) -> int:
    return _SKIPPED_BYTES * len(files)


def _text_bytes(texts: Mapping[str, str]) -> int:
    return sum(len(key) + len(value) for key, value in texts.items())


def _stamp_values(stamp: SeenStamp) -> tuple[int, int, int]:
    return stamp.size, stamp.mtime_ns, stamp.seen_at_ns


def _stamp_columns(stamps: list[SeenStamp]) -> tuple[list[int], list[int], list[int]]:
    return [s.size for s in stamps], [s.mtime_ns for s in stamps], [s.seen_at_ns for s in stamps]
