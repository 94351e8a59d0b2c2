"""One project in PostgreSQL: tables of files, skipped files and facts about the index, and the project store."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, TypeVar

from deltos.errors import StoreError
from deltos.store.migration import Migration
from deltos.store.postgres.blobs import add_blobs, delete_unused_blobs, protect_blobs, read_blobs
from deltos.store.postgres.database import savepoint
from deltos.store.postgres.partitions import partitioned_table_sql
from deltos.store.postgres.project_tables import ProjectTables
from deltos.store.postgres.rows import indexed_prefix
from deltos.store.project import ProjectStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from deltos.store.postgres.database import Connection, PostgresDatabase

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
_T = TypeVar("_T")


class PostgresProject(ProjectStore):
    """Store of one project in the tables that all projects share. A damaged database is never replaced."""

    keeps_contents = True

    def __init__(self, database: PostgresDatabase, name: str, root: str = "") -> None:
        self._database = database
        self.tables = ProjectTables(database, name, root)
        super().__init__(self.tables, name)

    @contextmanager
    def _transaction(self) -> Iterator[PostgresTransaction]:
        with self._database.write() as connection:
            transaction = PostgresTransaction(self.tables, connection)
            yield transaction
        with suppress(StoreError):  # errors are ignored, because workers delete remaining blobs later
            delete_unused_blobs(self._database, transaction.released_digests)

    def run_with_repair(self, work: Callable[[], _T]) -> _T:
        self.tables.register_if_missing()  # `deltos forget-project` may have deleted the project
        return work()

    def try_lock(self, part: str = "") -> AbstractContextManager[bool]:
        return self._database.try_lock(index_lock_key(self.name, part))

    def contents(self, paths: Sequence[str]) -> dict[str, bytes]:
        digests: dict[str, bytes] = dict(self._query("SELECT path, hash FROM file WHERE file.path IN ?", list(paths)))
        found = read_blobs(self._database.query, list(digests.values()))
        return {path: found[digest] for path, digest in digests.items() if digest in found}

    def release(self) -> None:
        """Do nothing, because a thread holds no resources between transactions."""

    def close(self) -> None:
        """Do nothing, because all stores of the process share the connection pool."""


class PostgresTransaction:
    """Implementation of `store.project_writer.Transaction`."""

    def __init__(self, tables: ProjectTables, connection: Connection) -> None:
        self._tables = tables
        self._connection = connection
        self.released_digests: set[bytes] = set()
        self._begin()

    def _begin(self) -> None:
        # The update locks the row of the project, so that only one writer runs at a time. StoreBusy is raised after
        # lock_timeout. The version is increased, because readers cache rows by version.
        counted = "UPDATE project SET version = version + 1 WHERE id = %s RETURNING version"
        if self._connection.execute(counted, (self._tables.key,)).fetchone() is None:
            raise StoreError(
                f"{self._tables.name} was deleted from the database meanwhile",
                hint="Repeat the call to index the project again.",
            )
        protect_blobs(self._tables.database, self._connection)

    def commit_step(self) -> None:
        self._tables.database.commit_step(self._connection)
        self._begin()

    def savepoint(self) -> AbstractContextManager[None]:
        return savepoint(self._connection)

    def add_contents(self, contents: Mapping[bytes, bytes]) -> None:
        if contents:
            add_blobs(self._tables.database, contents)

    def release_contents(self, digests: Iterable[bytes]) -> None:
        self.released_digests.update(digests)


def index_lock_key(name: str, part: str = "") -> str:
    """Return the name of the lock for indexing a project. `part` names data that is indexed separately."""
    return f"index/{name}/{part}"
