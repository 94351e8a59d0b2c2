"""What is kept of access tokens: never the secret, only its hash."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StoredToken:
    """A token as it is kept; times are seconds since 1970, no projects means all that are served."""

    id: str
    name: str
    secret_hash: bytes
    level: str
    projects: tuple[str, ...]
    created_at: int
    expires_at: int | None = None
    revoked_at: int | None = None
