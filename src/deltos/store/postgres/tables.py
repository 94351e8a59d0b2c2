"""One project in the tables that all projects share: its key, which every statement names."""

from __future__ import annotations

import hashlib
import re
import threading
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from deltos.errors import StoreError
from deltos.store.postgres.database import Migration
from deltos.store.postgres.kept import SHARED_BUDGET, KeptProject
from deltos.store.postgres.replicas import VERSION
from deltos.store.postgres.rights import Rights, current_rights
from deltos.store.project import SeenStamp, StoredFile

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from deltos.store.postgres.database import Connection, Database
    from deltos.store.postgres.kept import KeptState
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
_REGISTERED = "SELECT id, root FROM project WHERE name = %s"
_ALL_REGISTERED = "SELECT name, id, root, version FROM project WHERE name = ANY(%s)"
_VERSIONS = "SELECT id, version FROM project WHERE id = ANY(%s)"
# What was read ahead holds for so long, and of a project for the first look and the question that follows it;
_AHEAD_SECONDS = 0.5
_AHEAD_LOOKS = 2
# projects that were looked at together are asked together in the snapshot that follows.
_TOGETHER_SECONDS = 10.0
STORED_FILE = "stored file"  # what files are called that are kept in memory as they were stored
_Key = TypeVar("_Key", bound="Hashable")
_Row = TypeVar("_Row")


def project_name(root: Path) -> str:
    """What the project at a folder is called, so that a person recognises it."""
    digest = hashlib.sha256(str(root).encode("utf-8", "surrogateescape")).hexdigest()[:16]
    name = re.sub(r"[^\w.-]+", "-", root.name)[:40] or "root"
    return f"{name.encode('utf-8', 'replace').decode()}-{digest}"


def stored_file(file_id: int, path: str, digest: bytes, size: int, mtime_ns: int, seen_at_ns: int) -> StoredFile:
    """A file of its columns."""
    return StoredFile(file_id, path, digest, SeenStamp(size, mtime_ns, seen_at_ns))


@dataclass(slots=True)
class _Ahead:
    """What was read of a project ahead, together with others, for a caller with these rights."""

    rights: Rights
    key: int
    root: str
    version: int
    read_at: float
    together: tuple[int, ...]
    looks: int = _AHEAD_LOOKS
    is_registered: bool = False


class ProjectTables:
    """The rows of one project. Reads see what this thread has written and not kept yet."""

    def __init__(self, database: Database, name: str, root: str = "", replicas: Replicas | None = None) -> None:
        self.database = database
        self.replicas = replicas
        self.name = name
        self._root = root
        self._local = threading.local()
        self._kept = KeptProject(SHARED_BUDGET)
        self.key = 0
        self.register_if_gone()

    def register_if_gone(self) -> None:
        """Begin anew where the project was never kept, or was forgotten meanwhile."""
        ahead = self._ahead()
        if ahead is not None and not ahead.is_registered:
            ahead.is_registered = True
            self._register(ahead.key, ahead.root)
            return
        rows = self.database.query(_REGISTERED, (self.name,))
        if not rows:
            with self.database.write() as connection:
                connection.execute(
                    "INSERT INTO project (name, root) VALUES (%s, %s) ON CONFLICT DO NOTHING", (self.name, self._root)
                )
            rows = self.database.query(_REGISTERED, (self.name,))
        if not rows:
            raise StoreError(
                f"{self.name} was kept by an earlier version, which did not note its folder",
                hint="Run `deltos index` for it with the owner's address in DELTOS_DATABASE.",
            )
        self._register(*rows[0])
        self.database.note_projects([self.key])

    def _register(self, key: int, root: str) -> None:
        if key != self.key:
            self._kept.forget()
            self.key = key
        if self._root and not root:  # kept by an earlier version
            with self.database.write() as connection:
                connection.execute("UPDATE project SET root = %s WHERE id = %s", (self._root, self.key))

    @staticmethod
    def look_ahead(several: Sequence[ProjectTables]) -> None:
        """Read at once what tells the states of projects that this thread is about to ask one after the other."""
        database = several[0].database
        rows = database.query(_ALL_REGISTERED, ([tables.name for tables in several],))
        found = {row[0]: row[1:] for row in rows}
        keys = tuple(row[1] for row in rows)
        database.note_projects(keys)
        now, rights = time.monotonic(), current_rights()
        for tables in several:
            told = found.get(tables.name)
            ahead = _Ahead(rights, told[0], told[1], told[2], now, keys) if told else None
            tables._local.ahead = ahead  # noqa: SLF001 (one of us)

    def _ahead(self, seconds: float = _AHEAD_SECONDS) -> _Ahead | None:
        """What this thread read ahead for who asks now, not long ago."""
        ahead: _Ahead | None = getattr(self._local, "ahead", None)
        if ahead is None or time.monotonic() > ahead.read_at + seconds or ahead.rights != current_rights():
            return None
        return ahead

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
        if self._is_writing():
            return None
        version = self._version()
        return None if version is None else (self.key, version)

    def state(self) -> KeptState | None:
        """What is kept of the state that this thread has a snapshot of; None where it has none."""
        reading = self._reading()
        if self._is_writing() or reading.seen_versions() is None:
            return None
        version = self._version()
        return None if version is None else self._kept.at(version)

    def kept(
        self,
        kind: str,
        keys: Iterable[_Key],
        read: Callable[[list[_Key]], Mapping[_Key, _Row]],
        text_bytes: Callable[[_Row], int] = lambda _: 0,
    ) -> dict[_Key, _Row]:
        """The rows of some keys, of which `read` is asked for those that are not kept."""
        state = self.state()
        if state is not None:
            return state.rows(kind, keys, read, text_bytes)
        asked = list(keys)
        return dict(read(asked)) if asked else {}

    def kept_of_newest(self, kind: str, read: Callable[[list[str]], Mapping[str, _Row]]) -> _Row:
        """What there is once of a state: of this thread's snapshot, or of the newest state."""
        if self._is_writing() or self._reading().seen_versions() is not None:
            return self.kept(kind, [""], read)[""]
        version = self._newest_version()
        state = None if version is None else self._kept.at(version)
        if state is not None and (found := state.known(kind, [""])):
            row: _Row = found[""]
            return row
        with self.snapshot():
            return self.kept(kind, [""], read)[""]

    def forget_kept(self) -> None:
        """Let go what is kept in memory."""
        self._kept.forget()

    def _newest_version(self) -> int | None:
        """The version that the project has outside of any snapshot."""
        ahead = self._ahead()
        if ahead is not None and ahead.looks and ahead.key == self.key:
            ahead.looks -= 1
            return ahead.version
        return self._version()

    def _version(self) -> int | None:
        """The version that is read now, asked once in a snapshot; None where the caller does not see the project, or
        not yet all of it."""
        reading = self._reading()
        seen = reading.seen_versions()
        if seen is None:
            rows = reading.query(VERSION, (self.key,))
            return rows[0][0] if rows else None
        if self.key not in seen:
            ahead = self._ahead(_TOGETHER_SECONDS)
            keys = [self.key, *(ahead.together if ahead else ())]
            found = dict(reading.query(_VERSIONS, (keys,)))
            told = reading.told_of(found)
            seen.update({key: found[key] if key in told else None for key in keys})
        return seen[self.key]

    def _is_writing(self) -> bool:
        return getattr(self._local, "flush", None) is not None

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
        self._local.ahead = None
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
