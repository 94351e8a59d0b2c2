"""How long work tells a listener how far it is, and learns that it was cancelled."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Told about each step of long work; may ask it to stop."""

    def report(self, done: int, total: int, what: str) -> None:
        """`done` of `total` steps are finished; `what` names them for a person."""

    def cancelled(self) -> bool:
        """Whether the work should stop at the next safe point."""


class Silent:
    """Listens to nothing and never asks to stop."""

    def report(self, done: int, total: int, what: str) -> None:
        """Ignore the step."""

    def cancelled(self) -> bool:
        """Nobody ever cancels."""
        return False
