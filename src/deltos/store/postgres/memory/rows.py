"""Queries that select observations from PostgreSQL."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from deltos.store.observations import POSITION_BITS, Clean, Observation

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Query = Callable[[str, Sequence[object]], list[tuple[Any, ...]]]

_COLUMNS = """o.place, o.id, o.text, o.kind, o.source, p.project_id, s.session_id, o.files, o.symbols,
    o.created_at, coalesce(o.updated_at, o.created_at), o.deleted_at, o.embedding, o.embedding_model,
    p.folder, o.pinned_at, o.superseded_by, o.score, o.restored_at, o.unpinned_at, o.superseded_at"""
_JOINED_TABLES = f"""FROM observation o JOIN memory_project p ON p.key = o.project
    JOIN memory_session s ON s.key = o.place >> {POSITION_BITS}"""


def select(query: Query, where: str, values: Sequence[object]) -> list[Observation]:
    """Return the observations that satisfy a condition on the tables `o`, `p` and `s`.

    The condition must list the project keys, so that PostgreSQL reads only their partitions.
    """
    return [_observation_from_row(row) for row in query(f"SELECT {_COLUMNS} {_JOINED_TABLES} WHERE {where}", values)]


def select_by_place(query: Query, places: Sequence[int], where: str = "true") -> list[Observation]:
    """Return the observations with the given row numbers, in ascending order. The directory contains their projects."""
    projects = projects_of(query, places)
    return select(
        query,
        f"o.project = ANY(%s) AND o.place = ANY(%s) AND {where} ORDER BY o.place",
        (projects, list(places)),
    )


def select_by_id(query: Query, observation_id: str, where: str = "true") -> list[Observation]:
    """Return all observations with this id, from all projects."""
    places = [row[0] for row in query("SELECT place FROM observation_place WHERE id = %s", (observation_id,))]
    return select_by_place(query, places, where)


def select_session(query: Query, first: int, last: int, limit: int) -> list[Observation]:
    """Return the last live observations within a range of row numbers, newest first."""
    projects = query("SELECT DISTINCT project FROM observation_place WHERE place BETWEEN %s AND %s", (first, last))
    where = """o.project = ANY(%s) AND o.place BETWEEN %s AND %s AND o.deleted_at IS NULL
        ORDER BY o.place DESC LIMIT %s"""
    return select(query, where, ([row[0] for row in projects], first, last, limit))


def projects_of(query: Query, places: Sequence[int]) -> list[int]:
    """Return the project keys of the observations with these row numbers."""
    rows = query("SELECT DISTINCT project FROM observation_place WHERE place = ANY(%s)", (list(places),))
    return [row[0] for row in rows]


def decode_texts(joined: str) -> tuple[Clean, ...]:
    """Decode the JSON list of texts in a column."""
    return tuple(json.loads(joined)) if joined else ()


def _observation_from_row(row: Sequence[Any]) -> Observation:
    cells = [*row[:7], decode_texts(row[7]), decode_texts(row[8]), *row[9:]]
    return Observation(*cells)
