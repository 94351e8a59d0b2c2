"""Which indexes a word on the command line means."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.workspace.names import names_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from deltos.store.project import KnownIndex


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
