"""What a session file tells: events in the form of hook inputs, each with an identity and a time of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

from deltos.domains.memory.redact import redact_long, storable

if TYPE_CHECKING:
    from collections.abc import Iterator

Record: TypeAlias = dict[str, Any]

# Calls of tools whose answer has not come yet; a file with more is no session of an agent.
MOST_OPEN_CALLS = 1_000
_LONGEST_KEY = 4_000


class Told(NamedTuple):
    """One event: the name and the fields that the agent's hook would have had. `key` is the same in every copy of the
    session; `at` is an ISO 8601 time; `repository` is the address of the remote, where the agent noted it."""

    event_name: str
    fields: Record
    key: str
    at: str
    repository: str = ""


class Session(Protocol):
    """Reads the records of one session file in their order."""

    def read(self, record: Record) -> Iterator[Told]:
        """What a record tells, perhaps with what earlier ones began."""

    def end(self) -> Iterator[Told]:
        """What is still to be told when the file ends."""


class OpenCalls:
    """Calls of tools, by their ids, until their answers come."""

    def __init__(self) -> None:
        self._calls: dict[str, tuple[str, object]] = {}

    def begin(self, call_id: object, name: object, given: object) -> None:
        """Note a call."""
        if isinstance(call_id, str) and isinstance(name, str):
            if len(self._calls) >= MOST_OPEN_CALLS:
                del self._calls[next(iter(self._calls))]
            self._calls[call_id] = (name, given)

    def end(self, call_id: object) -> tuple[str, object] | None:
        """The name and the input of the call that is answered; None for an unknown one."""
        return self._calls.pop(call_id, None) if isinstance(call_id, str) else None


def safe_part(said: str) -> str:
    """As much of a text as its event's key needs: without secrets, which could be guessed from a digest."""
    return redact_long(storable(said.strip()), most=_LONGEST_KEY)


def text_of(content: object) -> str:
    """The texts of a message: a text itself, or the texts of its parts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else [content]
    texts = (part if isinstance(part, str) else part.get("text") for part in parts if isinstance(part, str | dict))
    return "\n".join(text for text in texts if isinstance(text, str) and text)


def parts_of(content: object, kind: str) -> list[Record]:
    """The parts of a message that are of one type."""
    parts = content if isinstance(content, list) else []
    return [part for part in parts if isinstance(part, dict) and part.get("type") == kind]


def inside(record: Record, name: str) -> Record:
    """The fields inside a field; none when it has none."""
    value = record.get(name)
    return value if isinstance(value, dict) else {}


def word(record: Record, *names: str) -> str:
    """The first of these fields that holds a text."""
    return next((value for name in names if isinstance(value := record.get(name), str) and value), "")
