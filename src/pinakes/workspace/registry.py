"""Where each project's index lives, and which projects have one."""

from __future__ import annotations

import hashlib
import re
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from pinakes.errors import NotFound


@dataclass(frozen=True, slots=True)
class KnownIndex:
    """An index on disk and the project it belongs to."""

    database: Path
    root: Path
    project_id: str
    synced_at: float


def index_path(home: Path, root: Path) -> Path:
    """The index file of the project at `root`: one per real path, named so that a person recognises it."""
    digest = hashlib.sha256(str(root).encode("utf-8", "surrogateescape")).hexdigest()[:16]
    name = re.sub(r"[^\w.-]+", "-", root.name)[:40] or "root"
    return home / "projects" / f"{name}-{digest}.db"


def known_indexes(home: Path) -> list[KnownIndex]:
    """Every index below `home`, most recently synchronised first; unreadable ones are left out."""
    found = [_read(path) for path in (home / "projects").glob("*.db")]
    return sorted((index for index in found if index), key=lambda index: -index.synced_at)


def root_of_project(home: Path, project_id: str, preferred: Path) -> Path:
    """The folder that a project id means: the preferred one if it has that id, else the one indexed last."""
    matching = [index.root for index in known_indexes(home) if index.project_id == project_id]
    if preferred in matching:
        return preferred
    existing = [root for root in matching if root.is_dir()]
    if not existing:
        known = sorted({index.project_id for index in known_indexes(home)})
        raise NotFound(
            f"No indexed project has the id '{project_id}'",
            hint=f"Known: {', '.join(known[:10])}." if known else "Call index_repository first.",
        )
    return existing[0]


def _read(path: Path) -> KnownIndex | None:
    try:
        with closing(sqlite3.connect(f"file:{path.as_posix()}?mode=ro", uri=True, timeout=2)) as connection:
            meta = dict(connection.execute("SELECT key, value FROM meta").fetchall())
    except sqlite3.Error:
        return None
    if "root" not in meta:
        return None
    return KnownIndex(path, Path(meta["root"]), meta.get("project_id", ""), float(meta.get("synced_at", 0)))
