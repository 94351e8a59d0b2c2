"""API descriptions on this machine compared with the disk before a question; what changed is read again."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from deltos.disk_pace import DiskPace
from deltos.domains.apis.library import api_of, place_of
from deltos.domains.apis.source import description_files, is_address
from deltos.errors import DeltosError, FileRefused

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from deltos.domains.apis.index import ApiIndexer
    from deltos.domains.apis.library import ApiLibrary
    from deltos.store.apis import ApiRow

_COMPARE_SECONDS = 1.0  # how long all descriptions of a question are compared with the disk
_READ_SECONDS = 10.0  # after which no further one is begun
_NAMES_SHOWN = 5
_FREE_SECONDS = 0.01

_State = Literal["same", "changed", "gone", "unfinished"]


@dataclass(slots=True)
class DescriptionWatch:
    """Compares the files of APIs with when they were read."""

    library: ApiLibrary
    indexer: ApiIndexer
    _neighbours: dict[int, tuple[float, tuple[str, ...]]] = field(default_factory=dict)  # by API, and when it was read
    _paces: dict[str, DiskPace] = field(default_factory=dict)

    def freshen(self, rows: Sequence[ApiRow]) -> tuple[str, ...]:
        """Read those again whose files changed; what an answer from these APIs may lack, for a person."""
        by_source: dict[str, list[ApiRow]] = {}
        for row in rows:
            if not is_address(row.source):
                by_source.setdefault(row.source, []).append(row)
        started = time.monotonic()
        notes: list[str] = []
        late: list[str] = []
        for source, described in by_source.items():
            names = ", ".join(row.name for row in described[:_NAMES_SHOWN])
            state = self._compared(source, described, started + _COMPARE_SECONDS)
            if state == "gone":
                notes.append(f"Note: the file of {names} is gone; it answers as it was. remove_source forgets it.")
            elif state == "unfinished" or (state == "changed" and time.monotonic() - started > _READ_SECONDS):
                late.append(names)
            elif state == "changed":
                notes += self._read_again(described, names)
        if late:
            notes.append(
                f"Note: not compared with the disk or not read again for lack of time: {', '.join(late[:_NAMES_SHOWN])}"
                f"{' …' if len(late) > _NAMES_SHOWN else ''}; recrawl_source reads what changed."
            )
        return tuple(notes)

    def _read_again(self, rows: Sequence[ApiRow], names: str) -> list[str]:
        """Read a source again; APIs of a folder whose files are gone go with these."""
        try:
            if Path(rows[0].source).is_dir():
                gone = [row for row in rows if not Path(place_of(api_of(row))).exists()]
                for row in gone:
                    self.indexer.remove(row.name)
                rows = [row for row in rows if row not in gone]
            if rows:
                self.indexer.read_quietly(rows[0].name)
        except DeltosError as problem:
            return [
                f"Note: {names} changed on disk and could not be read again ({problem.message}); it answers as it was."
            ]
        return []

    def _compared(self, source: str, rows: Sequence[ApiRow], deadline: float) -> _State:
        pace = self._paces.setdefault(source, DiskPace(_FREE_SECONDS))
        if not pace.is_due():
            return "same"
        if time.monotonic() > deadline:
            return "unfinished"
        with pace.comparing():
            try:
                return self._compare(Path(source), rows, deadline)
            except (OSError, FileRefused):
                return "gone"

    def _compare(self, path: Path, rows: Sequence[ApiRow], deadline: float) -> _State:
        read_at = max(row.indexed_at for row in rows)
        if path.is_dir():
            if any(not Path(place_of(api_of(row))).exists() for row in rows):
                return "changed"
            files: Iterator[Path] = (path / relative for relative in description_files(path))
        elif path.exists():
            files = iter((path, *(path.parent / relative for relative in self._neighbours_of(rows))))
        else:
            return "same" if "@" in path.name else "gone"  # of a repository: never was a file
        for file in files:
            if time.monotonic() > deadline:
                return "unfinished"
            if _is_newer(file, read_at):
                return "changed"
        return "same"

    def _neighbours_of(self, rows: Sequence[ApiRow]) -> list[str]:
        """The files that the descriptions of one file refer to, from the folder that it lies in."""
        found: dict[str, None] = {}
        for row in rows:
            read_at, neighbours = self._neighbours.get(row.id, (0.0, ()))
            if read_at != row.indexed_at:
                units = self.library.store.units(row.id, ("schema", "message", "fragment"))
                paths = (unit.pointer.partition("#")[0] for unit in units if "#" in unit.pointer)
                neighbours = tuple(dict.fromkeys(filter(None, paths)))
                self._neighbours[row.id] = row.indexed_at, neighbours
            found |= dict.fromkeys(neighbours)
        return list(found)


def _is_newer(file: Path, read_at: float) -> bool:
    try:
        facts = os.lstat(file)
    except OSError:  # a neighbour that went, or that is called otherwise: reading again tells
        return False
    return read_at < max(facts.st_mtime, facts.st_ctime) <= time.time()
