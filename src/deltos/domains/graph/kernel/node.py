"""What facts are made of, whatever the language."""

from __future__ import annotations

from msgspec import Struct


class Node(Struct, frozen=True, array_like=True, gc=False):
    """A part of what a file says; never part of a cycle, so that the garbage collector need not look at it."""
