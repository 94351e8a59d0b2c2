"""Common types of the transcript readers, and helpers to read JSON records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

from deltos.redaction.redact import redact_long, storable

if TYPE_CHECKING:
    from collections.abc import Iterator

Record: TypeAlias = dict[str, Any]

# Maximum number of tool calls without a result; a file with more is not a valid session.
MAX_OPEN_CALLS = 1_000
_MAX_KEY_CHARACTERS = 4_000


class TranscriptEvent(NamedTuple):
    """An event of a session file, with the name and fields that the agent's hook would have sent.

    `key` identifies the event in every copy of the session; `at` is an ISO 8601 time; `repository` is the URL of the
    git remote if the agent recorded it.
    """

    event_name: str
    fields: Record
    key: str
    at: str
    repository: str = ""


class TranscriptReader(Protocol):
    """Reads the records of one session file in order."""

    def read(self, record: Record) -> Iterator[TranscriptEvent]:
        """Yield the events that this record completes."""

    def end(self) -> Iterator[TranscriptEvent]:
        """Yield the events that are pending at the end of the file."""


class OpenCalls:
    """Tool calls by id whose results have not been read yet."""

    def __init__(self) -> None:
        self._calls: dict[str, tuple[str, object]] = {}

    def begin(self, call_id: object, name: object, tool_input: object) -> None:
        """Record a call; the oldest call is dropped if there are too many."""
        if isinstance(call_id, str) and isinstance(name, str):
            if len(self._calls) >= MAX_OPEN_CALLS:
                del self._calls[next(iter(self._calls))]
            self._calls[call_id] = (name, tool_input)

    def end(self, call_id: object) -> tuple[str, object] | None:
        """Return name and input of the call that is completed; None if it is unknown."""
        return self._calls.pop(call_id, None) if isinstance(call_id, str) else None


def redacted_key_part(text: str) -> str:
    """Return a text for use in an event key, without secrets, which could be guessed from a digest."""
    return redact_long(storable(text.strip()), max_characters=_MAX_KEY_CHARACTERS)


def text_of(content: object) -> str:
    """Return the text of a message: a string, or the texts of its parts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else [content]
    texts = (part if isinstance(part, str) else part.get("text") for part in parts if isinstance(part, str | dict))
    return "\n".join(text for text in texts if isinstance(text, str) and text)


def parts_of(content: object, kind: str) -> list[Record]:
    """Return the parts of a message that have one type."""
    parts = content if isinstance(content, list) else []
    return [part for part in parts if isinstance(part, dict) and part.get("type") == kind]


def nested(record: Record, name: str) -> Record:
    """Return the object in a field; empty if there is none."""
    value = record.get(name)
    return value if isinstance(value, dict) else {}


def text_field(record: Record, *names: str) -> str:
    """Return the first of these fields that holds a non-empty string; empty if there is none."""
    return next((value for name in names if isinstance(value := record.get(name), str) and value), "")
