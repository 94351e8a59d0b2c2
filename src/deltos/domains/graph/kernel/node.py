"""Base class for the records that make up facts, in all languages."""

from __future__ import annotations

from msgspec import Struct


class Node(Struct, frozen=True, array_like=True, gc=False):
    """An immutable part of a file's facts; excluded from garbage collection because it is never part of a reference
    cycle."""
