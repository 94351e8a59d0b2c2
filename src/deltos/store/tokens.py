"""What is kept of access tokens: never the secret, only its hash."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence


WORKSPACE_PREFIX = "workspace:"
"""Among a token's projects: the name of a workspace follows. Other entries are whole paths."""


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


def is_for_workspace(token: StoredToken, name: str) -> bool:
    """Whether a token is for a workspace; names that differ in case alone are the same."""
    return f"{WORKSPACE_PREFIX}{name}".lower() in (project.lower() for project in token.projects)


def with_renamed_workspace(projects: Sequence[str], name: str, new_name: str) -> tuple[str, ...]:
    """The projects of a token once a workspace is called otherwise; names that differ in case alone are the same."""
    old = f"{WORKSPACE_PREFIX}{name}".lower()
    renamed = (f"{WORKSPACE_PREFIX}{new_name}" if project.lower() == old else project for project in projects)
    return tuple(dict.fromkeys(renamed))
