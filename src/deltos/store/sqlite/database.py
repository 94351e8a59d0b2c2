"""One SQLite file: safe opening, migration, read snapshots and write transactions."""

from __future__ import annotations

import itertools
import os
import sqlite3
import threading
import time
import weakref
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

from deltos.errors import StoreBusy, StoreCorrupt, StoreError, StoreUnwritable
from deltos.files import HELD_FILES
from deltos.store.migration import missing_migrations
from deltos.store.private_files import make_private_file, restrict_file
from deltos.store.sqlite.clone import clone_file
from deltos.store.sqlite.lock import hold_lock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from deltos.store.migration import Migration
    from deltos.store.version import Version

DAMAGE_HINT = "Run `deltos doctor --fix` to rebuild the index."
BUSY_TIMEOUT_SECONDS = 15.0
READ_ONLY_TIMEOUT_SECONDS = 2.0
_MAX_INTERRUPT_SECONDS = 1.0
_INTERRUPT_INTERVAL_SECONDS = 0.02
_UNWRITABLE_ERROR_CODES = frozenset(
    {
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_PERM,
    }
)
_T = TypeVar("_T")


_execute = sqlite3.Connection.execute  # one microsecond faster per statement than `super()`
_execute_many = sqlite3.Connection.executemany
_connection_numbers = itertools.count(1)


class _Connection(sqlite3.Connection):
    """Connection that any thread can close safely. Closing a connection during a statement would crash the process.

    `cached` contains values read from the file, each with the version of the state from which it was read.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._statement_lock = threading.RLock()
        self._number = next(_connection_numbers)
        self._snapshot_version: Version = None
        self.is_writing = False
        self.cached: dict[str, tuple[Version, object]] = {}

    def mark_file_open(self, path: Path) -> None:
        """Record that the file is open, so that no other code in this process opens it."""
        # If other code closed a descriptor of the file, POSIX would drop all locks of this process on the file.
        self._release_file = weakref.finalize(self, HELD_FILES.hold(path))
        self._release_file.atexit = False

    def close(self) -> None:
        super().close()
        self._release_file()

    def version(self) -> Version:
        """Return a value that identifies the visible state, or None while this connection is writing."""
        if self.is_writing:
            return None
        if self._snapshot_version is None or not self.in_transaction:
            # data_version changes when other connections commit, and total_changes when this connection writes.
            seen = self._number, self.execute("PRAGMA data_version").fetchone()[0], self.total_changes
            if not self.in_transaction:
                return seen
            self._snapshot_version = seen  # valid until the transaction ends
        return self._snapshot_version

    @contextmanager
    def transaction(self, begin: str) -> Iterator[None]:
        """Run the block in a transaction. Uncommitted changes are rolled back at the end of the block."""
        self._snapshot_version = None
        self.execute(begin)
        try:
            yield
        finally:
            self.rollback()

    def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
        with self._statement_lock:
            return _execute(self, sql, parameters)

    def executemany(self, sql: str, parameters: Any, /) -> sqlite3.Cursor:
        with self._statement_lock:
            return _execute_many(self, sql, parameters)

    def close_when_idle(self) -> None:
        """Interrupt running statements of other threads and close the connection, unless a transaction remains open."""
        until = time.monotonic() + _MAX_INTERRUPT_SECONDS
        while not self._try_close():
            if time.monotonic() > until:
                return
            # Interrupt only a busy connection. After an interrupt, an idle connection could not checkpoint the log.
            self.interrupt()
            time.sleep(_INTERRUPT_INTERVAL_SECONDS)

    def _try_close(self) -> bool:
        if not self._statement_lock.acquire(blocking=False):
            return False
        try:
            if self.in_transaction:  # another thread is between two statements of a transaction
                return False
            self.close()
        finally:
            self._statement_lock.release()
        return True


class SqliteDatabase:
    """Migrated SQLite file in WAL mode, with one connection per thread.

    `damaged_file` is the path of the damaged file that this file replaced.
    """

    def __init__(
        self,
        path: Path,
        migrations: Sequence[Migration],
        *,
        durability: Literal["NORMAL", "FULL"] = "NORMAL",
        busy_timeout_seconds: float = BUSY_TIMEOUT_SECONDS,
        backup_before_migration: bool = False,
        damage_hint: str = DAMAGE_HINT,
    ) -> None:
        self.path = path
        self.damaged_file: Path | None = None
        self._migrations = tuple(migrations)
        self._durability = durability
        self._busy_timeout_seconds = busy_timeout_seconds
        self._backup_before_migration = backup_before_migration
        self.errors = SqliteErrorTranslator(path, damage_hint)
        self._local = threading.local()
        self._connections: list[_Connection] = []
        self._connections_lock = threading.Lock()
        with self._hold_file_lock():
            self._prepare_or_replace()

    @property
    def inode(self) -> int:
        """Inode number of the open file, which changes when a damaged file is replaced."""
        return self._inode

    def read(self) -> _Connection:
        """Return the connection of this thread. SQLite errors are not translated, unlike in `snapshot` and `write`."""
        connection: _Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            self.reopen_if_replaced()  # otherwise, SQLite would create an empty file for a removed one
            connection = self._connect()
            self._local.connection = connection
        return connection

    @contextmanager
    def snapshot(self) -> Iterator[sqlite3.Connection]:
        """Run the `with` block in a read transaction, so that all queries see the same state."""
        with self.errors:
            connection = self.read()
            if connection.in_transaction:
                yield connection
                return
            with connection.transaction("BEGIN"):
                yield connection

    def version(self) -> Version:
        """Return a value that identifies the state visible to this thread. It changes with every write."""
        with self.errors:
            return self.read().version()

    def cached(self, name: str, read: Callable[[sqlite3.Connection], _T]) -> _T:
        """Return `read(connection)`, cached under `name` for each state visible to this thread."""
        with self.errors:
            connection = self.read()
            version = connection.version()
            known, value = connection.cached.get(name, (None, None))
            if known is not None and known == version:
                return cast("_T", value)
            with self.snapshot():
                found = read(connection)
            # The value may already include a concurrent write. It is then read again later, which is harmless.
            connection.cached[name] = version, found
            return found

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """Run the `with` block in a transaction that acquires the write lock at the start."""
        with self.errors:
            connection = self.read()
            with connection.transaction("BEGIN IMMEDIATE"):
                connection.is_writing = True
                try:
                    yield connection
                    connection.commit()
                finally:
                    connection.is_writing = False

    def commit_step(self, connection: sqlite3.Connection) -> None:
        """Commit all writes so far and continue in a new transaction. Valid only within `write`."""
        connection.commit()
        connection.execute("BEGIN IMMEDIATE")

    def replace_damaged_file(self, damaged_inode: int) -> None:
        """Rename the damaged file and create an empty file, unless another thread has already replaced the damaged
        file."""
        with self._hold_file_lock():
            if _inode_of(self.path) == damaged_inode:
                self.damaged_file = move_aside(self.path)
            self._reopen()

    def reopen_if_replaced(self) -> None:
        """Reopen the file if another process removed or replaced it."""
        # Connections that are already open still read the old file.
        if _inode_of(self.path) != self._inode:
            with self._hold_file_lock():
                self._reopen()

    def _reopen(self) -> None:
        # Connections that other threads still use are closed when these threads release the connections.
        with self._connections_lock:
            self._connections.clear()
        self._local = threading.local()
        self._prepare_or_replace()

    def scrub(self) -> bool:
        """Erase deleted data from free pages and the write-ahead log. Return False if another process is reading."""
        try:
            with self.errors:
                connection = self.read()
                connection.execute("VACUUM")  # rewrites every page; temporary data stays in memory
                busy, *_ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        except StoreBusy:
            return False
        return not busy

    def copy_to(self, target: Path) -> None:
        """Copy the current state of the file to `target` atomically. Only the owner can read the copy."""
        unfinished = target.with_name(f"{target.name}.part{os.getpid()}")
        try:
            with self.errors:
                _back_up(self.read(), unfinished)
            unfinished.replace(target)
        finally:
            unfinished.unlink(missing_ok=True)

    def release(self) -> None:
        """Close this thread's connection. Call this before the thread ends."""
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            return
        self._local.connection = None
        with self._connections_lock:
            self._connections = [other for other in self._connections if other is not connection]
        connection.close()

    def close(self) -> None:
        """Interrupt running statements and close the connections of all threads."""
        self.release()
        with self._connections_lock:
            for connection in self._connections:
                connection.close_when_idle()
            self._connections.clear()
        self._local = threading.local()

    @contextmanager
    def _hold_file_lock(self) -> Iterator[None]:
        """Hold the lock that allows one process at a time to create, migrate or replace the file."""
        with hold_lock(self.path.with_name(f"{self.path.name}-lock")):
            yield

    def _connect(self) -> _Connection:
        connection = _open(self.path, timeout_seconds=self._busy_timeout_seconds)
        connection.execute(f"PRAGMA synchronous={self._durability}")
        connection.execute("PRAGMA foreign_keys=ON")
        connection.execute("PRAGMA temp_store=MEMORY")
        connection.execute("PRAGMA cache_size=-32000")
        with self._connections_lock:
            self._connections.append(connection)
        return connection

    def _prepare_or_replace(self) -> None:
        try:
            self._prepare()
        except StoreCorrupt:
            self.damaged_file = move_aside(self.path)
            self._prepare()
        self._inode = _inode_of(self.path)

    def _prepare(self) -> None:
        """Create the file if needed, and migrate the schema. An up-to-date file is not written."""
        _create_private(self.path)
        with (
            self.errors,
            closing(_open(self.path, timeout_seconds=self._busy_timeout_seconds)) as connection,
        ):
            missing = self._missing_steps(connection)
            if connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
                connection.execute("PRAGMA journal_mode=WAL")
            if missing and len(missing) < len(self._migrations) and self._backup_before_migration:
                _back_up(connection, self.path.with_name(f"{self.path.name}.before-{missing[0].name}"))
            if missing:
                connection.execute("PRAGMA foreign_keys=OFF")  # a migration may replace a referenced table
                _migrate(connection, missing)

    def _missing_steps(self, connection: sqlite3.Connection) -> tuple[Migration, ...]:
        hint = "Upgrade deltos, or set DELTOS_HOME to another folder."
        return missing_migrations(self._migrations, _applied_steps(connection), location=self.path.name, hint=hint)


def describe_engine() -> tuple[str, bool]:
    """Return SQLite's version, and whether it supports full-text search (FTS5)."""
    with closing(sqlite3.connect(":memory:")) as connection:
        try:
            connection.execute("CREATE VIRTUAL TABLE probe USING fts5 (text)")
        except sqlite3.OperationalError:
            return sqlite3.sqlite_version, False
    return sqlite3.sqlite_version, True


def check_file(path: Path) -> list[str]:
    """Return the problems that SQLite's integrity check finds, without changing the file."""
    with SqliteErrorTranslator(path), closing(connect_read_only(path)) as connection:
        rows = connection.execute("PRAGMA integrity_check(10)").fetchall()
    return [row[0] for row in rows if row[0] != "ok"]


def connect_read_only(path: Path) -> sqlite3.Connection:
    """Return a read-only connection with a short busy timeout."""
    return _open(path, timeout_seconds=READ_ONLY_TIMEOUT_SECONDS, is_read_only=True)


def back_up_file(path: Path, target: Path) -> None:
    """Copy the current state of a file that this process has open."""
    with SqliteErrorTranslator(path), closing(connect_read_only(path)) as connection:
        _back_up(connection, target)


def create_copy(source: Path, target: Path, change: Callable[[sqlite3.Connection], None]) -> bool:
    """Create `target` atomically as a changed copy of `source`. Return False if `target` exists or the copy failed.

    On a file system with copy-on-write, both files share the pages that are equal.
    """
    unfinished = target.with_name(f"{target.name}.part{os.getpid()}")
    with hold_lock(target.with_name(f"{target.name}-lock")):
        if target.exists():
            return False
        try:
            if not _clone_idle_file(source, unfinished):
                back_up_file(source, unfinished)
            with SqliteErrorTranslator(source), closing(sqlite3.connect(unfinished)) as connection, connection:
                change(connection)
            unfinished.rename(target)
        except (StoreError, OSError):
            return False
        finally:
            for suffix in ("", "-wal", "-shm"):
                unfinished.with_name(unfinished.name + suffix).unlink(missing_ok=True)
    return True


def _clone_idle_file(source: Path, target: Path) -> bool:
    """Clone a database file. Return False if the write-ahead log contains changes or clones are not supported."""
    try:
        with closing(_open(source, timeout_seconds=READ_ONLY_TIMEOUT_SECONDS)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            with connection.transaction("BEGIN IMMEDIATE"):  # prevents changes by other processes during cloning
                log = source.with_name(f"{source.name}-wal")
                return not (log.exists() and log.stat().st_size) and clone_file(source, target)
    except (sqlite3.Error, OSError):
        return False


def _open(path: Path, *, timeout_seconds: float, is_read_only: bool = False) -> _Connection:
    """Open a connection to a Deltos database file. All connections are created by this function."""
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=ro" if is_read_only else path,
        uri=is_read_only,
        timeout=timeout_seconds,
        isolation_level=None,
        check_same_thread=False,
        factory=_Connection,
    )
    connection.mark_file_open(path)
    return connection


@contextmanager
def savepoint(connection: sqlite3.Connection) -> Iterator[None]:
    """Run the `with` block in a savepoint. An error rolls back only the block and does not end the transaction."""
    connection.execute("SAVEPOINT part")
    try:
        yield
    except BaseException:  # includes KeyboardInterrupt; the exception is raised again after the rollback
        connection.execute("ROLLBACK TO part")
        raise
    finally:
        connection.execute("RELEASE part")


def split_statements(sql: str) -> list[str]:
    """Return the statements of an SQL script."""
    # `executescript` would commit the open transaction.
    statements: list[str] = []
    pending = ""
    for piece in sql.split(";"):
        pending += f"{piece};"
        if sqlite3.complete_statement(pending):  # false for a semicolon inside a string or a trigger
            statements.append(pending.strip())
            pending = ""
    return [statement for statement in statements if statement != ";"]


def move_aside(path: Path) -> Path:
    """Rename a damaged database with its write-ahead log and other side files, and return the new path."""
    stamp = time.strftime("%Y%m%d-%H%M%S")
    number = 0
    while (aside := path.with_name(f"{path.name}.corrupt-{stamp}{f'-{number}' if number else ''}")).exists():
        number += 1
    path.rename(aside)
    for suffix in ("-wal", "-shm"):
        side = path.with_name(path.name + suffix)
        if side.exists():
            side.rename(aside.with_name(aside.name + suffix))
    return aside


class SqliteErrorTranslator:
    """Reusable context manager that translates SQLite errors into `StoreError`."""

    def __init__(self, path: Path, damage_hint: str = DAMAGE_HINT) -> None:
        self._path = path
        self._damage_hint = damage_hint

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, exc: BaseException | None, _trace: object) -> None:
        if isinstance(exc, sqlite3.Error):
            raise _translate_error(exc, self._path, self._damage_hint) from exc


def _translate_error(exc: sqlite3.Error, path: Path, damage_hint: str) -> StoreError:
    text = str(exc)
    code = getattr(exc, "sqlite_errorcode", 0) & 0xFF
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return StoreBusy(f"{path.name} is in use by another process", hint="Try again in a moment.")
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return StoreCorrupt(f"{path.name} is damaged ({text})", hint=damage_hint)
    if code in _UNWRITABLE_ERROR_CODES:
        return StoreUnwritable(
            f"Cannot write {path.name} ({text})",
            hint="Free disk space, or set DELTOS_HOME to a writable folder.",
        )
    return StoreError(f"{path.name}: {text}")


def _applied_steps(connection: sqlite3.Connection) -> list[str]:
    if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'migration'").fetchone():
        return []
    return [row[0] for row in connection.execute("SELECT name FROM migration ORDER BY position")]


def _migrate(connection: sqlite3.Connection, steps: Sequence[Migration]) -> None:
    connection.execute("BEGIN IMMEDIATE")
    connection.execute(
        "CREATE TABLE IF NOT EXISTS migration (position INTEGER PRIMARY KEY, name TEXT, applied_at REAL)"
    )
    applied = connection.execute("SELECT count(*) FROM migration").fetchone()[0]
    for position, migration in enumerate(steps, start=applied):
        for statement in split_statements(migration.sql):
            connection.execute(statement)
        connection.execute("INSERT INTO migration VALUES (?, ?, ?)", (position, migration.name, time.time()))
    connection.commit()


def _back_up(connection: sqlite3.Connection, target: Path) -> None:
    """Copy the database to a file that only its owner can read."""
    _create_private(target)
    with closing(sqlite3.connect(target)) as copy:
        connection.backup(copy)


def _create_private(path: Path) -> None:
    """Create the file if needed. Restrict the file, the write-ahead log and other side files to the owner."""
    try:
        make_private_file(path)
        for suffix in ("-wal", "-shm"):
            restrict_file(path.with_name(path.name + suffix))
    except OSError as exc:
        raise StoreUnwritable(
            f"Cannot write {path.name} ({exc.strerror})", hint="Set DELTOS_HOME to a writable folder."
        ) from exc


def _inode_of(path: Path) -> int:
    """Return the inode number of a file, or 0 if the file does not exist. Renaming a file does not change it."""
    try:
        return path.stat().st_ino
    except OSError:
        return 0
