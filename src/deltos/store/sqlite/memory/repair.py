"""Check `memory.db`, and recover readable observations from a damaged file without deleting any data."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

from deltos.errors import StoreError
from deltos.store.observation_rows import LATER_COLUMNS
from deltos.store.observations import POSITION_BITS, Observation, session_of, session_range
from deltos.store.sqlite.database import check_file, connect_read_only
from deltos.store.sqlite.memory.rows import select

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def find_problems(path: Path) -> list[str]:
    """Return the problems that SQLite's integrity check finds in a file."""
    try:
        return check_file(path)
    except StoreError as exc:
        return [exc.message]


def damaged_files(path: Path) -> list[Path]:
    """Return the damaged files that were moved aside, oldest first."""
    names = sorted(path.parent.glob(f"{path.name}.corrupt-*"))
    return [name for name in names if not name.name.endswith(("-wal", "-shm"))]


def read_damaged_file(path: Path) -> Iterator[Observation]:
    """Yield every readable observation of a damaged file, skipping unreadable pages."""
    try:
        with closing(connect_read_only(path)) as connection:
            later = _existing_later_columns(connection)
            for session in _session_keys(connection):
                yield from _read_session(connection, session, later)
    except sqlite3.DatabaseError:
        return


def _session_keys(connection: sqlite3.Connection) -> list[int]:
    """Return the keys of all sessions from the first table that can be read."""
    for sql in (
        "SELECT key FROM session ORDER BY key",
        f"SELECT DISTINCT place >> {POSITION_BITS} FROM observation ORDER BY 1",
    ):
        try:
            return [row[0] for row in connection.execute(sql)]
        except sqlite3.DatabaseError:
            continue
    return []


def _existing_later_columns(connection: sqlite3.Connection) -> tuple[str, ...]:
    """Return the columns of `LATER_COLUMNS` that exist in the file. Every schema version keeps all earlier columns."""
    tables = {"p": "project", "o": "observation"}
    names = {
        f"{short}.{row[1]}"
        for short, table in tables.items()
        for row in connection.execute(f"PRAGMA table_info({table})")
    }
    return tuple(column for column in LATER_COLUMNS if column in names)


def _read_session(connection: sqlite3.Connection, session: int, later: tuple[str, ...]) -> Iterator[Observation]:
    place, last = session_range(session)
    while session_of(place) == session:
        try:
            where = "o.place BETWEEN ? AND ? ORDER BY o.place LIMIT 1"
            rows = select(connection, where, (place, last), later=later)
        except sqlite3.DatabaseError:
            return  # the remaining observations of this session are on the damaged page
        if not rows:
            return
        yield rows[0]
        place = rows[0].place + 1
