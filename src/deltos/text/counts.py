"""Formatting of counts (`1 file`, `2 files`) and of long lists of names."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun, such as `2 files`. By default, the plural ends in s."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def first_names(names: Sequence[str], limit: int, noun: str = "") -> str:
    """Join the first names with commas and append the number of remaining names, if any: `a, b and 3 more`."""
    rest = len(names) - limit
    return ", ".join(names[:limit]) + (f" and {rest:,} more{f' {noun}' if noun else ''}" if rest > 0 else "")
