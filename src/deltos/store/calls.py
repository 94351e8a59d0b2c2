"""Protocol and rows of the log of recent tool calls: durations and answer sizes, never the answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

MAX_CALLS = 1_000


@dataclass(frozen=True, slots=True)
class CallRecord:
    """One call. `arguments` are redacted and shortened; `original_tokens` is the size of the answer before
    truncation."""

    at: float
    tool: str
    client: str
    arguments: str
    seconds: float
    tokens: int
    original_tokens: int
    is_error: bool


class CallRecords(Protocol):
    """The last calls in one data folder, of all processes."""

    def add(self, record: CallRecord) -> None:
        """Record a call and delete the oldest beyond `MAX_CALLS`."""

    def newest(self, limit: int) -> list[CallRecord]:
        """Return the last calls, newest first."""

    def forget_arguments(self) -> bool:
        """Erase the arguments of all calls from disk; False while another process is reading."""

    def close(self) -> None:
        """Close the store."""
