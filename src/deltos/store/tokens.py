"""Protocol and rows of access tokens. Only hashes of secrets are stored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence


WORKSPACE_PREFIX = "workspace:"
"""Prefix of the entries in `StoredToken.projects` that name a workspace; other entries are absolute paths."""


@dataclass(frozen=True, slots=True)
class StoredToken:
    """An access token. Times are seconds since 1970; an empty `projects` means all served projects.

    An entry of `projects` is an absolute path or `workspace:NAME`.
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
        """Store a new token."""

    def get(self, token_id: str) -> StoredToken | None:
        """Return the token with this id, revoked or not."""

    def all(self) -> list[StoredToken]:
        """Return every token, oldest first."""

    def revoke(self, token_id: str, moment: int) -> bool:
        """Revoke the token with this id; return whether it exists and was not revoked before."""

    def close(self) -> None:
        """Close the store."""


def is_for_workspace(token: StoredToken, name: str) -> bool:
    """Whether a token grants access to a workspace; names are compared case-insensitively."""
    return f"{WORKSPACE_PREFIX}{name}".lower() in (project.lower() for project in token.projects)


def with_renamed_workspace(projects: Sequence[str], name: str, new_name: str) -> tuple[str, ...]:
    """Return the projects of a token after a workspace was renamed; names are compared case-insensitively."""
    old = f"{WORKSPACE_PREFIX}{name}".lower()
    renamed = (f"{WORKSPACE_PREFIX}{new_name}" if project.lower() == old else project for project in projects)
    return tuple(dict.fromkeys(renamed))
