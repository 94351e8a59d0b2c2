"""What people call projects: the name of the folder, with so much of the path before it as tells two apart."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


def names_of(roots: Iterable[Path]) -> dict[Path, str]:
    """The shortest ends of paths that differ, at least a folder's name each."""
    names: dict[Path, str] = {}
    open_roots, length = list(dict.fromkeys(roots)), 1
    while open_roots:
        ends = {root: "/".join(root.parts[-length:]) for root in open_roots}
        taken = Counter(ends.values())
        done = {root: end for root, end in ends.items() if taken[end] == 1 or length >= len(root.parts)}
        names |= done
        open_roots = [root for root in open_roots if root not in done]
        length += 1
    return names
