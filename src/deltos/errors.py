"""Exceptions raised by Deltos. Each has a message and a hint what to do next.

DeltosError
├── BadRequest          invalid request
│   ├── BadArgument     an argument is missing, invalid or of the wrong type
│   ├── NotFound        a name, id or path does not exist
│   │   └── NoSuchFolder a given folder does not exist
│   └── Forbidden       the caller may not do or read this
├── SourceError         untrusted content could not be read
│   ├── NothingToIndex  a folder without a readable source file
│   ├── FileRefused     the file is a link, a pipe, missing or too large
│   ├── AddressRefused  a request to a forbidden host
│   ├── FetchFailed     a request had no response or an invalid response
│   ├── ParserStopped   a parser exceeded a limit or crashed
│   │   ├── TimeLimitExceeded
│   │   ├── MemoryLimitExceeded
│   │   └── ParserCrashed
│   ├── EmbedderUnavailable the embedding model cannot be reached; word search still works
│   └── BadConfiguration a client's configuration file is invalid; it is left unchanged
├── StoreError          the index on disk cannot be used
│   ├── StoreTooNew     written by a newer Deltos
│   ├── StoreTooOld     written by an older Deltos, and only the owner of the database may migrate it
│   ├── StoreCorrupt    damaged; moved aside, never deleted
│   ├── StoreBusy       locked by another process for too long
│   └── StoreUnwritable a read-only folder or a full disk
└── Cancelled           the caller no longer waits
"""

from __future__ import annotations

_MAX_SHOWN_PATH_CHARACTERS = 200


class DeltosError(Exception):
    """Base class of all Deltos errors, with a message and a hint what to do next."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        if not self.hint:
            return self.message
        stop = "" if self.message.endswith((".", "?", "!")) else "."
        return f"{self.message}{stop} {self.hint}"


class BadRequest(DeltosError):
    """The request is invalid."""


class BadArgument(BadRequest):
    """An argument is missing, invalid or of the wrong type."""


class NotFound(BadRequest):
    """A name, id or path does not exist."""


class NoSuchFolder(NotFound):
    """A given folder does not exist."""


class Forbidden(BadRequest):
    """The caller may not do or read this."""


class SourceError(DeltosError):
    """Untrusted content could not be read."""


class NothingToIndex(SourceError):
    """The folder has no readable source file."""


class FileRefused(SourceError):
    """The file is a link, a pipe, missing or too large. `reason` is one of the constants in `files`."""

    def __init__(self, path: str, reason: str, hint: str = "") -> None:
        super().__init__(f"Cannot read {path[-_MAX_SHOWN_PATH_CHARACTERS:] or 'the folder'}: {reason}", hint)
        self.reason = reason


class AddressRefused(SourceError):
    """The host of a request is not allowed."""


class FetchFailed(SourceError):
    """A request had no response (`status` 0) or an invalid response."""

    def __init__(
        self,
        message: str,
        hint: str = "",
        *,
        status: int = 0,
        retryable: bool = False,
        retry_after_seconds: float = 0.0,
    ) -> None:
        super().__init__(message, hint)
        self.status = status
        self.retryable = retryable
        self.retry_after_seconds = retry_after_seconds


class ParserStopped(SourceError):
    """A parser exceeded a limit or crashed. A retry with the same content would fail too."""


class TimeLimitExceeded(ParserStopped):
    """The parser exceeded its time limit."""


class MemoryLimitExceeded(ParserStopped):
    """The parser exceeded its memory limit."""


class ParserCrashed(ParserStopped):
    """The parser process died."""


class EmbedderUnavailable(SourceError):
    """The embedding model cannot be reached. Word search still works."""

    def __init__(self, message: str, hint: str = "", *, retryable: bool = False) -> None:
        super().__init__(message, hint)
        self.retryable = retryable


class BadConfiguration(SourceError):
    """The configuration file of a client is invalid. It is left unchanged."""


class StoreError(DeltosError):
    """The index on disk cannot be used."""


class StoreTooNew(StoreError):
    """The index file was written by a newer version of Deltos."""


class StoreTooOld(StoreError):
    """The database was written by an older version of Deltos, and only its owner may migrate it."""


class StoreCorrupt(StoreError):
    """The index file is damaged."""


class StoreBusy(StoreError):
    """Another process has held a lock on the file for too long."""


class StoreUnwritable(StoreError):
    """The folder is read-only, or the disk is full."""


class Cancelled(DeltosError):
    """The caller no longer waits for the answer."""
