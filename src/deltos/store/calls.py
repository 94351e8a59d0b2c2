"""What is kept of the last calls of tools: how long they took and how much they answered, never the answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

MOST_CALLS = 1_000


@dataclass(frozen=True, slots=True)
class CallRecord:
    """One call. `arguments` are redacted and shortened; `original_tokens` is the answer's size before it was cut."""

    at: float
    tool: str
    client: str
    arguments: str
    seconds: float
    tokens: int
    original_tokens: int
    is_error: bool


class CallRecords(Protocol):
    """The ring of the last calls in one data folder, of all processes."""

    def add(self, record: CallRecord) -> None:
        """Keep a call; the oldest beyond `MOST_CALLS` go."""

    def newest(self, limit: int) -> list[CallRecord]:
        """The last calls, newest first."""

    def forget_arguments(self) -> bool:
        """Forget what was asked in all calls, with every trace of it; False while another process reads."""

    def close(self) -> None:
        """Let go of them."""
