"""What people call projects: the name of the folder, with so much of the path before it as tells two apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from deltos.store.project import KnownIndex


def names_of(roots: Iterable[Path]) -> dict[Path, str]:
    """The shortest ends of paths that differ, at least a folder's name each."""
    names: dict[Path, str] = {}
    open_roots, length = list(dict.fromkeys(roots)), 1
    while open_roots:
        ends = {root: "/".join(root.parts[-length:]) for root in open_roots}
        taken = list(ends.values())
        done = {root: end for root, end in ends.items() if taken.count(end) == 1 or length >= len(root.parts)}
        names |= done
        open_roots = [root for root in open_roots if root not in done]
        length += 1
    return names


def indexes_meant(word: str, indexes: Sequence[KnownIndex], here: Path) -> list[KnownIndex]:
    """The indexes that a word means: a name as `deltos status` shows it, an id, or a folder."""
    names = names_of(index.root for index in indexes)
    try:
        folder = (here / word).resolve()
    except (OSError, RuntimeError, ValueError):  # a name that is too long, a loop of links, a zero byte
        folder = None
    meanings = (
        lambda index: names[index.root] == word,
        lambda index: index.root == folder,
        lambda index: index.root.name == word,
        lambda index: index.project_id == word,
    )
    return next((found for means in meanings if (found := [index for index in indexes if means(index)])), [])
