"""Checks `memory.db` and saves what can still be read of a damaged one. Nothing is ever deleted."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

from deltos.errors import StoreError
from deltos.store.observations import POSITION_BITS, Observation, session_of, session_range
from deltos.store.sqlite.database import check_file, connect_read_only
from deltos.store.sqlite.memory.rows import LATER_COLUMNS, select

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def problems_of(path: Path) -> list[str]:
    """What SQLite finds wrong with the file itself; nothing is good."""
    try:
        return check_file(path)
    except StoreError as exc:
        return [exc.message]


def set_aside_files(path: Path) -> list[Path]:
    """The damaged files that were moved out of the way, oldest first."""
    names = sorted(path.parent.glob(f"{path.name}.corrupt-*"))
    return [name for name in names if not name.name.endswith(("-wal", "-shm"))]


def readable(path: Path) -> Iterator[Observation]:
    """Every observation that can still be read from a damaged file; unreadable stretches are stepped over."""
    try:
        with closing(connect_read_only(path)) as connection:
            later = _later_columns(connection)
            for session in _session_keys(connection):
                yield from _readable_session(connection, session, later)
    except sqlite3.DatabaseError:
        return


def _session_keys(connection: sqlite3.Connection) -> list[int]:
    """The keys of all sessions, from whichever table can still tell."""
    for sql in (
        "SELECT key FROM session ORDER BY key",
        f"SELECT DISTINCT place >> {POSITION_BITS} FROM observation ORDER BY 1",
    ):
        try:
            return [row[0] for row in connection.execute(sql)]
        except sqlite3.DatabaseError:
            continue
    return []


def _later_columns(connection: sqlite3.Connection) -> tuple[str, ...]:
    """Those of the later columns that the file has: each version has all of the version before."""
    tables = {"p": "project", "o": "observation"}
    names = {
        f"{short}.{row[1]}"
        for short, table in tables.items()
        for row in connection.execute(f"PRAGMA table_info({table})")
    }
    return tuple(column for column in LATER_COLUMNS if column in names)


def _readable_session(connection: sqlite3.Connection, session: int, later: tuple[str, ...]) -> Iterator[Observation]:
    place, last = session_range(session)
    while session_of(place) == session:
        try:
            where = "o.place BETWEEN ? AND ? ORDER BY o.place LIMIT 1"
            rows = select(connection, where, (place, last), later=later)
        except sqlite3.DatabaseError:
            return  # the rest of this session lies on the damaged page
        if not rows:
            return
        yield rows[0]
        place = rows[0].place + 1
