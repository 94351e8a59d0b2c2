"""Data types shared by several domains. They are named tuples, because hooks import them and must start fast."""

# Annotations are not strings here, because each field of a named tuple would then be compiled at every hook start.
from pathlib import Path
from typing import NamedTuple

# Below this confidence, the best API result is rarely right (benchmarks/api_confidence.py).
MIN_API_CONFIDENCE = 0.3
LAST_MOMENT = 1 << 62  # in microseconds; later than any stored time


class Project(NamedTuple):
    """A folder of source code that is indexed as one project.

    `root` is the real path and identifies the index on disk. `project_id` identifies the git repository and is the
    same for all its worktrees and clones.
    """

    root: Path
    project_id: str


class Filters(NamedTuple):
    """Filters of a search over observations and commits; times are in microseconds."""

    kinds: tuple[str, ...] = ()
    since: int = 0
    until: int = LAST_MOMENT
    tag: str = ""


NO_FILTERS = Filters()
