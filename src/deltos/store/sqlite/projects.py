"""Locations of the projects' SQLite files, and the list of indexed projects."""

from __future__ import annotations

import hashlib
import re
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from deltos.errors import StoreBusy, StoreUnwritable
from deltos.store.history import HISTORY_SUMMARY
from deltos.store.project import DamagedStore, KnownIndex
from deltos.store.sqlite.database import create_copy
from deltos.store.sqlite.lock import try_lock
from deltos.store.sqlite.migrations import PROJECT
from deltos.store.sqlite.project import SqliteProject, read_summary

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

    from deltos.store.migration import Migration

_SIDE_FILE_SUFFIXES = ("-wal", "-shm", "-readings", "-readings.part")


class SqliteProjects:
    """Implementation of `store.project.ProjectStores` with one file per project folder."""

    def __init__(self, home: Path, migrations: Sequence[Migration] = PROJECT) -> None:
        self._folder = home / "projects"
        self._migrations = tuple(migrations)

    keeps_contents = False

    def delete_unused_contents(self) -> int:
        return 0

    def store_of(self, root: Path) -> SqliteProject:
        return SqliteProject(self.path(root), self._migrations)

    def path(self, root: Path) -> Path:
        """Return the path of the SQLite file for the project at `root`."""
        digest = hashlib.sha256(str(root).encode("utf-8", "surrogateescape")).hexdigest()[:16]
        name = re.sub(r"[^\w.-]+", "-", root.name)[:40] or "root"
        return self._folder / f"{name}-{digest}.db"

    def indexed_projects(self, *, with_unfinished: bool = False) -> list[KnownIndex]:
        found = [_read_index(path) for path in self._folder.glob("*.db")]
        wanted = [index for index in found if index and (index.is_finished or with_unfinished)]
        return sorted(wanted, key=lambda index: (not index.is_finished, -index.synced_at))

    def roots_with_store(self, roots: Sequence[Path]) -> set[Path]:
        return {root for root in roots if self.path(root).exists()}

    def copy_store(self, source: Path, root: Path) -> bool:
        changed = {"root": str(root), "synced_at": "", "listing": ""}

        def clear_sync_metadata(connection: sqlite3.Connection) -> None:
            connection.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", changed.items())

        return create_copy(self.path(source), self.path(root), clear_sync_metadata)

    def remove(self, root: Path) -> None:
        path = self.path(root)
        with try_lock(path.with_suffix(".lock")) as is_held:
            if not is_held:
                raise StoreBusy(f"{root.name} is being indexed", hint="Try again when indexing has finished.")
            _delete_file(path)
        if root.is_dir():
            # The lock files are kept. A process that waits for a deleted lock file would not exclude later processes.
            return
        for lock in (path.with_suffix(".lock"), path.with_suffix(".history.lock"), _side_file(path, "-lock")):
            with suppress(OSError):
                lock.unlink(missing_ok=True)

    def damaged_stores(self) -> list[DamagedStore]:
        return [
            DamagedStore(str(path), path.stat().st_size)
            for path in sorted(self._folder.glob("*.corrupt-*"))
            if not path.name.endswith(_SIDE_FILE_SUFFIXES)
        ]

    def remove_damaged_store(self, location: str) -> None:
        path = self._folder / Path(location).name
        if ".corrupt-" in path.name:
            _delete_file(path)


def _delete_file(path: Path) -> None:
    try:
        for file in (path, *(_side_file(path, suffix) for suffix in _SIDE_FILE_SUFFIXES)):
            file.unlink(missing_ok=True)
    except OSError as exc:
        raise StoreUnwritable(
            f"{path.name} cannot be deleted ({exc.strerror})",
            hint="Stop the server that uses the file, then try again.",
        ) from exc


def _side_file(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def _read_index(path: Path) -> KnownIndex | None:
    summary = read_summary(path)
    if summary is None or not summary.facts.get("root"):
        return None
    facts = summary.facts
    synced_at = facts.get("synced_at", "")
    return KnownIndex(
        str(path),
        summary.size_bytes,
        Path(facts["root"]),
        facts["project_id"],
        float(synced_at or 0),
        summary.files,
        summary.failures,
        facts.get(HISTORY_SUMMARY, ""),
        is_finished=bool(synced_at),
        repository=facts.get("repository", ""),
    )
