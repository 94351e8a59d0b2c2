"""Every error that Deltos raises on purpose. Each says what is wrong and, in its hint, what to do next.

DeltosError
├── BadRequest          what was asked for makes no sense
│   ├── BadArgument     an argument is missing, of the wrong type, or not understood
│   ├── NotFound        a name, id or path that does not exist
│   │   └── NoSuchFolder what was given as a folder is none
│   └── Forbidden       what the caller may not do or see
├── SourceError         something from outside could not be read
│   ├── NothingToIndex  a folder without a single readable source file
│   ├── FileRefused     a file that is not read: a link, a pipe, too large, gone
│   ├── AddressRefused  a request to a place that must not be asked
│   ├── FetchFailed     an answer that did not come, or not as asked for
│   ├── ReadingStopped  reading something took too much, or killed the process that did it
│   │   ├── TookTooLong
│   │   ├── TookTooMuchMemory
│   │   └── ParserCrashed
│   ├── EmbedderUnavailable the embedding model cannot be reached; search by words goes on
│   └── BadConfiguration a client's configuration file that cannot be understood; it is left as it is
├── StoreError          the index on disk
│   ├── StoreTooNew     written by a newer Deltos
│   ├── StoreTooOld     written by an older Deltos, and not ours to bring up to date
│   ├── StoreCorrupt    damaged; moved aside, never deleted
│   ├── StoreBusy       another process holds it for longer than we wait
│   └── StoreUnwritable a read-only folder or a full disk
└── Cancelled           the caller no longer waits
"""

from __future__ import annotations

_SHOWN_PATH_CHARACTERS = 200


class DeltosError(Exception):
    """Base of all: a message for a person and a hint about the next step."""

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
    """What was asked for makes no sense."""


class BadArgument(BadRequest):
    """An argument is missing, of the wrong type, or not understood."""


class NotFound(BadRequest):
    """A name, id or path that does not exist."""


class NoSuchFolder(NotFound):
    """What was given as a folder to work in is none: the caller's mistake, and no answer."""


class Forbidden(BadRequest):
    """What the caller may not do or see."""


class SourceError(DeltosError):
    """Something from outside could not be read."""


class NothingToIndex(SourceError):
    """A folder without a single readable source file."""


class FileRefused(SourceError):
    """A file that is not read: a link, a pipe, too large, gone. `reason` says which."""

    def __init__(self, path: str, reason: str, hint: str = "") -> None:
        super().__init__(f"Cannot read {path[-_SHOWN_PATH_CHARACTERS:] or 'the folder'}: {reason}", hint)
        self.reason = reason


class AddressRefused(SourceError):
    """A request to a place that must not be asked."""


class FetchFailed(SourceError):
    """An answer that did not come, or not as asked for. `status` is 0 when there was none at all."""

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


class ReadingStopped(SourceError):
    """Reading something took too much, or killed the process that did it. The same content will do so again."""


class TookTooLong(ReadingStopped):
    """A limit of time was reached."""


class TookTooMuchMemory(ReadingStopped):
    """A limit of memory was reached."""


class ParserCrashed(ReadingStopped):
    """The process that read it died."""


class EmbedderUnavailable(SourceError):
    """The embedding model cannot be reached; search by words goes on."""

    def __init__(self, message: str, hint: str = "", *, retryable: bool = False) -> None:
        super().__init__(message, hint)
        self.retryable = retryable


class BadConfiguration(SourceError):
    """A client's configuration file that cannot be understood; it is left as it is."""


class StoreError(DeltosError):
    """The index on disk cannot do what was asked."""


class StoreTooNew(StoreError):
    """The file was written by a newer Deltos."""


class StoreTooOld(StoreError):
    """The database was made by an older Deltos, and only its owner may bring it up to date."""


class StoreCorrupt(StoreError):
    """The file is damaged."""


class StoreBusy(StoreError):
    """Another process holds the file for longer than we wait."""


class StoreUnwritable(StoreError):
    """A read-only folder or a full disk."""


class Cancelled(DeltosError):
    """The caller no longer waits for the answer."""
