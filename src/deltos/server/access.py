"""Who may do what: levels, tokens and what a token stands for. Knows no HTTP; the files are the store's."""

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

TOKEN_PREFIX = "dlt"  # noqa: S105 - the beginning that all tokens share, so that scanners recognise them
_SECRET_BYTES = 32
_ID_BYTES = 6


class Level(IntEnum):
    """What a caller may do; each includes the ones before it."""

    READ = 1
    WRITE = 2
    ADMIN = 3

    @classmethod
    def named(cls, name: str) -> Level:
        """The level called `name`. Raises KeyError."""
        return cls[name.upper()]

    @property
    def scope(self) -> str:
        """Its name in tokens and on the command line."""
        return self.name.lower()


SCOPES = tuple(level.scope for level in Level)


def level_needed(*, read_only: bool, destructive: bool) -> Level:
    """The level that a tool asks for: reading, changing, or removing what others made."""
    if read_only:
        return Level.READ
    return Level.ADMIN if destructive else Level.WRITE


def check_level(tool: Tool, level: Level) -> None:
    """Refuse a tool that `level` does not reach."""
    needed = level_needed(read_only=tool.read_only, destructive=tool.destructive)
    if level < needed:
        raise Forbidden(
            f"{tool.name} needs the scope '{needed.scope}'", hint="Ask whoever runs this server for such a token."
        )


@dataclass(frozen=True, slots=True)
class Grant:
    """What a valid token stands for. `projects` are folders, None means all that are served; `gone` are the workspaces
    that it is for and that are not there any more."""

    token_id: str
    level: Level
    projects: tuple[str, ...] | None
    expires_at: int | None
    gone: tuple[str, ...] = ()


class Tokens:
    """Makes tokens and tells valid ones from others. A token for a workspace is for the folders that it has now."""

    def __init__(
        self, store: TokenRecords, clock: Callable[[], float], workspaces: WorkspaceRecords | None = None
    ) -> None:
        self._store = store
        self._clock = clock
        self._workspaces = workspaces

    def create(self, name: str, level: Level, projects: Sequence[str], lifetime_seconds: int | None) -> tuple[str, str]:
        """A new token: its id, and the text to hand out, which is kept nowhere."""
        token_id, secret = secrets.token_hex(_ID_BYTES), secrets.token_urlsafe(_SECRET_BYTES)
        now = int(self._clock())
        expires_at = None if lifetime_seconds is None else now + lifetime_seconds
        self._store.add(StoredToken(token_id, name, _hash(secret), level.scope, tuple(projects), now, expires_at))
        return token_id, f"{TOKEN_PREFIX}_{token_id}_{secret}"

    def verify(self, text: str) -> Grant | None:
        """What the token in `text` stands for; None when it is unknown, wrong, revoked or expired."""
        prefix, _, rest = text.partition("_")
        token_id, _, secret = rest.partition("_")
        stored = self._store.get(token_id) if prefix == TOKEN_PREFIX else None
        # An unknown id costs the same comparison as a known one.
        expected = stored.secret_hash if stored else bytes(hashlib.sha256().digest_size)
        matches = hmac.compare_digest(_hash(secret), expected)
        if stored is None or not matches or not is_valid(stored, self._clock()):
            return None
        folders, gone = self._folders(stored.projects)
        projects = folders if stored.projects else None
        return Grant(stored.id, Level.named(stored.level), projects, stored.expires_at, gone)

    def _folders(self, projects: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The folders of a token's projects and workspaces, and the names of workspaces that are gone."""
        folders: dict[str, None] = {}
        gone = []
        for project in projects:
            name = project.removeprefix(WORKSPACE_PREFIX)
            if name == project:
                folders[project] = None
            elif workspace := self._workspaces.get(name) if self._workspaces else None:
                folders |= dict.fromkeys(workspace.roots)
            else:
                gone.append(name)
        return tuple(folders), tuple(gone)


def is_valid(token: StoredToken, now: float) -> bool:
    """Whether a token is neither revoked nor expired."""
    return token.revoked_at is None and (token.expires_at is None or now < token.expires_at)


def _hash(secret: str) -> bytes:
    # The secret has 256 random bits: a slow hash would protect nothing and cost every request.
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).digest()
