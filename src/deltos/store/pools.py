"""Statistics of a connection pool."""

from __future__ import annotations

from typing import NamedTuple


class PoolStatistics(NamedTuple):
    """Maximum, open and idle connections of a pool, and requests waiting for a connection."""

    max_connections: int
    open_connections: int
    idle_connections: int
    waiting_requests: int
