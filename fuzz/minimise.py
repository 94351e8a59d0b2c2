"""Minimise an input by deleting parts of it, first halves, then shorter parts, until the time is used up."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def shrink_input(data: bytes, still_fails: Callable[[bytes], bool], *, seconds: float) -> Iterator[bytes]:
    """Yield successively smaller inputs for which `still_fails` returns true."""
    until = time.monotonic() + seconds
    size = len(data) // 2
    while size and time.monotonic() < until:
        at = 0
        before = len(data)
        while at < len(data) and time.monotonic() < until:
            shorter = data[:at] + data[at + size :]
            if still_fails(shorter):
                data = shorter
                yield data
            else:
                at += size
        # If something was deleted in this pass, another part of the same length may now be deletable.
        size = size if len(data) < before and size > 1 and len(data) > 2 * size else size // 2
