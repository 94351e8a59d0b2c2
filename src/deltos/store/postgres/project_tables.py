"""Access to the rows of one project in the tables that all projects share. The project's key identifies these rows."""

from __future__ import annotations

import hashlib
import re
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from deltos.errors import StoreError
from deltos.store.migration import Migration
from deltos.store.postgres.row_cache import SHARED_BUDGET, ProjectRowCache
from deltos.store.project import SeenStamp, StoredFile

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from deltos.store.postgres.database import Connection, PostgresDatabase
    from deltos.store.postgres.row_cache import CachedState
    from deltos.store.version import Version

REGISTRY_001 = Migration(
    "registry-001-projects",
    """
    CREATE TABLE project (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        name text COLLATE "C" NOT NULL UNIQUE
    );
    CREATE SEQUENCE vector_number;
    """,
)
PROJECT_VERSION = Migration("replicas-001", "ALTER TABLE project ADD COLUMN version bigint NOT NULL DEFAULT 0;")
_SELECT_PROJECT = "SELECT id, root FROM project WHERE name = %s"
_SELECT_VERSION = "SELECT version FROM project WHERE id = %s"
_SELECT_VERSIONS = "SELECT id, version FROM project"
STORED_FILE = "stored file"  # name under which the row cache stores `StoredFile` rows
_Key = TypeVar("_Key", bound="Hashable")
_Row = TypeVar("_Row")


def project_name(root: Path) -> str:
    """Return a unique project name that contains the name of the folder."""
    digest = hashlib.sha256(str(root).encode("utf-8", "surrogateescape")).hexdigest()[:16]
    name = re.sub(r"[^\w.-]+", "-", root.name)[:40] or "root"
    return f"{name.encode('utf-8', 'replace').decode()}-{digest}"


def stored_file(file_id: int, path: str, digest: bytes, size: int, mtime_ns: int, seen_at_ns: int) -> StoredFile:
    """Create a StoredFile from the columns of a row."""
    return StoredFile(file_id, path, digest, SeenStamp(size, mtime_ns, seen_at_ns))


class ProjectTables:
    """Queries on the rows of one project. A thread sees its own uncommitted writes."""

    def __init__(self, database: PostgresDatabase, name: str, root: str = "") -> None:
        self.database = database
        self.name = name
        self._root = root
        self._local = threading.local()
        self._cache = ProjectRowCache(SHARED_BUDGET)
        self.key = 0
        self.register_if_missing()

    def register_if_missing(self) -> None:
        """Look up the key of the project. Register the project if it is new or was deleted in the meantime."""
        rows = self.database.query(_SELECT_PROJECT, (self.name,))
        if not rows:
            with self.database.write() as connection:
                connection.execute(
                    "INSERT INTO project (name, root) VALUES (%s, %s) ON CONFLICT DO NOTHING", (self.name, self._root)
                )
            rows = self.database.query(_SELECT_PROJECT, (self.name,))
        if not rows:
            raise StoreError(
                f"{self.name} was indexed by an earlier version, which did not record its folder",
                hint="Set DELTOS_DATABASE to the connection string of the table owner and run `deltos index`.",
            )
        self._register(*rows[0])
        self.database.refresh_permissions([self.key])

    def _register(self, key: int, root: str) -> None:
        """Record the key of the project. Store the folder of the project if the database does not contain it."""
        if key != self.key:
            self._cache.forget()
            self.key = key
        if self._root and not root:  # an earlier version of Deltos indexed the project
            with self.database.write() as connection:
                connection.execute("UPDATE project SET root = %s WHERE id = %s", (self._root, self.key))

    def query(self, sql: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of one query."""
        self._flush()
        return self.database.query(sql, values)

    @contextmanager
    def snapshot(self) -> Iterator[Connection]:
        """Run the `with` block in a snapshot, so that all queries see the same state."""
        self._flush()
        with self.database.snapshot() as connection:
            yield connection

    def version(self) -> Version:
        """Return a value that identifies the visible state of the project, or None while this thread is writing."""
        if self._is_writing():
            return None
        version = self._read_version()
        return None if version is None else (self.key, version)

    def cached_state(self) -> CachedState | None:
        """Return the row cache for the state that this thread's snapshot sees, or None outside a snapshot."""
        if self._is_writing() or self.database.snapshot_versions() is None:
            return None
        version = self._read_version()
        return None if version is None else self._cache.state_at(version)

    def cached_rows(
        self,
        kind: str,
        keys: Iterable[_Key],
        read: Callable[[list[_Key]], Mapping[_Key, _Row]],
        text_bytes: Callable[[_Row], int] = lambda _: 0,
    ) -> dict[_Key, _Row]:
        """Return the rows with the given keys from the cache. `read` is called with the keys that are not cached."""
        state = self.cached_state()
        if state is not None:
            return state.rows(kind, keys, read, text_bytes)
        requested_keys = list(keys)
        return dict(read(requested_keys)) if requested_keys else {}

    def cached_value(
        self,
        kind: str,
        read: Callable[[list[str]], Mapping[str, _Row]],
        text_bytes: Callable[[_Row], int] = lambda _: 0,
    ) -> _Row:
        """Return a cached value that exists once per project, as of this thread's snapshot or the newest state."""
        if self._is_writing() or self.database.snapshot_versions() is not None:
            return self.cached_rows(kind, [""], read, text_bytes)[""]
        version = self._read_version()
        state = None if version is None else self._cache.state_at(version)
        if state is not None and (found := state.cached_rows(kind, [""])):
            row: _Row = found[""]
            return row
        with self.snapshot():
            return self.cached_rows(kind, [""], read, text_bytes)[""]

    def clear_cache(self) -> None:
        """Drop all cached rows."""
        self._cache.forget()

    def _read_version(self) -> int | None:
        """Return the visible version of the project, or None if row-level security hides the project or some of its
        rows."""
        # A snapshot reads the versions of all projects at once.
        seen = self.database.snapshot_versions()
        if seen is None:
            rows = self.database.query(_SELECT_VERSION, (self.key,))
            return rows[0][0] if rows else None
        if not seen:
            found = dict(self.database.query(_SELECT_VERSIONS))
            visible = self.database.visible_keys(found)
            seen.update({key: version for key, version in found.items() if key in visible})
        return seen.get(self.key)

    def _is_writing(self) -> bool:
        return getattr(self._local, "flush", None) is not None

    @contextmanager
    def writing(self, flush: Callable[[], None]) -> Iterator[None]:
        """Call `flush` before each read during the `with` block, so that buffered rows are written first."""
        self._local.flush = flush
        try:
            yield
        finally:
            self._local.flush = None

    def _flush(self) -> None:
        flush: Callable[[], None] | None = getattr(self._local, "flush", None)
        if flush is not None:
            flush()


class IdAllocator:
    """In-memory allocator of a project's row ids. Only one process at a time writes to a project."""

    def __init__(self, connection: Connection, key: int) -> None:
        self._connection = connection
        self._key = key
        self._next: dict[str, int] = {}

    def allocate(self, table: str, count: int = 1) -> int:
        """Reserve `count` successive ids of a table, and return the first one."""
        first = self._next.get(table)
        if first is None:
            sql = f"SELECT COALESCE(MAX(id), 0) + 1 FROM {table} WHERE project = %s"
            row = self._connection.execute(sql.encode(), (self._key,)).fetchone()
            first = row[0] if row else 1
        self._next[table] = first + count
        return first

    def forget(self) -> None:
        """Discard the next ids of all tables, because another process may insert rows before the next use."""
        self._next.clear()
