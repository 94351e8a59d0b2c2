"""Queries that select observations from `memory.db`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.store.observation_rows import COLUMNS, LATER_COLUMNS, observation_from_row
from deltos.store.observations import POSITION_BITS, Observation

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence


_JOINED_TABLES = f"""FROM observation o JOIN project p ON p.key = o.project
    JOIN session s ON s.key = o.place >> {POSITION_BITS}"""


def select(
    connection: sqlite3.Connection, where: str, values: Sequence[object], *, later: Sequence[str] = LATER_COLUMNS
) -> list[Observation]:
    """Return the observations that satisfy a condition on the tables `o`, `p` and `s`.

    `later` contains the columns of `LATER_COLUMNS` that exist in the file.
    """
    columns = ", ".join((COLUMNS, *later))
    rows = connection.execute(f"SELECT {columns} {_JOINED_TABLES} WHERE {where}", tuple(values))
    return [observation_from_row(row) for row in rows]


def newest_positions(
    connection: sqlite3.Connection, project_keys: Sequence[int], where: str, values: Sequence[object], limit: int
) -> list[tuple[int, int]]:
    """Return (creation time, row number) of the newest undeleted observations of the projects, newest first."""
    # Each project is queried separately, so that an index provides the order and no rows are sorted.
    sql = f"""SELECT created_at, place FROM observation WHERE project = ? AND {where} AND deleted_at IS NULL
              ORDER BY created_at DESC, place DESC LIMIT ?"""
    found = [row for key in project_keys for row in connection.execute(sql, (key, *values, limit))]
    return sorted(found, reverse=True)[:limit]


def placeholders(values: Sequence[object]) -> str:
    """Return one SQL placeholder per value, separated by commas."""
    return ",".join("?" * len(values))
