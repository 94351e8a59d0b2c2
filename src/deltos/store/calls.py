"""Protocol and row type of the log of recent tool calls. It contains durations and answer sizes, but no answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

MAX_CALLS = 1_000


@dataclass(frozen=True, slots=True)
class CallRecord:
    """One tool call.

    `arguments` are redacted and shortened. `original_tokens` is the size of the answer before truncation.
    """

    at: float
    tool: str
    client: str
    arguments: str
    seconds: float
    tokens: int
    original_tokens: int
    is_error: bool


class CallRecords(Protocol):
    """Log of the last tool calls of all processes that use one data folder."""

    def add(self, record: CallRecord) -> None:
        """Record a call, and delete the oldest calls if there are more than `MAX_CALLS`."""

    def newest(self, limit: int) -> list[CallRecord]:
        """Return the last calls, newest first."""

    def forget_arguments(self) -> bool:
        """Erase the arguments of all calls from disk. Return False if another process is reading the log."""

    def close(self) -> None:
        """Close the store."""
