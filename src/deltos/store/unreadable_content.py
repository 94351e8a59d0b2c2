"""Contents that could not be parsed within the limits, so that they are not tried again unchanged."""

from __future__ import annotations

from typing import Protocol


class UnreadableContent(Protocol):
    """Failure reasons by digest of the content. Only the newest are kept."""

    def reason(self, digest: bytes) -> str:
        """Return why content with this digest could not be parsed; empty if it has not failed."""

    def remember(self, digest: bytes, reason: str) -> None:
        """Record that content with this digest could not be parsed."""
