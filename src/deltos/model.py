"""The nouns that every domain speaks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Project:
    """A folder of source that is indexed as one.

    `root` is the real path and keys the index on disk; `project_id` is the repository's git identity, the same for all
    its worktrees and clones.
    """

    root: Path
    project_id: str
