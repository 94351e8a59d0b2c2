"""Queries that select observations from `memory.db`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from deltos.store.observations import POSITION_BITS, Clean, Observation, session_range

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence


_COLUMNS = """o.place, o.id, o.text, o.kind, o.source, p.project_id, s.session_id, o.files, o.symbols,
    o.created_at, coalesce(o.updated_at, o.created_at), o.deleted_at, o.embedding, o.embedding_model"""
# Columns of later schema versions; a damaged file may have an earlier version.
LATER_COLUMNS = (
    "p.folder",
    "o.pinned_at",
    "o.superseded_by",
    "o.score",
    "o.restored_at",
    "o.unpinned_at",
    "o.superseded_at",
)
_JOINED_TABLES = f"""FROM observation o JOIN project p ON p.key = o.project
    JOIN session s ON s.key = o.place >> {POSITION_BITS}"""


def select(
    connection: sqlite3.Connection, where: str, values: Sequence[object], *, later: Sequence[str] = LATER_COLUMNS
) -> list[Observation]:
    """Return the observations that satisfy a condition on the tables `o`, `p` and `s`.

    `later` contains the columns of `LATER_COLUMNS` that exist in the file.
    """
    columns = ", ".join((_COLUMNS, *later))
    rows = connection.execute(f"SELECT {columns} {_JOINED_TABLES} WHERE {where}", tuple(values))
    return [_observation_from_row(row) for row in rows]


def select_session(connection: sqlite3.Connection, session: int, limit: int) -> list[Observation]:
    """Return the last live observations of one session, newest first."""
    where = "o.place BETWEEN ? AND ? AND o.deleted_at IS NULL ORDER BY o.place DESC LIMIT ?"
    return select(connection, where, (*session_range(session), limit))


def newest_positions(
    connection: sqlite3.Connection, project_keys: Sequence[int], where: str, values: Sequence[object], limit: int
) -> list[tuple[int, int]]:
    """Return the creation times and row numbers of the newest live observations of some projects, newest first."""
    # Each project is queried separately, so that an index provides the order and no rows are sorted.
    sql = f"""SELECT created_at, place FROM observation WHERE project = ? AND {where} AND deleted_at IS NULL
              ORDER BY created_at DESC, place DESC LIMIT ?"""
    found = [row for key in project_keys for row in connection.execute(sql, (key, *values, limit))]
    return sorted(found, reverse=True)[:limit]


def decode_texts(joined: str) -> tuple[Clean, ...]:
    """Decode the JSON list of texts in a column."""
    return tuple(json.loads(joined)) if joined else ()


def placeholders(values: Sequence[object]) -> str:
    """Return one SQL placeholder per value, separated by commas."""
    return ",".join("?" * len(values))


def _observation_from_row(row: Sequence[Any]) -> Observation:
    cells = [*row[:7], decode_texts(row[7]), decode_texts(row[8]), *row[9:]]
    return Observation(*cells)
