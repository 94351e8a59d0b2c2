"""What is told of connections to a database."""

from __future__ import annotations

from typing import NamedTuple


class PoolUse(NamedTuple):
    """How the connections of one purpose are used."""

    purpose: str
    most: int
    opened: int
    idle: int
    waiting: int
