"""Statistics of connection pools."""

from __future__ import annotations

from typing import NamedTuple


class PoolUse(NamedTuple):
    """Connections of one pool: maximum, open and idle connections, and requests waiting for one."""

    purpose: str
    most: int
    opened: int
    idle: int
    waiting: int
