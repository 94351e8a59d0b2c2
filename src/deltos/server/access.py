"""Access levels and bearer tokens. `deltos.store.tokens` stores the token records."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

from deltos.errors import Forbidden
from deltos.store.tokens import WORKSPACE_PREFIX, StoredToken

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from deltos.store.tokens import TokenRecords
    from deltos.store.workspaces import WorkspaceRecords
    from deltos.tool import Tool

TOKEN_PREFIX = "dlt"  # noqa: S105 - common prefix of all tokens, for secret scanners
_SECRET_BYTES = 32
_ID_BYTES = 6


class Level(IntEnum):
    """Access level of a caller. Each level includes all lower levels."""

    READ = 1
    WRITE = 2
    ADMIN = 3

    @classmethod
    def from_name(cls, name: str) -> Level:
        """Return the level with this name. Raise KeyError if the name is unknown."""
        return cls[name.upper()]

    @property
    def scope(self) -> str:
        """Name of the level in tokens and on the command line."""
        return self.name.lower()


SCOPES = tuple(level.scope for level in Level)


def required_level(*, read_only: bool, destructive: bool) -> Level:
    """Return the level that a tool requires: read, write, or admin for tools that delete data."""
    if read_only:
        return Level.READ
    return Level.ADMIN if destructive else Level.WRITE


def check_level(tool: Tool, level: Level) -> None:
    """Raise Forbidden if `level` does not permit `tool`."""
    needed = required_level(read_only=tool.read_only, destructive=tool.destructive)
    if level < needed:
        raise Forbidden(
            f"{tool.name} requires the scope '{needed.scope}'",
            hint="Ask the administrator of this server for a token with that scope.",
        )


@dataclass(frozen=True, slots=True)
class Grant:
    """Permissions of a valid token.

    `projects` are folders, or None for all served folders. `missing_workspaces` are workspaces of the token that no
    longer exist.
    """

    token_id: str
    level: Level
    projects: tuple[str, ...] | None
    expires_at: int | None
    missing_workspaces: tuple[str, ...] = ()


class Tokens:
    """Creates and verifies tokens. A token for a workspace gives access to the current folders of the workspace."""

    def __init__(
        self, store: TokenRecords, clock: Callable[[], float], workspaces: WorkspaceRecords | None = None
    ) -> None:
        self._store = store
        self._clock = clock
        self._workspaces = workspaces

    def create(self, name: str, level: Level, projects: Sequence[str], lifetime_seconds: int | None) -> tuple[str, str]:
        """Create a token and return its id and its text. Only a hash of the secret is stored."""
        token_id, secret = secrets.token_hex(_ID_BYTES), secrets.token_urlsafe(_SECRET_BYTES)
        now = int(self._clock())
        expires_at = None if lifetime_seconds is None else now + lifetime_seconds
        self._store.add(
            StoredToken(token_id, name, _hash_secret(secret), level.scope, tuple(projects), now, expires_at)
        )
        return token_id, f"{TOKEN_PREFIX}_{token_id}_{secret}"

    def verify(self, text: str) -> Grant | None:
        """Return the permissions of the token `text`, or None if the token is unknown, invalid, revoked or expired."""
        prefix, _, rest = text.partition("_")
        token_id, _, secret = rest.partition("_")
        stored = self._store.get(token_id) if prefix == TOKEN_PREFIX else None
        # Compare the secret even if the id is unknown, so that the response time does not reveal which ids exist.
        expected = stored.secret_hash if stored else bytes(hashlib.sha256().digest_size)
        matches = hmac.compare_digest(_hash_secret(secret), expected)
        if stored is None or not matches or not is_valid(stored, self._clock()):
            return None
        folders, missing_workspaces = self._expand_workspaces(stored.projects)
        projects = folders if stored.projects else None
        return Grant(stored.id, Level.from_name(stored.level), projects, stored.expires_at, missing_workspaces)

    def _expand_workspaces(self, projects: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the folders of a token's projects and workspaces, and the names of missing workspaces."""
        folders: dict[str, None] = {}
        missing_workspaces = []
        for project in projects:
            name = project.removeprefix(WORKSPACE_PREFIX)
            if name == project:
                folders[project] = None
            elif workspace := self._workspaces.get(name) if self._workspaces else None:
                folders |= dict.fromkeys(workspace.roots)
            else:
                missing_workspaces.append(name)
        return tuple(folders), tuple(missing_workspaces)


def is_valid(token: StoredToken, now: float) -> bool:
    """Whether a token is neither revoked nor expired."""
    return token.revoked_at is None and (token.expires_at is None or now < token.expires_at)


def _hash_secret(secret: str) -> bytes:
    # The secret has 256 random bits, so a slow password hash would delay each request without adding protection.
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).digest()
