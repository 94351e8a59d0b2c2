"""Statistics of a connection pool."""

from __future__ import annotations

from typing import NamedTuple


class PoolUse(NamedTuple):
    """Maximum, open and idle connections, and requests waiting for one."""

    most: int
    opened: int
    idle: int
    waiting: int
