"""What a step of the schema is."""

from __future__ import annotations

from typing import NamedTuple


class Migration(NamedTuple):
    """A named, ordered step of the schema. Applied once, recorded in the same transaction."""

    name: str
    sql: str
