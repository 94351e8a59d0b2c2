"""One SQLite file: open it safely, migrate it, read snapshots of it, write to it. Knows no domain's tables."""

from __future__ import annotations

import itertools
import os
import sqlite3
import threading
import time
import weakref
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar, cast

from deltos.errors import StoreBusy, StoreCorrupt, StoreError, StoreTooNew, StoreUnwritable
from deltos.files import HELD_FILES
from deltos.store.private import make_private_file, mend_file
from deltos.store.sqlite.lock import hold_lock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from deltos.store.version import Version

WHEN_DAMAGED = "Run `deltos doctor`; the index can be rebuilt."
BUSY_TIMEOUT_SECONDS = 15.0
GLANCE_TIMEOUT_SECONDS = 2.0
_INTERRUPT_SECONDS = 1.0
_INTERRUPT_AGAIN_SECONDS = 0.02
_UNWRITABLE = frozenset(
    {
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_PERM,
    }
)
_T = TypeVar("_T")


class Migration(NamedTuple):
    """A named, ordered step of a schema. Applied once, recorded in the same transaction."""

    name: str
    sql: str


_execute = sqlite3.Connection.execute  # `super()` would cost a microsecond for each statement
_execute_many = sqlite3.Connection.executemany
_CONNECTIONS = itertools.count(1)


class _Connection(sqlite3.Connection):
    """A connection that any thread may close: closed inside a statement, it would end the process.

    `remembered` is what was read of a state of the file, each with the version of that state.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._running = threading.RLock()
        self._number = next(_CONNECTIONS)
        self._seen: Version = None
        self.is_writing = False
        self.remembered: dict[str, tuple[Version, object]] = {}

    def hold(self, path: Path) -> None:
        """As long as this is open, nobody here opens the file otherwise: closing it would end the locks on it."""
        self._let_go = weakref.finalize(self, HELD_FILES.hold(path))
        self._let_go.atexit = False

    def close(self) -> None:
        super().close()
        self._let_go()

    def version(self) -> Version:
        """What tells the state that is seen now from every other; None while a transaction of its own writes."""
        if self.is_writing:
            return None
        if self._seen is None or not self.in_transaction:
            # The first tells of commits by others, the second of its own.
            seen = self._number, self.execute("PRAGMA data_version").fetchone()[0], self.total_changes
            if not self.in_transaction:
                return seen
            self._seen = seen  # until the transaction ends, it sees nothing else
        return self._seen

    @contextmanager
    def transaction(self, begin: str) -> Iterator[None]:
        """A transaction, which ends with the block; what it has not committed by then is taken back."""
        self._seen = None
        self.execute(begin)
        try:
            yield
        finally:
            self.rollback()

    def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
        with self._running:
            return _execute(self, sql, parameters)

    def executemany(self, sql: str, parameters: Any, /) -> sqlite3.Cursor:
        with self._running:
            return _execute_many(self, sql, parameters)

    def close_when_idle(self) -> None:
        """Interrupt what another thread runs on it and close it; one whose transaction does not end stays open."""
        until = time.monotonic() + _INTERRUPT_SECONDS
        while not self._closed_now():
            if time.monotonic() > until:
                return
            self.interrupt()  # never an idle one: it could not write its log into the file any more
            time.sleep(_INTERRUPT_AGAIN_SECONDS)

    def _closed_now(self) -> bool:
        if not self._running.acquire(blocking=False):
            return False
        try:
            if self.in_transaction:  # rows may be read, between its statements too
                return False
            self.close()
        finally:
            self._running.release()
        return True


class Database:
    """A migrated SQLite file in WAL mode; one connection per thread.

    `set_aside` is where a damaged file was moved that stood in its place.
    """

    def __init__(
        self,
        path: Path,
        migrations: Sequence[Migration],
        *,
        durability: Literal["NORMAL", "FULL"] = "NORMAL",
        busy_timeout_seconds: float = BUSY_TIMEOUT_SECONDS,
        backup_before_migration: bool = False,
        when_damaged: str = WHEN_DAMAGED,
    ) -> None:
        self.path = path
        self.set_aside: Path | None = None
        self._migrations = tuple(migrations)
        self._durability = durability
        self._busy_timeout_seconds = busy_timeout_seconds
        self._backup_before_migration = backup_before_migration
        self.errors = NamedErrors(path, when_damaged)
        self._local = threading.local()
        self._connections: list[_Connection] = []
        self._connections_lock = threading.Lock()
        with self._opening():
            self._prepare_or_replace()

    @property
    def file(self) -> int:
        """Which file on disk this is; another one once a damaged file was replaced."""
        return self._file

    def read(self) -> _Connection:
        """This thread's connection. SQLite's errors come as they are: `snapshot` and `write` translate them."""
        connection: _Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            self.reopen_if_gone()  # SQLite would make an empty file without tables
            connection = self._connect()
            self._local.connection = connection
        return connection

    @contextmanager
    def snapshot(self) -> Iterator[sqlite3.Connection]:
        """Queries that see one and the same state, whatever is written meanwhile."""
        with self.errors:
            connection = self.read()
            if connection.in_transaction:
                yield connection
                return
            with connection.transaction("BEGIN"):
                yield connection

    def version(self) -> Version:
        """What tells the state that this thread sees from every other: the same while nobody has written."""
        with self.errors:
            return self.read().version()

    def remembered(self, name: str, read: Callable[[sqlite3.Connection], _T]) -> _T:
        """What `read` gives: it is asked once for each state that this thread sees."""
        with self.errors:
            connection = self.read()
            version = connection.version()
            known, value = connection.remembered.get(name, (None, None))
            if known is not None and known == version:
                return cast("_T", value)
            with self.snapshot():
                found = read(connection)
            # What was written meanwhile is in it: it is then read once more than needed.
            connection.remembered[name] = version, found
            return found

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """One transaction that takes the write lock at once; all of it or nothing is kept."""
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
        """Inside `write`: keep what was written so far and go on in a new transaction."""
        connection.commit()
        connection.execute("BEGIN IMMEDIATE")

    def replace(self, damaged: int) -> None:
        """Begin an empty file in place of `damaged`, which is set aside; others may already have done so."""
        with self._opening():
            if _identity(self.path) == damaged:
                self.set_aside = move_aside(self.path)
            self._reopen()

    def reopen_if_gone(self) -> None:
        """Begin anew where another process removed or replaced the file: open connections see what nobody else does."""
        if _identity(self.path) != self._file:
            with self._opening():
                self._reopen()

    def _reopen(self) -> None:
        # Other threads may still use their connections: those close when the threads let go of them.
        with self._connections_lock:
            self._connections.clear()
        self._local = threading.local()
        self._prepare_or_replace()

    def scrub(self) -> bool:
        """Leave no trace of what was deleted, in free pages or the log; False while another reader holds them."""
        try:
            with self.errors:
                connection = self.read()
                connection.execute("VACUUM")  # every page written anew; what it needs meanwhile stays in memory
                busy, *_ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        except StoreBusy:
            return False
        return not busy

    def copy_to(self, target: Path) -> None:
        """A copy of the file as it is now, whole or not at all, readable by its owner only."""
        unfinished = target.with_name(f"{target.name}.part{os.getpid()}")
        try:
            with self.errors:
                _back_up(self.read(), unfinished)
            unfinished.replace(target)
        finally:
            unfinished.unlink(missing_ok=True)

    def release(self) -> None:
        """Close this thread's connection: for a thread that is about to end."""
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            return
        self._local.connection = None
        with self._connections_lock:
            self._connections = [other for other in self._connections if other is not connection]
        connection.close()

    def close(self) -> None:
        """Close the connections of all threads; what others still run is interrupted."""
        self.release()
        with self._connections_lock:
            for connection in self._connections:
                connection.close_when_idle()
            self._connections.clear()
        self._local = threading.local()

    @contextmanager
    def _opening(self) -> Iterator[None]:
        """One process at a time creates, migrates or replaces the file."""
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
            self.set_aside = move_aside(self.path)
            self._prepare()
        self._file = _identity(self.path)

    def _prepare(self) -> None:
        """Create the file and bring its schema up to date; a file that needs nothing is not written to."""
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
                connection.execute("PRAGMA foreign_keys=OFF")  # a step may replace a table that others refer to
                _migrate(connection, missing, first=len(self._migrations) - len(missing))

    def _missing_steps(self, connection: sqlite3.Connection) -> tuple[Migration, ...]:
        applied = _applied(connection)
        known = [migration.name for migration in self._migrations]
        if applied != known[: len(applied)]:
            unknown = next((name for name in applied if name not in known), applied[-1])
            raise StoreTooNew(
                f"{self.path.name} has schema step '{unknown}', which this version does not know",
                hint="Upgrade deltos, or set DELTOS_HOME to another folder.",
            )
        return self._migrations[len(applied) :]


def describe_engine() -> tuple[str, bool]:
    """SQLite's version, and whether it can search by words."""
    with closing(sqlite3.connect(":memory:")) as connection:
        try:
            connection.execute("CREATE VIRTUAL TABLE probe USING fts5 (text)")
        except sqlite3.OperationalError:
            return sqlite3.sqlite_version, False
    return sqlite3.sqlite_version, True


def check_file(path: Path) -> list[str]:
    """What SQLite's own integrity check finds wrong with a file; nothing is good. Changes nothing."""
    with NamedErrors(path), closing(connect_read_only(path)) as connection:
        rows = connection.execute("PRAGMA integrity_check(10)").fetchall()
    return [row[0] for row in rows if row[0] != "ok"]


def connect_read_only(path: Path) -> sqlite3.Connection:
    """A connection for a glance at a file."""
    return _open(path, timeout_seconds=GLANCE_TIMEOUT_SECONDS, is_read_only=True)


def back_up_file(path: Path, target: Path) -> None:
    """Copy a file that is open here, as it is now."""
    with NamedErrors(path), closing(connect_read_only(path)) as connection:
        _back_up(connection, target)


def _open(path: Path, *, timeout_seconds: float, is_read_only: bool = False) -> _Connection:
    """The one way to a file of ours."""
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=ro" if is_read_only else path,
        uri=is_read_only,
        timeout=timeout_seconds,
        isolation_level=None,
        check_same_thread=False,
        factory=_Connection,
    )
    connection.hold(path)
    return connection


@contextmanager
def undone_on_error(connection: sqlite3.Connection) -> Iterator[None]:
    """Take back what an error left half done, and nothing else of the transaction."""
    connection.execute("SAVEPOINT part")
    try:
        yield
    except BaseException:  # an interrupt too: what it left half done is taken back, and it goes on upwards
        connection.execute("ROLLBACK TO part")
        raise
    finally:
        connection.execute("RELEASE part")


def split_statements(sql: str) -> list[str]:
    """The statements of a script; `executescript` would commit behind our back."""
    statements: list[str] = []
    pending = ""
    for piece in sql.split(";"):
        pending += f"{piece};"
        if sqlite3.complete_statement(pending):  # not inside a string or a trigger
            statements.append(pending.strip())
            pending = ""
    return [statement for statement in statements if statement != ";"]


def move_aside(path: Path) -> Path:
    """Rename a damaged database and its side files out of the way; nothing is deleted."""
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


class NamedErrors:
    """Turns SQLite's errors in a block into ours; one object serves any number of blocks."""

    def __init__(self, path: Path, when_damaged: str = WHEN_DAMAGED) -> None:
        self._path = path
        self._when_damaged = when_damaged

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, exc: BaseException | None, _trace: object) -> None:
        if isinstance(exc, sqlite3.Error):
            raise _translate(exc, self._path, self._when_damaged) from exc


def _translate(exc: sqlite3.Error, path: Path, when_damaged: str) -> StoreError:
    text = str(exc)
    code = getattr(exc, "sqlite_errorcode", 0) & 0xFF
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return StoreBusy(f"{path.name} is in use by another process", hint="Try again in a moment.")
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return StoreCorrupt(f"{path.name} is damaged ({text})", hint=when_damaged)
    if code in _UNWRITABLE:
        return StoreUnwritable(
            f"Cannot write {path.name} ({text})",
            hint="Free disk space, or set DELTOS_HOME to a writable folder.",
        )
    return StoreError(f"{path.name}: {text}")


def _applied(connection: sqlite3.Connection) -> list[str]:
    if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'migration'").fetchone():
        return []
    return [row[0] for row in connection.execute("SELECT name FROM migration ORDER BY position")]


def _migrate(connection: sqlite3.Connection, steps: Sequence[Migration], *, first: int) -> None:
    connection.execute("BEGIN IMMEDIATE")
    connection.execute(
        "CREATE TABLE IF NOT EXISTS migration (position INTEGER PRIMARY KEY, name TEXT, applied_at REAL)"
    )
    for position, migration in enumerate(steps, start=first):
        for statement in split_statements(migration.sql):
            connection.execute(statement)
        connection.execute("INSERT INTO migration VALUES (?, ?, ?)", (position, migration.name, time.time()))
    connection.commit()


def _back_up(connection: sqlite3.Connection, target: Path) -> None:
    """Copy the database as it is, readable by its owner only."""
    _create_private(target)
    with closing(sqlite3.connect(target)) as copy:
        connection.backup(copy)


def _create_private(path: Path) -> None:
    """Make the file if there is none, readable by its owner only, as are the files that SQLite puts beside it."""
    try:
        make_private_file(path)
        for suffix in ("-wal", "-shm"):
            mend_file(path.with_name(path.name + suffix))
    except OSError as exc:
        raise StoreUnwritable(
            f"Cannot write {path.name} ({exc.strerror})", hint="Set DELTOS_HOME to a writable folder."
        ) from exc


def _identity(path: Path) -> int:
    """The file behind the name: a renamed one keeps its number, so a new one always has another."""
    try:
        return path.stat().st_ino
    except OSError:
        return 0
