"""Short project names: the folder name, with parent folders if the folder name is not unique."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


def shortest_names(roots: Iterable[Path]) -> dict[Path, str]:
    """Return the shortest unique path suffix of each folder."""
    names: dict[Path, str] = {}
    remaining_roots, length = list(dict.fromkeys(roots)), 1
    while remaining_roots:
        suffixes = {root: "/".join(root.parts[-length:]) for root in remaining_roots}
        counts = Counter(suffixes.values())
        named = {root: end for root, end in suffixes.items() if counts[end] == 1 or length >= len(root.parts)}
        names |= named
        remaining_roots = [root for root in remaining_roots if root not in named]
        length += 1
    return names
