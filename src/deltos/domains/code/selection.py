"""The projects and files to search for one query."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from deltos.store.code import FileScope

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from deltos.isolated.process_pool import ProcessPool
    from deltos.store.project import ProjectStore


@dataclass(frozen=True, slots=True)
class SearchedProject:
    """A project whose code is searched.

    `name` identifies the project in the answer; `project_id` is a globally unique name. Both are empty if only one
    project is searched.
    """

    store: ProjectStore
    root: Path
    workers: ProcessPool | None = None
    name: str = ""
    project_id: str = ""


@dataclass(frozen=True, slots=True)
class SearchSelection:
    """The projects and files to search, and the number of hits to return.

    Exact queries return one hit per matching line, or one per chunk if not `every_line`.
    """

    projects: Sequence[SearchedProject]
    scope: FileScope = field(default_factory=FileScope)
    limit: int = 10
    every_line: bool = True
