"""Re-read local API descriptions before a search if they have changed on disk."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from deltos.disk_throttle import DiskThrottle
from deltos.domains.apis.library import api_of, location_of
from deltos.domains.apis.source import description_files, is_http_url
from deltos.errors import DeltosError, FileRefused

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from deltos.domains.apis.index import ApiIndexer
    from deltos.domains.apis.library import ApiLibrary
    from deltos.store.apis import ApiRow

_COMPARE_TIMEOUT_SECONDS = 1.0  # time limit of each search for comparing files
_READ_TIMEOUT_SECONDS = 10.0  # time limit of each search for re-reading changed descriptions
_MAX_NAMES_SHOWN = 5
_MAX_UNTHROTTLED_SECONDS = 0.01  # comparisons that take longer are repeated less often

_State = Literal["same", "changed", "gone", "unfinished"]


@dataclass(slots=True)
class DescriptionWatch:
    """Compares the modification times of description files with the times at which they were indexed."""

    library: ApiLibrary
    indexer: ApiIndexer
    _referenced_documents: dict[int, tuple[float, tuple[str, ...]]] = field(
        default_factory=dict
    )  # time of indexing and referenced files, by API id
    _throttles: dict[str, DiskThrottle] = field(default_factory=dict)

    def freshen(self, rows: Sequence[ApiRow]) -> tuple[str, ...]:
        """Re-read the APIs whose files have changed; return notes about search results that may be stale."""
        by_source: dict[str, list[ApiRow]] = {}
        for row in rows:
            if not is_http_url(row.source):
                by_source.setdefault(row.source, []).append(row)
        started = time.monotonic()
        notes: list[str] = []
        unchecked: list[str] = []
        for source, described in by_source.items():
            names = ", ".join(row.name for row in described[:_MAX_NAMES_SHOWN])
            state = self._throttled_compare(source, described, started + _COMPARE_TIMEOUT_SECONDS)
            if state == "gone":
                notes.append(
                    f"Note: the file of {names} no longer exists; results are from the last version."
                    " Use remove_source to remove it."
                )
            elif state == "unfinished" or (state == "changed" and time.monotonic() - started > _READ_TIMEOUT_SECONDS):
                unchecked.append(names)
            elif state == "changed":
                notes += self._read_again(described, names)
        if unchecked:
            notes.append(
                f"Note: not checked for changes within the time limit: {', '.join(unchecked[:_MAX_NAMES_SHOWN])}"
                f"{' …' if len(unchecked) > _MAX_NAMES_SHOWN else ''}. recrawl_source updates them."
            )
        return tuple(notes)

    def _read_again(self, rows: Sequence[ApiRow], names: str) -> list[str]:
        """Re-read a source, and remove APIs whose files no longer exist; return notes about failures."""
        try:
            if Path(rows[0].source).is_dir():
                gone = [row for row in rows if not Path(location_of(api_of(row))).exists()]
                for row in gone:
                    self.indexer.remove(row.name)
                rows = [row for row in rows if row not in gone]
            if rows:
                self.indexer.refresh(rows[0].name)
        except DeltosError as problem:
            return [
                f"Note: {names} changed on disk but could not be re-read ({problem.message}); showing the old version."
            ]
        return []

    def _throttled_compare(self, source: str, rows: Sequence[ApiRow], deadline: float) -> _State:
        """Compare the files of a source with the index, unless this was done recently or the deadline has passed."""
        throttle = self._throttles.setdefault(source, DiskThrottle(_MAX_UNTHROTTLED_SECONDS))
        if not throttle.is_due():
            return "same"
        if time.monotonic() > deadline:
            return "unfinished"
        with throttle.measure():
            try:
                return self._compare_files(Path(source), rows, deadline)
            except (OSError, FileRefused):
                return "gone"

    def _compare_files(self, path: Path, rows: Sequence[ApiRow], deadline: float) -> _State:
        """Compare the modification times of files with the time of indexing."""
        read_at = max(row.indexed_at for row in rows)
        if path.is_dir():
            if any(not Path(location_of(api_of(row))).exists() for row in rows):
                return "changed"
            files: Iterator[Path] = (path / relative for relative in description_files(path))
        elif path.exists():
            files = iter((path, *(path.parent / relative for relative in self._referenced_files(rows))))
        else:
            return "same" if "@" in path.name else "gone"  # a location with `@` refers to a git commit
        for file in files:
            if time.monotonic() > deadline:
                return "unfinished"
            if _is_newer(file, read_at):
                return "changed"
        return "same"

    def _referenced_files(self, rows: Sequence[ApiRow]) -> list[str]:
        """Return the relative paths of the files to which the descriptions refer."""
        found: dict[str, None] = {}
        for row in rows:
            read_at, referenced = self._referenced_documents.get(row.id, (0.0, ()))
            if read_at != row.indexed_at:
                units = self.library.store.units(row.id, ("schema", "message", "fragment"))
                paths = (unit.pointer.partition("#")[0] for unit in units if "#" in unit.pointer)
                referenced = tuple(dict.fromkeys(filter(None, paths)))
                self._referenced_documents[row.id] = row.indexed_at, referenced
            found |= dict.fromkeys(referenced)
        return list(found)


def _is_newer(file: Path, read_at: float) -> bool:
    """Whether a file was modified after `read_at`."""
    try:
        status = os.lstat(file)
    except OSError:  # for example, a referenced file was removed
        return False
    return read_at < max(status.st_mtime, status.st_ctime) <= time.time()
