"""Where the file of each project lies, and which projects have one."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import TYPE_CHECKING

from deltos.store.history import HISTORY_SUMMARY
from deltos.store.project import KnownIndex
from deltos.store.sqlite.migrations import PROJECT
from deltos.store.sqlite.project import SqliteProject, glance

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deltos.store.sqlite.database import Migration


class SqliteProjects:
    """Implements `store.project.ProjectStores`: one file for each real path, named so that a person recognises it."""

    def __init__(self, home: Path, migrations: Sequence[Migration] = PROJECT) -> None:
        self._folder = home / "projects"
        self._migrations = tuple(migrations)

    def store_of(self, root: Path) -> SqliteProject:
        return SqliteProject(self.path(root), self._migrations)

    def path(self, root: Path) -> Path:
        """The file of the project at `root`."""
        digest = hashlib.sha256(str(root).encode("utf-8", "surrogateescape")).hexdigest()[:16]
        name = re.sub(r"[^\w.-]+", "-", root.name)[:40] or "root"
        return self._folder / f"{name}-{digest}.db"

    def known(self) -> list[KnownIndex]:
        found = [_known(path) for path in self._folder.glob("*.db")]
        return sorted((index for index in found if index), key=lambda index: -index.synced_at)


def _known(path: Path) -> KnownIndex | None:
    seen = glance(path)
    if seen is None or "root" not in seen.facts:
        return None
    facts = seen.facts
    synced_at = float(facts["synced_at"])
    root, project_id = Path(facts["root"]), facts["project_id"]
    history = facts.get(HISTORY_SUMMARY, "")
    return KnownIndex(str(path), seen.size_bytes, root, project_id, synced_at, seen.files, seen.failures, history)
