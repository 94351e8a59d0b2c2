"""Statistics of a connection pool."""

from __future__ import annotations

from typing import NamedTuple


class PoolUse(NamedTuple):
    """Numbers of maximum, open and idle connections, and of requests waiting for a connection."""

    most: int
    opened: int
    idle: int
    waiting: int
