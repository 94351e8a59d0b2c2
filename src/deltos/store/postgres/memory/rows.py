"""Queries that select observations from PostgreSQL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deltos.store.observation_rows import COLUMNS, LATER_COLUMNS, observation_from_row
from deltos.store.observations import POSITION_BITS, Observation

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Query = Callable[[str, Sequence[object]], list[tuple[Any, ...]]]

_COLUMNS = ", ".join((COLUMNS, *LATER_COLUMNS))
_JOINED_TABLES = f"""FROM observation o JOIN memory_project p ON p.key = o.project
    JOIN memory_session s ON s.key = o.place >> {POSITION_BITS}"""


def select(query: Query, where: str, values: Sequence[object]) -> list[Observation]:
    """Return the observations that satisfy a condition on observations `o`, projects `p` and sessions `s`.

    The condition must list the project keys, so that PostgreSQL reads only the partitions of these projects.
    """
    return [observation_from_row(row) for row in query(f"SELECT {_COLUMNS} {_JOINED_TABLES} WHERE {where}", values)]


def select_by_place(query: Query, places: Sequence[int], where: str = "true") -> list[Observation]:
    """Return the observations with the given row numbers, in ascending order."""
    projects = projects_of(query, places)
    return select(
        query,
        f"o.project = ANY(%s) AND o.place = ANY(%s) AND {where} ORDER BY o.place",
        (projects, list(places)),
    )


def projects_of(query: Query, places: Sequence[int]) -> list[int]:
    """Return the project keys of the observations with these row numbers."""
    rows = query("SELECT DISTINCT project FROM observation_place WHERE place = ANY(%s)", (list(places),))
    return [row[0] for row in rows]
