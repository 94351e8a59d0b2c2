"""One project in the tables that all projects share: its key, which every statement names."""

from __future__ import annotations

import hashlib
import re
import threading
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from deltos.errors import StoreError
from deltos.store.postgres.database import Migration
from deltos.store.postgres.replicas import VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from deltos.store.postgres.database import Connection, Database
    from deltos.store.postgres.replicas import Replicas
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


def project_name(root: Path) -> str:
    """What the project at a folder is called, so that a person recognises it."""
    digest = hashlib.sha256(str(root).encode("utf-8", "surrogateescape")).hexdigest()[:16]
    name = re.sub(r"[^\w.-]+", "-", root.name)[:40] or "root"
    return f"{name.encode('utf-8', 'replace').decode()}-{digest}"


class ProjectTables:
    """The rows of one project. Reads see what this thread has written and not kept yet."""

    def __init__(self, database: Database, name: str, root: str = "", replicas: Replicas | None = None) -> None:
        self.database = database
        self.replicas = replicas
        self.name = name
        self._root = root
        self._local = threading.local()
        self.key = 0
        self.register_if_gone()

    def register_if_gone(self) -> None:
        """Begin anew where the project was never kept, or was forgotten meanwhile."""
        find = "SELECT id, root FROM project WHERE name = %s"
        rows = self.database.query(find, (self.name,))
        if not rows:
            with self.database.write() as connection:
                connection.execute(
                    "INSERT INTO project (name, root) VALUES (%s, %s) ON CONFLICT DO NOTHING", (self.name, self._root)
                )
            rows = self.database.query(find, (self.name,))
        if not rows:
            raise StoreError(
                f"{self.name} was kept by an earlier version, which did not note its folder",
                hint="Run `deltos index` for it with the owner's address in DELTOS_DATABASE.",
            )
        self.key, root = rows[0]
        if self._root and not root:  # kept by an earlier version
            with self.database.write() as connection:
                connection.execute("UPDATE project SET root = %s WHERE id = %s", (self._root, self.key))
        self.database.note_projects([self.key])

    def query(self, sql: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """The rows of one query."""
        self._flush()
        return self._reading().query(sql, values)

    @contextmanager
    def snapshot(self) -> Iterator[Connection]:
        """Queries that see one and the same state: a standby's, where one has all that was written."""
        self._flush()
        with ExitStack() as opened:
            if self._reading() is self.database and (standby := self._standby(opened)):
                self._local.reading = standby
                opened.callback(setattr, self._local, "reading", None)
            with self._reading().snapshot() as connection:
                yield connection

    def version(self) -> Version:
        """What tells the state of the project that is read now from every other; None while this thread writes."""
        if getattr(self._local, "flush", None) is not None:
            return None
        rows = self._reading().query(VERSION, (self.key,))
        return (self.key, rows[0][0]) if rows else None

    def _reading(self) -> Database:
        """The database that this thread has a snapshot of, or the primary."""
        return getattr(self._local, "reading", None) or self.database

    def _standby(self, opened: ExitStack) -> Database | None:
        if not self.replicas or self.database.is_in_transaction:
            return None
        rows = self.database.query(VERSION, (self.key,))
        return self.replicas.read(opened, self.key, rows[0][0]) if rows else None

    @contextmanager
    def writing(self, flush: Callable[[], None]) -> Iterator[None]:
        """While it lasts, `flush` writes what a transaction of this thread holds back, before anything is read."""
        self._local.flush = flush
        try:
            yield
        finally:
            self._local.flush = None

    def _flush(self) -> None:
        flush: Callable[[], None] | None = getattr(self._local, "flush", None)
        if flush is not None:
            flush()


class Ids:
    """New ids of a project's rows, counted here: whoever writes to a project is the only one."""

    def __init__(self, connection: Connection, key: int) -> None:
        self._connection = connection
        self._key = key
        self._next: dict[str, int] = {}

    def take(self, table: str, count: int = 1) -> int:
        """The first of so many successive ids of a table."""
        first = self._next.get(table)
        if first is None:
            sql = f"SELECT COALESCE(MAX(id), 0) + 1 FROM {table} WHERE project = %s"
            row = self._connection.execute(sql.encode(), (self._key,)).fetchone()
            first = row[0] if row else 1
        self._next[table] = first + count
        return first

    def forget(self) -> None:
        """Count anew: others may write from now on."""
        self._next.clear()
