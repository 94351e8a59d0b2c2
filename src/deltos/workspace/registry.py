"""Where each project's index lives, and which projects have one."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from deltos.confinement import may_read
from deltos.errors import NotFound
from deltos.store.sqlite.project import glance

if TYPE_CHECKING:
    from deltos.store.project import FailedFile


@dataclass(frozen=True, slots=True)
class KnownIndex:
    """An index on disk and the project it belongs to."""

    database: Path
    root: Path
    project_id: str
    synced_at: float
    files: int
    failures: list[FailedFile]


def index_path(home: Path, root: Path) -> Path:
    """The index file of the project at `root`: one per real path, named so that a person recognises it."""
    digest = hashlib.sha256(str(root).encode("utf-8", "surrogateescape")).hexdigest()[:16]
    name = re.sub(r"[^\w.-]+", "-", root.name)[:40] or "root"
    return home / "projects" / f"{name}-{digest}.db"


def known_indexes(home: Path) -> list[KnownIndex]:
    """Every index below `home`, most recently synchronised first; unreadable ones are left out."""
    found = [_known(path) for path in (home / "projects").glob("*.db")]
    return sorted((index for index in found if index), key=lambda index: -index.synced_at)


def root_of_project(home: Path, project_id: str) -> Path:
    """The folder that a project id means: of its worktrees and clones, the one indexed last."""
    known = [index for index in known_indexes(home) if may_read(index.root)]
    for index in known:
        if index.project_id == project_id and index.root.is_dir():
            return index.root
    ids = sorted({index.project_id for index in known})
    raise NotFound(
        f"No indexed project has the id '{project_id[:200]}'",
        hint=f"Known: {', '.join(ids[:10])}." if ids else "Call index_repository first.",
    )


def _known(path: Path) -> KnownIndex | None:
    seen = glance(path)
    if seen is None or "root" not in seen.facts:
        return None
    facts = seen.facts
    return KnownIndex(
        path, Path(facts["root"]), facts["project_id"], float(facts["synced_at"]), seen.files, seen.failures
    )
