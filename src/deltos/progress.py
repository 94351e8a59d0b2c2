"""Progress reports and cancellation of long work."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Interface for progress reports and cancellation."""

    def report(self, done: int, total: int, what: str) -> None:
        """Report that `done` of `total` steps are finished. `what` is a description of the steps."""

    def cancelled(self) -> bool:
        """Whether the work should stop at the next safe point."""


class Silent:
    """Progress listener that ignores reports and never cancels."""

    def report(self, done: int, total: int, what: str) -> None:
        """Ignore the report."""

    def cancelled(self) -> bool:
        """Return False."""
        return False
