"""The type of a schema migration."""

from __future__ import annotations

from typing import NamedTuple


class PostgresMigration(NamedTuple):
    """A named, ordered step of the schema, applied once and recorded in the same transaction."""

    name: str
    sql: str
