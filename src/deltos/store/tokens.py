"""What is kept of access tokens: never the secret, only its hash."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class StoredToken:
    """A token as it is kept; times are seconds since 1970, no projects means all that are served.

    A project is a whole path, or `workspace:NAME`.
    """

    id: str
    name: str
    secret_hash: bytes
    level: str
    projects: tuple[str, ...]
    created_at: int
    expires_at: int | None = None
    revoked_at: int | None = None


class TokenRecords(Protocol):
    """The access tokens of one data folder."""

    def add(self, token: StoredToken) -> None:
        """Keep a new token."""

    def get(self, token_id: str) -> StoredToken | None:
        """The token with this id, revoked or not."""

    def all(self) -> list[StoredToken]:
        """Every token, oldest first."""

    def revoke(self, id_or_name: str, moment: int) -> list[str]:
        """Revoke the tokens with this id or name; the ids of those that were valid until now."""

    def close(self) -> None:
        """Let go of them."""
