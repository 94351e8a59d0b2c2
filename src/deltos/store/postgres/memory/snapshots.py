"""Daily copies (snapshots) of all observations within the database, as protection against accidental deletion.

The copies do not protect against the loss of the database. Use `pg_dump` or base backups with archived WAL for that.
"""

from __future__ import annotations

import json
import time
import zlib
from base64 import b64decode, b64encode
from typing import TYPE_CHECKING, Any

from deltos.confinement import whole_store
from deltos.store.observations import MemoryCopy, Observation
from deltos.store.postgres.memory.rows import select_by_place

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from deltos.store.postgres.database import Connection, PostgresDatabase

_NAME_PREFIX = "memory.daily-"
_PART_ROWS = 500


class Snapshots:
    """Daily copies in one database. The first call of a day copies all observations."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    @whole_store()
    def all(self) -> list[MemoryCopy]:
        """Return the copies, newest first."""
        rows = self._database.query(
            """SELECT day, made_at, (SELECT coalesce(sum(length(data)), 0)::bigint FROM memory_snapshot_part p
               WHERE p.day = s.day) FROM memory_snapshot s ORDER BY day DESC"""
        )
        return [MemoryCopy(f"{_NAME_PREFIX}{day}", size, made_at, self._read_copy(day)) for day, made_at, size in rows]

    @whole_store()
    def keep(self, day: str, *, kept: int) -> bool:
        """Copy all observations unless the copy of `day` exists or memory is empty. Keep the `kept` newest copies."""
        with self._database.try_lock("memory-snapshot") as is_ours:
            if not is_ours or self._database.query("SELECT 1 FROM memory_snapshot WHERE day = %s", (day,)):
                return False
            if not self._database.query("SELECT 1 FROM observation_place LIMIT 1"):
                return False  # an empty memory must not replace copies with content
            with self._database.write() as connection:
                connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
                self._copy_observations(connection, day)
                connection.execute(
                    "DELETE FROM memory_snapshot WHERE day NOT IN"
                    " (SELECT day FROM memory_snapshot ORDER BY day DESC LIMIT %s)",
                    (kept,),
                )
            return True

    @whole_store()
    def drop(self) -> None:
        """Delete all copies."""
        with self._database.write() as connection:
            connection.execute("DELETE FROM memory_snapshot")

    def _copy_observations(self, connection: Connection, day: str) -> None:
        connection.execute("INSERT INTO memory_snapshot VALUES (%s, %s)", (day, time.time()))

        def query(sql: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
            return connection.execute(sql, values).fetchall()

        place, part = -1, 0
        page = f"SELECT place FROM observation_place WHERE place > %s ORDER BY place LIMIT {_PART_ROWS}"
        while places := [row[0] for row in query(page, (place,))]:
            data = zlib.compress("\n".join(map(_to_json, select_by_place(query, places))).encode())
            connection.execute("INSERT INTO memory_snapshot_part VALUES (%s, %s, %s)", (day, part, data))
            place, part = places[-1], part + 1

    def _read_copy(self, day: str) -> Iterator[Observation]:
        parts = self._database.query("SELECT part FROM memory_snapshot_part WHERE day = %s ORDER BY part", (day,))
        for (part,) in parts:
            sql = "SELECT data FROM memory_snapshot_part WHERE day = %s AND part = %s"
            for (data,) in self._database.query(sql, (day, part)):
                yield from map(_from_json, zlib.decompress(data).decode().split("\n"))


def _to_json(row: Observation) -> str:
    embedding = None if row.embedding is None else b64encode(row.embedding).decode()
    return json.dumps(row._replace(embedding=embedding), separators=(",", ":"))  # type: ignore[arg-type]


def _from_json(line: str) -> Observation:
    row = Observation(*json.loads(line))
    embedding = None if row.embedding is None else b64decode(row.embedding)
    return row._replace(embedding=embedding, files=tuple(row.files), symbols=tuple(row.symbols))
