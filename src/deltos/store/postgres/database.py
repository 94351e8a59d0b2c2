"""One PostgreSQL database: connections, migration, read snapshots and write transactions."""

from __future__ import annotations

import copy
import hashlib
import logging
import threading
import time
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.types.string import StrBinaryDumper, StrDumperUnknown
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout

from deltos.errors import StoreBusy, StoreError, StoreTooOld
from deltos.store.migration import Migration, missing_migrations
from deltos.store.postgres.errors import PostgresErrorTranslator, describe_address
from deltos.store.postgres.row_security import (
    ALL_PERMISSIONS,
    Permissions,
    apply_permissions,
    check_owner,
    current_permissions,
    owns_tables,
)
from deltos.store.postgres.rows import mark_row_security

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    Connection = psycopg.Connection[tuple[Any, ...]]

SCHEMA = "deltos"
OLDEST_VERSION = 15
POOL_SIZE = 6  # maximum number of connections; a call needs at most two, and calls rarely overlap
_MAX_IDLE_SECONDS = 60.0
WAIT_TIMEOUT_SECONDS = 15.0
_PROBE_TIMEOUT_SECONDS = 1.0
_CONNECT_TIMEOUT_SECONDS = 10
# Defaults for settings that the connection string does not contain. With these defaults, a lost server is detected
# within a minute.
_CONNECTION_DEFAULTS = {
    "connect_timeout": str(_CONNECT_TIMEOUT_SECONDS),
    "keepalives_idle": "30",
    "keepalives_interval": "10",
    "keepalives_count": "3",
    "tcp_user_timeout": "45000",
    "application_name": "deltos",
}
_BEGIN_SNAPSHOT = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_MAX_CACHED_PERMISSIONS = 1_000
_PREPARE_THRESHOLD = 2  # number of executions after which a connection prepares a statement

__all__ = ["Migration", "PostgresDatabase", "savepoint"]


# PostgreSQL text cannot contain NUL, which is therefore replaced with U+FFFD, like undecodable bytes.
class _TextWithoutNul(StrDumperUnknown):
    def dump(self, obj: str) -> bytes | bytearray | memoryview | None:
        return super().dump(obj.replace("\0", "\ufffd") if "\0" in obj else obj)


class _BinaryTextWithoutNul(StrBinaryDumper):
    def dump(self, obj: str) -> bytes | bytearray | memoryview | None:
        return super().dump(obj.replace("\0", "\ufffd") if "\0" in obj else obj)


@dataclass(frozen=True, slots=True)
class _AppliedPermissions:
    """Cache of the permissions last applied to each connection, and of the project keys visible with these
    permissions."""

    by_connection: WeakKeyDictionary[Connection, tuple[Permissions, str]] = field(default_factory=WeakKeyDictionary)
    project_keys: dict[Permissions, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _OpenTransaction:
    """Transaction of a thread, with the permissions applied to the connection.

    `versions` contains the project versions visible in a snapshot, by project key. It is None in a write transaction.
    """

    connection: Connection
    permissions: Permissions
    versions: dict[int, int] | None = None


@dataclass(slots=True)
class _PooledConnection:
    """Connection borrowed from the pool. A lost connection is replaced by another one."""

    connection: Connection


class PostgresDatabase:
    """PostgreSQL database with the current schema, accessed through a connection pool of limited size.

    If `migrations` is None, the schema is neither checked nor migrated, for example in child processes.
    """

    def __init__(
        self,
        url: str,
        *,
        migrations: Sequence[Migration] | None,
        schema: str = SCHEMA,
        pool_size: int = POOL_SIZE,
        wait_seconds: float = WAIT_TIMEOUT_SECONDS,
    ) -> None:
        self.address = describe_address(url)
        self.schema = schema
        self.errors = PostgresErrorTranslator(self.address)
        self._url = _with_defaults(url)
        self._wait_seconds = wait_seconds
        self._local = threading.local()
        self._shared = threading.local()  # shared by all objects that `with_own_transactions` returns
        self._applied = _AppliedPermissions()
        self._column_types: dict[str, dict[str, str]] = {}
        if migrations is not None:
            with self.errors:
                self._prepare(migrations)
        self._pool = self._open_pool(pool_size)

    @property
    def connection_settings(self) -> tuple[str, str]:
        """Connection string (including the password) and schema, for use in another process."""
        return self._url, self.schema

    def with_own_transactions(self) -> PostgresDatabase:
        """Return the same database with separate transactions, so that one thread can use several stores."""
        other = copy.copy(self)
        other._local = threading.local()  # noqa: SLF001 (same class)
        return other

    def with_own_snapshots(self) -> PostgresDatabase:
        """Return the same database with separate transactions and snapshots, so that a store sees its own writes."""
        other = self.with_own_transactions()
        other._shared = threading.local()  # noqa: SLF001 (same class)
        return other

    def describe(self) -> str:
        """Return the address and server version for display to users."""
        ((version,),) = self.query("SHOW server_version")
        return f"{self.address}, PostgreSQL {version}"

    def query(self, sql: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of one query. It runs within this thread's snapshot or transaction, if any."""
        with self.errors:
            connection = self._usable_connection()
            if connection is not None:
                return connection.execute(sql, values, binary=True).fetchall()
            with self._borrow_connection() as pooled:
                return self._run_first(pooled, sql, values).fetchall()

    def column_types(self, table: str) -> dict[str, str]:
        """Return the names of the types of a table's columns, by column name."""
        if table not in self._column_types:
            sql = """SELECT attname, format_type(atttypid, NULL) FROM pg_attribute
                     WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped"""
            self._column_types[table] = dict(self.query(sql, (table,)))
        return self._column_types[table]

    @contextmanager
    def snapshot(self) -> Iterator[Connection]:
        """Run the `with` block in a read transaction (snapshot), so that all queries see the same state.

        Snapshots of several stores in one thread share one transaction, so that a query over many projects uses one
        connection. The outermost snapshot ends the transaction.
        """
        connection = self._usable_connection()
        if connection is not None:
            with self.errors:
                yield connection
            return
        shared_snapshot: _OpenTransaction | None = getattr(self._shared, "snapshot", None)
        if shared_snapshot is not None and shared_snapshot.permissions == current_permissions():
            with self.errors, self._use_transaction(shared_snapshot):
                yield shared_snapshot.connection
            return
        with self._transaction(_BEGIN_SNAPSHOT) as connection:
            self._shared.snapshot = self._open_transaction()
            try:
                yield connection
            finally:
                self._shared.snapshot = shared_snapshot

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """Run the `with` block in a write transaction, which is committed at the end of the block."""
        if self._usable_connection() is not None:
            raise StoreError("A thread cannot begin a transaction inside another transaction")
        with self._transaction("BEGIN") as connection:
            self._check_locks()
            yield connection
            connection.execute("COMMIT")

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[Connection]:
        """Run the block in a transaction of this thread. Uncommitted changes are rolled back at the end of the
        block."""
        with self.errors, self._borrow_connection() as pooled:
            self._run_first(pooled, begin)
            try:
                versions: dict[int, int] | None = {} if begin == _BEGIN_SNAPSHOT else None
                with self._use_transaction(_OpenTransaction(pooled.connection, current_permissions(), versions)):
                    yield pooled.connection
                if versions is not None:
                    pooled.connection.execute("COMMIT")  # a rollback would discard the prepared statements
            finally:
                _roll_back(pooled.connection)

    @contextmanager
    def _use_transaction(self, opened: _OpenTransaction) -> Iterator[None]:
        """Run the queries of this thread in the given transaction during the `with` block."""
        outer = self._open_transaction()
        self._local.open = opened
        try:
            yield
        finally:
            self._local.open = outer

    def commit_step(self, connection: Connection) -> None:
        """Commit all writes so far and continue in a new transaction. Valid only within `write`."""
        with self.errors:
            connection.execute("COMMIT")
            connection.execute("BEGIN")

    @contextmanager
    def try_lock(self, key: str) -> Iterator[bool]:
        """Yield whether this process acquired the named advisory lock. It is released at the end of the block or
        process.

        If the connection that holds the lock is lost, the lock is lost too, and later writes of this thread fail.
        """
        with self.errors:
            connection = self._connect()
        with closing(connection):  # closing releases the lock
            with self.errors:
                row = connection.execute("SELECT pg_try_advisory_lock(%s)", (self._lock_number(key),)).fetchone()
            is_held = bool(row and row[0])
            before = self._lock_connections()
            self._local.lock_connections = (*before, connection) if is_held else before
            try:
                yield is_held
            finally:
                self._local.lock_connections = before

    def _lock_connections(self) -> tuple[Connection, ...]:
        """Return the connections that hold this thread's advisory locks."""
        held: tuple[Connection, ...] = getattr(self._local, "lock_connections", ())
        return held

    def _check_locks(self) -> None:
        """Raise an error if this thread has lost a lock."""
        # A stalled process loses its locks when the server closes the connections of the process, all at the same time.
        # Writes on an older connection then fail by themselves. For a newer connection, this check fails.
        for connection in self._lock_connections():
            connection.execute("SELECT 1")

    def open_connection(self) -> Connection:
        """Open a connection outside the pool. The caller must close it."""
        return self._connect()

    def lock_number(self, key: str) -> int:
        """Return the number of the advisory lock with this name, for locks that a transaction acquires with SQL."""
        return self._lock_number(key)

    def rewrite(self, tables: Sequence[str]) -> bool:
        """Rewrite tables to erase deleted rows from disk. Return False if another process uses one of the tables."""
        try:
            with self.errors, closing(self._connect()) as connection:
                check_owner(connection, list(tables))
                connection.execute(f"SET lock_timeout TO {round(_PROBE_TIMEOUT_SECONDS * 1000)}")
                for table in tables:
                    connection.execute(f"VACUUM (FULL) {table}".encode())
        except StoreBusy:
            return False
        return True

    def refresh_permissions(self, project_keys: Iterable[int]) -> None:
        """Apply the caller's permissions again if one of the projects was registered after they were last applied."""
        permissions = current_permissions()
        known = self._applied.project_keys.get(permissions)
        if (
            known is None
            or permissions == ALL_PERMISSIONS
            or {*map(str, project_keys)} <= {*known.strip("{}").split(",")}
        ):
            return
        self._applied.project_keys.pop(permissions, None)
        connection = self._usable_connection()
        if connection is not None:
            self._apply_permissions(connection)
            # A rollback of the transaction undoes the change, so the permissions must be applied again later.
            self._applied.by_connection[connection] = (Permissions(), "")

    def snapshot_versions(self) -> dict[int, int] | None:
        """Return the project versions visible in this thread's snapshot, or None outside a snapshot.

        The caller may add versions to the mapping.
        """
        opened = self._open_transaction()
        return opened.versions if opened is not None and self._usable_connection() is not None else None

    def visible_keys(self, project_keys: Iterable[int]) -> set[int]:
        """Return the keys of projects whose rows are visible to this thread's transaction under row-level security.

        A project that was registered after the permissions of the connection were applied is not visible.
        """
        connection = self._usable_connection()
        applied = self._applied.by_connection.get(connection) if connection is not None else None
        if applied is None or applied[0] == ALL_PERMISSIONS:
            return set(project_keys)
        known = {*applied[1].strip("{}").split(",")}
        return {key for key in project_keys if str(key) in known}

    @property
    def has_row_security(self) -> bool:
        """Whether row-level security applies to this role. It does not apply to the owner of the tables."""
        return bool(self.query("SELECT coalesce(row_security_active(to_regclass('project')), false)")[0][0])

    def close(self) -> None:
        """Close all connections. Statements of other threads may finish first."""
        self._pool.close(timeout=_PROBE_TIMEOUT_SECONDS)

    def pool_counts(self) -> tuple[int, int, int, int]:
        """Return the maximum, open and idle connections of the pool, and the number of waiting requests."""
        stats = self._pool.get_stats()
        names = ("pool_max", "pool_size", "pool_available", "requests_waiting")
        most, opened, idle, waiting = (stats.get(name, 0) for name in names)
        return most, opened, min(idle, opened), waiting  # `opened` and `idle` may be inconsistent

    # --- connections

    def _usable_connection(self) -> Connection | None:
        """Return the connection of this thread's transaction if the permissions of the current caller apply to it."""
        opened = self._open_transaction()
        if opened is None or (
            opened.connection in self._applied.by_connection and opened.permissions != current_permissions()
        ):
            return None
        return opened.connection

    def _open_transaction(self) -> _OpenTransaction | None:
        opened: _OpenTransaction | None = getattr(self._local, "open", None)
        return opened

    def _open_pool(self, size: int) -> ConnectionPool[Connection]:
        # The pool would log every lost connection to standard error, but callers receive an error anyway.
        logging.getLogger("psycopg.pool").addHandler(logging.NullHandler())
        return ConnectionPool(
            self._url,
            kwargs={"autocommit": True, "prepare_threshold": _PREPARE_THRESHOLD},
            min_size=0,
            max_size=size,
            max_idle=_MAX_IDLE_SECONDS,
            configure=self._configure,
            reconnect_timeout=0.0,  # only one attempt, so that the caller receives the reason for a failure
            timeout=self._wait_seconds,
            name=f"deltos-{self.schema}",
            open=True,
        )

    def _configure(self, connection: Connection) -> None:
        # With custom plans, PostgreSQL reads and locks only the partitions of a project. Prepared statements are still
        # faster, because PostgreSQL does not parse each statement and add row-level security policies again.
        connection.adapters.register_dumper(str, _BinaryTextWithoutNul)
        connection.adapters.register_dumper(str, _TextWithoutNul)
        connection.execute(f'SET search_path TO "{self.schema}"')
        connection.execute(f"SET lock_timeout TO {round(self._wait_seconds * 1000)}")
        connection.execute("SET plan_cache_mode TO force_custom_plan")
        row = connection.execute("SELECT row_security_active(to_regclass('project'))").fetchone()
        if row and row[0]:
            mark_row_security(connection)
            self._applied.by_connection[connection] = (Permissions(), "")

    def _apply_permissions(self, connection: Connection) -> None:
        """Apply the caller's permissions to a connection with row-level security, unless they are already applied."""
        applied = self._applied.by_connection.get(connection)
        if applied is None:
            return
        permissions = current_permissions()
        project_keys = self._applied.project_keys.get(permissions)
        if project_keys is not None and applied == (permissions, project_keys):
            return
        self._applied.by_connection[connection] = (Permissions(), "")  # after an error, permissions are applied again
        project_keys = apply_permissions(connection, permissions, project_keys)
        self._applied.by_connection[connection] = (permissions, project_keys)
        if len(self._applied.project_keys) >= _MAX_CACHED_PERMISSIONS:
            self._applied.project_keys.clear()
        self._applied.project_keys[permissions] = project_keys

    def _connect(self) -> Connection:
        connection = psycopg.connect(self._url, autocommit=True, prepare_threshold=_PREPARE_THRESHOLD)
        self._configure(connection)
        self._apply_permissions(connection)
        return connection

    @contextmanager
    def _borrow_connection(self) -> Iterator[_PooledConnection]:
        pooled = _PooledConnection(self._take_connection())
        try:
            yield pooled
        finally:
            self._pool.putconn(pooled.connection)

    def _run_first(
        self, pooled: _PooledConnection, sql: str, values: Sequence[object] = ()
    ) -> psycopg.Cursor[tuple[Any, ...]]:
        """Run the first statement on a pooled connection. Replace connections that were lost since the last use."""
        for _ in range(self._pool.max_size):
            try:
                self._apply_permissions(pooled.connection)
                return pooled.connection.execute(sql, values, binary=True)
            except psycopg.OperationalError:
                if not pooled.connection.closed:
                    raise
                self._pool.putconn(pooled.connection)
                pooled.connection = self._take_connection()
        self._apply_permissions(pooled.connection)
        return pooled.connection.execute(sql, values, binary=True)

    def _take_connection(self) -> Connection:
        until = time.monotonic() + self._wait_seconds
        while True:
            try:
                return self._pool.getconn(timeout=min(_PROBE_TIMEOUT_SECONDS, self._wait_seconds))
            except PoolClosed as exc:
                raise StoreError(
                    f"The connection to {self.address} is closed", hint="The server is shutting down."
                ) from exc
            except PoolTimeout as exc:
                self._connect().close()  # raises an error with the reason if no connection is possible
                open_count = self._pool.get_stats().get("pool_size", 0)
                # If there are fewer connections than the maximum, the pool is still opening one.
                if time.monotonic() >= until + (_CONNECT_TIMEOUT_SECONDS if open_count < self._pool.max_size else 0.0):
                    pool = f"the pool {self._pool.name} to {self.address}"
                    raise StoreBusy(
                        f"All {self._pool.max_size} connections of {pool} are in use", hint="Try again in a moment."
                    ) from exc

    # --- schema

    def _prepare(self, migrations: Sequence[Migration]) -> None:
        """Migrate the schema. Nothing is written if the schema is up to date."""
        with closing(self._connect()) as connection:
            self._check_server(connection)
            missing = self._missing_steps(connection, migrations)
            if not missing:
                return
            if len(missing) < len(migrations) and not owns_tables(connection, ["migration"]):
                raise StoreTooOld(
                    f"{self.address} lacks the schema step '{missing[0].name}', and this role may not add it",
                    hint="Set DELTOS_DATABASE to the connection string of the owner and run `deltos db migrate`.",
                )
            connection.execute("SET lock_timeout TO 0")  # wait until another process has migrated the schema
            with suppress(psycopg.Error):  # stops the migration if this process dies; not all servers support it
                connection.execute("SET client_connection_check_interval TO '1s'")
            # The lock is acquired before the transaction begins, so that the transaction sees the newest tables.
            connection.execute("SELECT pg_advisory_lock(%s)", (self._lock_number("migration"),))
            with connection.transaction():
                self._migrate(connection, self._missing_steps(connection, migrations))

    def _check_server(self, connection: Connection) -> None:
        version = connection.info.server_version
        if version < OLDEST_VERSION * 10_000:
            raise StoreError(
                f"{self.address} is PostgreSQL {version // 10_000}",
                hint=f"PostgreSQL {OLDEST_VERSION} or newer is needed.",
            )
        encoding = connection.info.parameter_status("server_encoding")
        if encoding != "UTF8":
            raise StoreError(
                f"{self.address} stores text as {encoding}", hint="Create the database with ENCODING 'UTF8'."
            )

    def _missing_steps(self, connection: Connection, migrations: Sequence[Migration]) -> Sequence[Migration]:
        applied: list[str] = []
        if _is_defined(connection, "to_regclass", f'"{self.schema}".migration'):
            applied = [row[0] for row in connection.execute("SELECT name FROM migration ORDER BY position")]
        hint = "Upgrade deltos, or set DELTOS_DATABASE to another database."
        return missing_migrations(migrations, applied, location=self.address, hint=hint)

    def _migrate(self, connection: Connection, steps: Sequence[Migration]) -> None:
        if not _is_defined(connection, "to_regnamespace", f'"{self.schema}"'):
            connection.execute(f'CREATE SCHEMA "{self.schema}"')
        connection.execute(
            "CREATE TABLE IF NOT EXISTS migration"
            " (position integer PRIMARY KEY, name text NOT NULL, applied_at timestamptz)"
        )
        for migration in steps:
            connection.execute(migration.sql.encode())
            connection.execute(
                "INSERT INTO migration SELECT coalesce(max(position) + 1, 0), %s, now() FROM migration",
                (migration.name,),
            )

    def _lock_number(self, key: str) -> int:
        """Return the 64-bit number of the advisory lock with this name. It is the same for all users of a database."""
        digest = hashlib.sha256(f"deltos/{self.schema}/{key}".encode("utf-8", "surrogateescape")).digest()
        return int.from_bytes(digest[:8], "big", signed=True)


@contextmanager
def savepoint(connection: Connection) -> Iterator[None]:
    """Run the `with` block in a savepoint. An error rolls back only the block and does not end the transaction."""
    connection.execute("SAVEPOINT part")
    try:
        yield
    except BaseException:  # includes KeyboardInterrupt; the exception is raised again after the rollback
        with suppress(psycopg.OperationalError):  # if the connection is lost, the server has rolled back
            connection.execute("ROLLBACK TO part")
            connection.execute("RELEASE part")
        raise
    connection.execute("RELEASE part")


def _is_defined(connection: Connection, function: str, name: str) -> bool:
    """Whether a database object with this name exists. `function` is a lookup function, such as `to_regclass`."""
    row = connection.execute(f"SELECT {function}(%s) IS NOT NULL".encode(), (name,)).fetchone()
    return bool(row and row[0])


def _roll_back(connection: Connection) -> None:
    with suppress(psycopg.Error):  # a dead connection has nothing to roll back
        connection.rollback()


def _with_defaults(url: str) -> str:
    """Return a connection string with default settings added."""
    given = conninfo_to_dict(url)
    return make_conninfo(url, **{name: value for name, value in _CONNECTION_DEFAULTS.items() if name not in given})
