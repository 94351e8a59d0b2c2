"""The nouns that every domain speaks. Named tuples, as elsewhere on the way of hooks, which must start fast."""

# Annotations are evaluated here: as texts, each field of a named tuple would be compiled whenever a hook starts.
from pathlib import Path
from typing import NamedTuple

# Beside a result that shares no word with the question.
NEAR_MARK = "(near in meaning)"
# Beside a file that commits like the question touched, and that has hardly a word of it.
COMMITS_MARK = "(by its commits)"
# Where vectors are still being made.
BEHIND_NOTE = "Not all {} are compared by meaning yet: ask again."
# Where the best part of an API has less, it rarely answers (benchmarks/api_confidence.py).
WEAK_API_CONFIDENCE = 0.3
# Above the results of documentation and APIs where perhaps none answers.
WEAK_NOTE = "Note: a weak match: confidence {:.2f} of 1, perhaps nothing here answers. Try other words or a name."
LAST_MOMENT = 1 << 62  # later than any time that is kept


class Project(NamedTuple):
    """A folder of source that is indexed as one.

    `root` is the real path and keys the index on disk; `project_id` is the repository's git identity, the same for all
    its worktrees and clones.
    """

    root: Path
    project_id: str


class Filters(NamedTuple):
    """What narrows a search over observations and commits: kinds, from when up to when (microseconds), a tag."""

    kinds: tuple[str, ...] = ()
    since: int = 0
    until: int = LAST_MOMENT
    tag: str = ""


NO_FILTERS = Filters()
