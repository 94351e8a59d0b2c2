"""What could not be read within its limits, so that it is not tried again unchanged."""

from __future__ import annotations

from typing import Protocol


class StoppedReadings(Protocol):
    """Reasons by a digest of the content. The oldest of very many are forgotten."""

    def reason(self, digest: bytes) -> str:
        """Why content with this digest could not be read; empty when nothing is known against it."""

    def remember(self, digest: bytes, reason: str) -> None:
        """Record that content with this digest could not be read."""
