"""Base class for the records that make up facts, in all languages."""

from __future__ import annotations

from msgspec import Struct


class Node(Struct, frozen=True, array_like=True, gc=False):
    """An immutable record in a file's facts.

    It is exempt from garbage collection, because it never refers to itself, directly or indirectly.
    """
