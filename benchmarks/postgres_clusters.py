"""Real PostgreSQL servers for benchmarks: a primary and standbys with streaming replication.

The PostgreSQL programs come from the wheel that the tests use. A commit waits until the primary and one standby have
flushed it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
from tests.postgres_server import as_server_user, free_port, give_to_server_user, program_environment, programs_folder

from benchmarks.processes import process_tree

USER, DATABASE = "deltos", "deltos"
_START_SECONDS = 120.0
_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "max_connections": "200",
    "max_wal_size": "4GB",
    "wal_keep_size": "512MB",  # A standby needs these log files to follow a new primary.
    "hot_standby_feedback": "on",
}


class Cluster:
    """One PostgreSQL server with its data folder."""

    def __init__(self, name: str, folder: Path, *, memory_mb: int = 256) -> None:
        self.name = name
        self.port = free_port()
        self._folder = folder
        self._memory_mb = memory_mb
        self._programs = programs_folder()
        self._process: subprocess.Popen[bytes] | None = None

    @classmethod
    def made(cls, name: str, folder: Path) -> Cluster:
        """Create a server with an empty database."""
        cluster = cls(name, folder)
        folder.mkdir(mode=0o700)
        give_to_server_user(folder)
        options = ("--encoding=UTF8", "--locale=C", "--auth=trust", f"--username={USER}")
        cluster._run("initdb", *options, "-D", str(folder))
        cluster.start()
        cluster.query(f"CREATE DATABASE {DATABASE} ENCODING 'UTF8' TEMPLATE template0", database="postgres")
        return cluster

    def standby(self, name: str, folder: Path) -> Cluster:
        """Create a standby of this server from a copy of its data."""
        follower = Cluster(name, folder, memory_mb=self._memory_mb)
        folder.mkdir(mode=0o700)
        give_to_server_user(folder)
        self._run(
            "pg_basebackup", "-D", str(folder), "-R", "-X", "stream", "-c", "fast", "-w", "-d", self.following(name)
        )
        follower.start()
        return follower

    def following(self, name: str) -> str:
        """Return the connection string with which the standby of that name connects to this server."""
        return f"host=127.0.0.1 port={self.port} user={USER} application_name={name}"

    @property
    def url(self) -> str:
        """Connection URL of the database."""
        return f"postgresql://{USER}@127.0.0.1:{self.port}/{DATABASE}"

    @property
    def pid(self) -> int:
        """Process id of the postmaster."""
        assert self._process
        return self._process.pid

    def start(self) -> None:
        """Start the server and wait until it accepts connections."""
        settings = {**_SETTINGS, "port": str(self.port), "shared_buffers": f"{self._memory_mb}MB"}
        command = [str(self._programs / "postgres"), "-D", str(self._folder), "-k", ""]
        command += [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        with Path(f"{self._folder}.log").open("ab") as log:
            self._process = subprocess.Popen(
                command,
                stdout=log,
                stderr=log,
                cwd=self._folder,
                env=program_environment(self._programs),
                **as_server_user(),
            )
        until = time.monotonic() + _START_SECONDS
        while True:
            try:
                self.query("SELECT 1", database="postgres")
            except psycopg.OperationalError:
                if time.monotonic() > until or self._process.poll() is not None:
                    raise
                time.sleep(0.1)
            else:
                return

    def kill(self) -> None:
        """Kill all processes of the server at once, as a power failure does."""
        for pid in process_tree(self.pid):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue  # The process has already ended.
        assert self._process
        self._process.wait()

    def stop(self) -> None:
        """Shut the server down if it is running."""
        if self._process and self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
            self._process.wait()

    def query(self, sql: str, *, database: str = DATABASE) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""
        address = f"postgresql://{quote(USER)}@127.0.0.1:{self.port}/{database}"
        with psycopg.connect(address, autocommit=True, connect_timeout=5) as connection:
            cursor = connection.execute(sql.encode())
            return cursor.fetchall() if cursor.description else []

    def wait_for(self, *names: str) -> None:
        """Require that one of these standbys has written a transaction before it is acknowledged."""
        self.query(f"ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 ({', '.join(names)})'")
        self.query("SELECT pg_reload_conf()")

    def follow(self, other: Cluster) -> None:
        """Replicate from another server."""
        self.query(f"ALTER SYSTEM SET primary_conninfo = '{other.following(self.name)}'")
        self.query("SELECT pg_reload_conf()")

    def received(self) -> int:
        """Return the position in the write-ahead log up to which this server has written data to disk."""
        ((position,),) = self.query("SELECT pg_last_wal_receive_lsn() - '0/0'::pg_lsn")
        return int(position)

    def _run(self, program: str, *arguments: str) -> None:
        subprocess.run(
            [self._programs / program, *arguments],
            check=True,
            stdout=subprocess.DEVNULL,
            cwd="/",
            env=program_environment(self._programs),
            **as_server_user(),
        )
