"""Data types shared by several domains. They are named tuples, because hooks import them and must start fast."""

# No `from __future__ import annotations`, because the fields of named tuples would be compiled at every hook start.
from pathlib import Path
from typing import NamedTuple, NewType

# Minimum confidence of the best API result. Below it, the result is rarely right (benchmarks/api_confidence.py).
MIN_API_CONFIDENCE = 0.3
# A text without secrets. Only redaction/redact.py creates values of this type, and memory stores no other texts.
Clean = NewType("Clean", str)
LAST_MOMENT = 1 << 62  # time in microseconds since 1970 that is later than any stored time


class Project(NamedTuple):
    """A folder of source code that has one index.

    `root` is the resolved path, which identifies the index on disk. `project_id` identifies the git repository and is
    equal for its worktrees and clones.
    """

    root: Path
    project_id: str


class Filters(NamedTuple):
    """Filters of a search over observations and commits. Times are in microseconds since 1970."""

    kinds: tuple[str, ...] = ()
    since: int = 0
    until: int = LAST_MOMENT
    tag: str = ""


NO_FILTERS = Filters()
