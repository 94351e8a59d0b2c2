"""The journal: redacted hook events that are not yet converted to observations, one file per event.

A record is either complete or absent, because it is written to a temporary file, flushed and renamed. A record is
removed only after the observation from it is on disk.
"""

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from deltos.domains.memory.capture.events import Event, event_from_json, event_to_json
from deltos.domains.memory.core.model import ObservationOrigin
from deltos.errors import StoreUnwritable
from deltos.store.private_files import FILE_MODE, make_private_folder

if TYPE_CHECKING:
    from collections.abc import Iterator

FOLDER = "journal"
_RECORD_SUFFIX = ".json"
_UNREADABLE_SUFFIX = ".unreadable"
_NOT_WRITABLE_HINT = "Make the data folder writable, or set DELTOS_HOME."
_RANDOM_BYTES = 6
_MAX_RECORD_BYTES = 4_000_000


class JournalRecord(NamedTuple):
    """A redacted hook event with its origin (project, session, agent) and its time in microseconds."""

    event: Event
    origin: ObservationOrigin
    at: int


class Journal:
    """The journal folder; any number of processes may append and convert records at the same time."""

    def __init__(self, home: Path) -> None:
        self._folder = home / FOLDER

    def append(self, record: JournalRecord) -> None:
        """Write a record to the journal durably."""
        try:
            make_private_folder(self._folder)
        except OSError as exc:
            raise StoreUnwritable(f"Cannot create the data folder ({exc.strerror})", hint=_NOT_WRITABLE_HINT) from exc
        name = f"{record.at:020d}-{os.urandom(_RANDOM_BYTES).hex()}"
        part = self._folder / f".{name}.part"
        try:
            descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE_MODE)
            with os.fdopen(descriptor, "wb") as file:
                file.write(_encoded(record))
                file.flush()
                os.fsync(file.fileno())
            part.replace(self._folder / f"{name}{_RECORD_SUFFIX}")
        except OSError as exc:
            with suppress(OSError):
                part.unlink(missing_ok=True)
            raise StoreUnwritable(f"Cannot record an event ({exc.strerror})", hint=_NOT_WRITABLE_HINT) from exc
        self._flush_folder()

    def names(self) -> list[str]:
        """Return the file names of all records, oldest first."""
        try:
            return sorted(path.name for path in self._folder.iterdir() if path.suffix == _RECORD_SUFFIX)
        except OSError:  # no event has been recorded yet
            return []

    def read(self, name: str) -> JournalRecord | None:
        """Return a record, or None if the record is missing or damaged; rename a damaged record."""
        path = self._folder / name
        try:
            with path.open("rb") as file:
                return _decoded(file.read(_MAX_RECORD_BYTES))
        except OSError:
            return None
        except (ValueError, KeyError, TypeError, RecursionError):
            path.replace(path.with_suffix(_UNREADABLE_SUFFIX))
            return None

    def remove(self, names: "list[str]") -> None:
        """Delete the records with the given names, after their observations were stored."""
        for name in names:
            (self._folder / name).unlink(missing_ok=True)

    def _flush_folder(self) -> None:
        """Flush the folder, so that a rename is durable; not necessary on Windows."""
        if os.name == "nt":
            return
        descriptor = os.open(self._folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def batches(names: "list[str]", size: int) -> "Iterator[list[str]]":
    """Yield the names in batches of at most `size`."""
    for start in range(0, len(names), size):
        yield names[start : start + size]


def _encoded(record: JournalRecord) -> bytes:
    origin = record.origin
    fields = {
        "at": record.at,
        "project_id": origin.project_id,
        "root": None if origin.root is None else str(origin.root),
        "session_id": origin.session_id,
        "agent": origin.agent,
        "folder": origin.folder,
        "event": event_to_json(record.event),
    }
    return json.dumps(fields, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _decoded(data: bytes) -> JournalRecord:
    fields = json.loads(data.decode("utf-8", "surrogatepass"))
    root = None if fields["root"] is None else Path(fields["root"])
    origin = ObservationOrigin(fields["project_id"], root, fields["session_id"], fields["agent"], fields["folder"])
    return JournalRecord(event_from_json(fields["event"]), origin, int(fields["at"]))
