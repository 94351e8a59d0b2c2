"""One PostgreSQL database: connect to it, migrate it, read snapshots of it, write to it. Knows no domain's tables."""

from __future__ import annotations

import copy
import hashlib
import logging
import threading
import time
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol
from weakref import WeakKeyDictionary

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.types.string import StrBinaryDumper, StrDumperUnknown
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout

from deltos.errors import StoreBusy, StoreError, StoreTooNew, StoreTooOld
from deltos.store.postgres.errors import NamedErrors, place_of
from deltos.store.postgres.migration import Migration
from deltos.store.postgres.rights import EVERYTHING, Rights, check_owner, current_rights, owns_tables, tell
from deltos.store.postgres.rows import note_bound

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    Connection = psycopg.Connection[tuple[Any, ...]]

SCHEMA = "deltos"
OLDEST_VERSION = 15
POOL_SIZE = 8
WAIT_SECONDS = 15.0
_PROBE_SECONDS = 1.0
_CONNECT_SECONDS = 10
# Unless the address says otherwise: a server that vanished is noticed within a minute.
_CONNECTION = {
    "connect_timeout": str(_CONNECT_SECONDS),
    "keepalives_idle": "30",
    "keepalives_interval": "10",
    "keepalives_count": "3",
    "tcp_user_timeout": "45000",
    "application_name": "deltos",
}
_SNAPSHOT = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_MOST_KEPT_RIGHTS = 1_000
_PREPARED_AFTER = 2  # a statement that a connection ran so often is prepared

__all__ = ["Database", "Migration", "undone_on_error"]


# Text of PostgreSQL cannot contain the character NUL: it becomes U+FFFD, as in any text that cannot be read.
class _TextWithoutNul(StrDumperUnknown):
    def dump(self, obj: str) -> bytes | bytearray | memoryview | None:
        return super().dump(obj.replace("\0", "\ufffd") if "\0" in obj else obj)


class _BinaryTextWithoutNul(StrBinaryDumper):
    def dump(self, obj: str) -> bytes | bytearray | memoryview | None:
        return super().dump(obj.replace("\0", "\ufffd") if "\0" in obj else obj)


@dataclass(frozen=True, slots=True)
class _Bound:
    """What connections were told that row-level security holds, and the keys of the projects that each caller sees."""

    told: WeakKeyDictionary[Connection, tuple[Rights, str]] = field(default_factory=WeakKeyDictionary)
    keys: dict[Rights, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Open:
    """The transaction of a thread, and what its connection was told that it may reach.

    `versions` are those of projects that a snapshot sees, by key; None in a transaction that writes.
    """

    connection: Connection
    rights: Rights
    versions: dict[int, int | None] | None = None


@dataclass(slots=True)
class _Borrowed:
    """A connection of the pool, to be given back."""

    connection: Connection


class Standbys(Protocol):
    """Copies of a database that follow it."""

    def read_up_to(self, opened: ExitStack, written: str) -> Database | None:
        """One that has all up to that place of the log, with a snapshot that `opened` ends; None when there is none."""


class Database:
    """A migrated schema of a PostgreSQL database, through a bounded pool of connections.

    With `migrations` None it is used as it is: by a process that another one started on it.
    """

    def __init__(
        self,
        url: str,
        *,
        migrations: Sequence[Migration] | None,
        schema: str = SCHEMA,
        pool_size: int = POOL_SIZE,
        wait_seconds: float = WAIT_SECONDS,
    ) -> None:
        self.place = place_of(url)
        self.schema = schema
        self.errors = NamedErrors(self.place)
        self._url = _complete(url)
        self._wait_seconds = wait_seconds
        self._local = threading.local()
        self._beside = threading.local()  # what all that is beside each other shares
        self._bound = _Bound()
        self._standbys: Standbys | None = None
        if migrations is not None:
            with self.errors:
                self._prepare(migrations)
        self._pool = self._open_pool(pool_size)

    @property
    def opening(self) -> tuple[str, str]:
        """What another process needs to open it too: the address, with the password, and the schema."""
        return self._url, self.schema

    def beside(self) -> Database:
        """The same database with transactions of its own: for stores that are used beside others in one thread."""
        other = copy.copy(self)
        other._local = threading.local()  # noqa: SLF001 (one of us)
        return other

    def read_from(self, standbys: Standbys | None) -> Database:
        """The same database, whose snapshots are a standby's where one has all that was ever written here."""
        if standbys is None:
            return self
        other = self.beside()
        other._standbys = standbys  # noqa: SLF001 (one of us)
        return other

    def describe(self) -> str:
        """Where it is and what its server is, for a person."""
        ((version,),) = self.query("SHOW server_version")
        return f"{self.place}, PostgreSQL {version}"

    def query(self, sql: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """The rows of one query: in this thread's snapshot or transaction if it has one."""
        if reading := self._reading():
            return reading.query(sql, values)
        with self.errors:
            connection = self._open_here()
            if connection is not None:
                return connection.execute(sql, values, binary=True).fetchall()
            with self._borrowed() as borrowed:
                return self._first(borrowed, sql, values).fetchall()

    @contextmanager
    def snapshot(self) -> Iterator[Connection]:
        """Queries that see one and the same state, whatever is written meanwhile.

        Snapshots of stores beside each other, in one thread, are one: a question to a hundred projects takes one
        connection. The one that began first ends last.
        """
        if reading := self._reading():
            with reading.snapshot() as elsewhere:
                yield elsewhere
            return
        connection = self._open_here()
        if connection is not None:
            with self.errors:
                yield connection
            return
        if self._standbys is not None:
            with ExitStack() as opened:
                if standby := self._standby(opened, self._standbys):
                    self._local.reading = standby
                    opened.callback(setattr, self._local, "reading", None)
                    with standby.snapshot() as elsewhere:
                        yield elsewhere
                    return
        begun: _Open | None = getattr(self._beside, "snapshot", None)
        if begun is not None and begun.rights == current_rights():
            with self.errors, self._opened_as(begun):
                yield begun.connection
            return
        with self._transaction(_SNAPSHOT) as connection:
            self._beside.snapshot = self._open()
            try:
                yield connection
            finally:
                self._beside.snapshot = begun

    def _standby(self, opened: ExitStack, standbys: Standbys) -> Database | None:
        """A standby that has all that anybody was told is written here, with a snapshot that `opened` ends."""
        ((written,),) = self.query("SELECT pg_current_wal_insert_lsn()::text")
        return standbys.read_up_to(opened, written)

    def _reading(self) -> Database | None:
        """The standby that this thread has a snapshot of, if it has one."""
        reading: Database | None = getattr(self._local, "reading", None)
        return reading

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """One transaction; all of it or nothing is kept."""
        if self._open_here() is not None:
            raise StoreError("A transaction cannot begin inside another one of the same thread")
        with self._transaction("BEGIN") as connection:
            self._check_claims()
            yield connection
            connection.execute("COMMIT")

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[Connection]:
        """A transaction of this thread; what was not committed in the block is taken back."""
        with self.errors, self._borrowed() as borrowed:
            self._first(borrowed, begin)
            try:
                versions: dict[int, int | None] | None = {} if begin == _SNAPSHOT else None
                with self._opened_as(_Open(borrowed.connection, current_rights(), versions)):
                    yield borrowed.connection
                if versions is not None:
                    borrowed.connection.execute("COMMIT")  # after a rollback all statements are prepared anew
            finally:
                _roll_back(borrowed.connection)

    @contextmanager
    def _opened_as(self, opened: _Open) -> Iterator[None]:
        """While it lasts, this thread's queries here go to that transaction."""
        outer = self._open()
        self._local.open = opened
        try:
            yield
        finally:
            self._local.open = outer

    def commit_step(self, connection: Connection) -> None:
        """Inside `write`: keep what was written so far and go on in a new transaction."""
        with self.errors:
            connection.execute("COMMIT")
            connection.execute("BEGIN")

    @contextmanager
    def claim(self, key: str) -> Iterator[bool]:
        """Whether this process now holds the claim of that name; held until the block ends or the process dies.

        Where its connection is lost, so is the claim, and what this thread then wants to write fails.
        """
        with self.errors:
            connection = self._connect()
        with closing(connection):  # which gives the claim back
            with self.errors:
                row = connection.execute("SELECT pg_try_advisory_lock(%s)", (self._lock_number(key),)).fetchone()
            is_held = bool(row and row[0])
            before = self._claims()
            self._local.claims = (*before, connection) if is_held else before
            try:
                yield is_held
            finally:
                self._local.claims = before

    def _claims(self) -> tuple[Connection, ...]:
        """The connections that hold the claims of this thread."""
        claims: tuple[Connection, ...] = getattr(self._local, "claims", ())
        return claims

    def _check_claims(self) -> None:
        """Raise where a claim of this thread was lost. Who cuts a process off cuts all of its connections: one that was
        opened before this check is cut with the claim, and one that comes after the cut finds it lost."""
        for connection in self._claims():
            connection.execute("SELECT 1")

    def connected_apart(self) -> Connection:
        """A connection of its own, beside the pool; whoever asks for it closes it."""
        return self._connect()

    def number_of_lock(self, key: str) -> int:
        """By which an advisory lock of that name is taken within a transaction."""
        return self._lock_number(key)

    def rewrite(self, tables: Sequence[str]) -> bool:
        """Write tables anew, without anything that was deleted from them; False while another uses one of them."""
        try:
            with self.errors, closing(self._connect()) as connection:
                check_owner(connection, list(tables))
                connection.execute(f"SET lock_timeout TO {round(_PROBE_SECONDS * 1000)}")
                for table in tables:
                    connection.execute(f"VACUUM (FULL) {table}".encode())
        except StoreBusy:
            return False
        return True

    def note_projects(self, keys: Iterable[int]) -> None:
        """These projects were met: where the caller's connections were not told of one, it came since; told anew."""
        rights = current_rights()
        known = self._bound.keys.get(rights)
        if known is None or rights == EVERYTHING or {*map(str, keys)} <= {*known.strip("{}").split(",")}:
            return
        self._bound.keys.pop(rights, None)
        connection = self._open_here()
        if connection is not None:
            self._tell(connection)
            self._bound.told[connection] = (Rights(), "")  # a transaction that is taken back takes this back too

    def seen_versions(self) -> dict[int, int | None] | None:
        """The versions of projects that this thread's snapshot was asked for, to be added to; None outside of one."""
        if reading := self._reading():
            return reading.seen_versions()
        opened = self._open()
        return opened.versions if opened is not None and self._open_here() is not None else None

    def told_of(self, keys: Iterable[int]) -> set[int]:
        """Of projects that the caller sees, those whose rows row-level security shows this thread's transaction: not
        one that came after its connection was told which there are."""
        if reading := self._reading():
            return reading.told_of(keys)
        connection = self._open_here()
        told = self._bound.told.get(connection) if connection is not None else None
        if told is None or told[0] == EVERYTHING:
            return set(keys)
        known = {*told[1].strip("{}").split(",")}
        return {key for key in keys if str(key) in known}

    @property
    def is_in_transaction(self) -> bool:
        """Whether this thread has a snapshot or a transaction here."""
        return self._open_here() is not None

    @property
    def is_bound(self) -> bool:
        """Whether row-level security holds for us: it does not for the owner of the tables."""
        return bool(self.query("SELECT coalesce(row_security_active(to_regclass('project')), false)")[0][0])

    def close(self) -> None:
        """Close all connections; what other threads still run is finished, and then they have none."""
        self._pool.close(timeout=_PROBE_SECONDS)

    def pool_counts(self) -> tuple[int, int, int, int]:
        """Of its connections: how many there may be, are open, are idle, and are waited for."""
        stats = self._pool.get_stats()
        names = ("pool_max", "pool_size", "pool_available", "requests_waiting")
        most, opened, idle, waiting = (stats.get(name, 0) for name in names)
        return most, opened, idle, waiting

    # --- connections

    def _open_here(self) -> Connection | None:
        """The connection of this thread's transaction, if what runs now has the rights that it was told."""
        opened = self._open()
        if opened is None or (opened.connection in self._bound.told and opened.rights != current_rights()):
            return None
        return opened.connection

    def _open(self) -> _Open | None:
        opened: _Open | None = getattr(self._local, "open", None)
        return opened

    def _open_pool(self, size: int) -> ConnectionPool[Connection]:
        # It warns of every lost connection, on standard error where nobody listens; who asks is told by an error.
        logging.getLogger("psycopg.pool").addHandler(logging.NullHandler())
        return ConnectionPool(
            self._url,
            kwargs={"autocommit": True, "prepare_threshold": _PREPARED_AFTER},
            min_size=0,
            max_size=size,
            configure=self._configure,
            reconnect_timeout=0.0,  # one attempt for each request: who asks is told why there is no connection
            timeout=self._wait_seconds,
            name=f"deltos-{self.schema}",
            open=True,
        )

    def _configure(self, connection: Connection) -> None:
        # Plans are never kept: with the project's key in the query, only its partitions are looked at and locked. What
        # is kept of a prepared statement is how it was parsed and rewritten with the policies of its tables.
        connection.adapters.register_dumper(str, _BinaryTextWithoutNul)
        connection.adapters.register_dumper(str, _TextWithoutNul)
        connection.execute(f'SET search_path TO "{self.schema}"')
        connection.execute(f"SET lock_timeout TO {round(self._wait_seconds * 1000)}")
        connection.execute("SET plan_cache_mode TO force_custom_plan")
        row = connection.execute("SELECT row_security_active(to_regclass('project'))").fetchone()
        if row and row[0]:
            note_bound(connection)
            self._bound.told[connection] = (Rights(), "")

    def _tell(self, connection: Connection) -> None:
        """Tell a connection that row-level security holds what this call may reach, unless it was told that last."""
        told = self._bound.told.get(connection)
        if told is None:
            return
        rights = current_rights()
        keys = self._bound.keys.get(rights)
        if keys is not None and told == (rights, keys):
            return
        self._bound.told[connection] = (Rights(), "")  # whatever goes wrong now, it is told again
        keys = tell(connection, rights, keys)
        self._bound.told[connection] = (rights, keys)
        if len(self._bound.keys) >= _MOST_KEPT_RIGHTS:
            self._bound.keys.clear()
        self._bound.keys[rights] = keys

    def _connect(self) -> Connection:
        connection = psycopg.connect(self._url, autocommit=True, prepare_threshold=_PREPARED_AFTER)
        self._configure(connection)
        self._tell(connection)
        return connection

    @contextmanager
    def _borrowed(self) -> Iterator[_Borrowed]:
        borrowed = _Borrowed(self._take())
        try:
            yield borrowed
        finally:
            self._pool.putconn(borrowed.connection)

    def _first(self, borrowed: _Borrowed, sql: str, values: Sequence[object] = ()) -> psycopg.Cursor[tuple[Any, ...]]:
        """Run the first statement on a borrowed connection; one that died since its last use is replaced."""
        for _ in range(self._pool.max_size):
            try:
                self._tell(borrowed.connection)
                return borrowed.connection.execute(sql, values, binary=True)
            except psycopg.OperationalError:
                if not borrowed.connection.closed:
                    raise
                self._pool.putconn(borrowed.connection)
                borrowed.connection = self._take()
        self._tell(borrowed.connection)
        return borrowed.connection.execute(sql, values, binary=True)

    def _take(self) -> Connection:
        until = time.monotonic() + self._wait_seconds
        while True:
            try:
                return self._pool.getconn(timeout=min(_PROBE_SECONDS, self._wait_seconds))
            except PoolClosed as exc:
                raise StoreError(f"{self.place} is closed here", hint="The server is shutting down.") from exc
            except PoolTimeout as exc:
                self._connect().close()  # where none can be made, that tells why
                made = self._pool.get_stats().get("pool_size", 0)  # fewer than there may be: one is on its way
                if time.monotonic() >= until + (_CONNECT_SECONDS if made < self._pool.max_size else 0.0):
                    pool = f"the pool {self._pool.name} to {self.place}"
                    raise StoreBusy(
                        f"All {self._pool.max_size} connections of {pool} are in use", hint="Try again in a moment."
                    ) from exc

    # --- schema

    def _prepare(self, migrations: Sequence[Migration]) -> None:
        """Bring the schema up to date; one that needs nothing is not written to."""
        with closing(self._connect()) as connection:
            self._check_server(connection)
            missing = self._missing_steps(connection, migrations)
            if not missing:
                return
            if len(missing) < len(migrations) and not owns_tables(connection, ["migration"]):
                raise StoreTooOld(
                    f"{self.place} lacks the schema step '{missing[0].name}', and this role may not add it",
                    hint="Run `deltos db migrate` with the owner's address in DELTOS_DATABASE.",
                )
            connection.execute("SET lock_timeout TO 0")  # whoever migrates is waited for
            with suppress(psycopg.Error):  # not on every platform: where we die, our step ends too, not only when done
                connection.execute("SET client_connection_check_interval TO '1s'")
            # Before the transaction: one that began earlier would not see the tables that another has made.
            connection.execute("SELECT pg_advisory_lock(%s)", (self._lock_number("migration"),))
            with connection.transaction():
                missing = self._missing_steps(connection, migrations)
                self._migrate(connection, missing, first=len(migrations) - len(missing))

    def _check_server(self, connection: Connection) -> None:
        version = connection.info.server_version
        if version < OLDEST_VERSION * 10_000:
            raise StoreError(
                f"{self.place} is PostgreSQL {version // 10_000}",
                hint=f"PostgreSQL {OLDEST_VERSION} or newer is needed.",
            )
        encoding = connection.info.parameter_status("server_encoding")
        if encoding != "UTF8":
            raise StoreError(f"{self.place} keeps text as {encoding}", hint="Create the database with ENCODING 'UTF8'.")

    def _missing_steps(self, connection: Connection, migrations: Sequence[Migration]) -> Sequence[Migration]:
        applied: list[str] = []
        found = connection.execute("SELECT to_regclass(%s)", (f'"{self.schema}".migration',)).fetchone()
        if found and found[0]:
            applied = [row[0] for row in connection.execute("SELECT name FROM migration ORDER BY position")]
        known = [migration.name for migration in migrations]
        if applied != known[: len(applied)]:
            unknown = next((name for name in applied if name not in known), applied[-1])
            raise StoreTooNew(
                f"{self.place} has schema step '{unknown}', which this version does not know",
                hint="Upgrade deltos, or set DELTOS_DATABASE to another database.",
            )
        return migrations[len(applied) :]

    def _migrate(self, connection: Connection, steps: Sequence[Migration], *, first: int) -> None:
        if not first:
            connection.execute(f'CREATE SCHEMA IF NOT EXISTS "{self.schema}"')
            connection.execute(
                "CREATE TABLE migration (position integer PRIMARY KEY, name text NOT NULL, applied_at timestamptz)"
            )
        for position, migration in enumerate(steps, start=first):
            connection.execute(migration.sql.encode())
            connection.execute("INSERT INTO migration VALUES (%s, %s, now())", (position, migration.name))

    def _lock_number(self, key: str) -> int:
        """Advisory locks have numbers, and all users of a database share them."""
        digest = hashlib.sha256(f"deltos/{self.schema}/{key}".encode("utf-8", "surrogateescape")).digest()
        return int.from_bytes(digest[:8], "big", signed=True)


@contextmanager
def undone_on_error(connection: Connection) -> Iterator[None]:
    """Take back what an error left half done, and nothing else of the transaction."""
    connection.execute("SAVEPOINT part")
    try:
        yield
    except BaseException:  # an interrupt too: what it left half done is taken back, and it goes on upwards
        with suppress(psycopg.OperationalError):  # the connection is gone, and all of the transaction with it
            connection.execute("ROLLBACK TO part")
            connection.execute("RELEASE part")
        raise
    connection.execute("RELEASE part")


def _roll_back(connection: Connection) -> None:
    with suppress(psycopg.Error):  # a dead connection has nothing left to take back
        connection.rollback()


def _complete(url: str) -> str:
    """The address with our settings where it has none of its own."""
    given = conninfo_to_dict(url)
    return make_conninfo(url, **{name: value for name, value in _CONNECTION.items() if name not in given})
