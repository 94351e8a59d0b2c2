"""What is kept of a project: its files, what was skipped and why, and facts about the index itself."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SeenStamp:
    """A file's size and time when it was last read; `seen_at_ns` is the clock's time just before that."""

    size: int
    mtime_ns: int
    seen_at_ns: int


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file as it was when it was indexed."""

    id: int
    path: str
    hash: bytes
    stamp: SeenStamp


@dataclass(frozen=True, slots=True)
class FileRecord:
    """What is written about a file when it is indexed."""

    path: str
    language: str
    lines: int
    hash: bytes
    stamp: SeenStamp


@dataclass(frozen=True, slots=True)
class SkippedFile:
    """A file that is not indexed, and why. One that could not be read has a `hash`; `failure` says what happened."""

    path: str
    reason: str
    stamp: SeenStamp
    hash: bytes = b""
    failure: str = ""


@dataclass(frozen=True, slots=True)
class FailedFile:
    """A file that an indexer could not read; none could where no indexer is named."""

    path: str
    indexer: str
    reason: str


@dataclass(frozen=True, slots=True)
class Glance:
    """What a project file tells without being opened for work."""

    facts: dict[str, str]
    files: int
    failures: list[FailedFile]


@dataclass(frozen=True, slots=True)
class ProjectTotals:
    """How much a project file holds."""

    files: int
    lines: int
    languages: dict[str, int]
    skipped: dict[str, int]
