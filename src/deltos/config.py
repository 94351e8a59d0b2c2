"""Configuration from environment variables. No other module reads them."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from deltos.data_folder import data_folder, user_path
from deltos.errors import BadArgument
from deltos.hook_settings import TOOLSETS_FILE
from deltos.logins import NO_LOGINS, Logins
from deltos.private_hosts import NO_PRIVATE_HOSTS, PrivateHosts

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

EMBEDDERS = ("encoder", "static", "off", "openai", "ollama", "voyage")
TOOLSETS = ("docs", "apis", "code", "graph", "memory")
PROFILES = ("full", "lean")
INDEXING_MODES = ("server", "worker")
LOG_FORMATS = ("text", "json")
LEAN_TOOLS = frozenset({"explore", "search", "search_code", "find_references", "get_context", "fetch", "remember"})
DEFAULT_TOKEN_BUDGET = 5_000
MIN_TOKEN_BUDGET = 200


@dataclass(frozen=True, slots=True)
class Embedding:
    """Settings of the model for semantic search. A remote model has a URL and key."""

    kind: str = EMBEDDERS[0]
    url: str = ""
    model: str = ""
    key: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Config:
    """The user's settings."""

    home: Path
    token_budget: int = DEFAULT_TOKEN_BUDGET
    toolsets: tuple[str, ...] = TOOLSETS
    private_hosts: PrivateHosts = NO_PRIVATE_HOSTS
    docs_roots: tuple[Path, ...] = ()
    environments: tuple[Path, ...] = ()
    embedding: Embedding = Embedding()
    repeat_excerpts: bool = False
    # Whether toolsets may change while a server runs. True if neither a command-line option nor a variable sets them.
    toolsets_may_change: bool = False
    logins: Logins = NO_LOGINS
    keeps_calls: bool = True  # whether recent tool calls are logged for the web page
    profile: str = "full"  # `full` to offer all tools, or `lean` to offer only LEAN_TOOLS
    log_format: str = "text"  # format of log messages on stderr
    database: str = field(default="", repr=False)  # URL of a PostgreSQL database, including the password
    indexing: str = "server"  # `worker` if worker processes index and crawl, and servers only queue jobs

    @property
    def searches_by_meaning(self) -> bool:
        """Whether semantic search is enabled. Semantic search of code always uses the bundled model."""
        return self.embedding.kind != "off"

    @property
    def leaves_indexing_to_workers(self) -> bool:
        """Whether this process only queues indexing and crawling jobs for workers."""
        return bool(self.database) and self.indexing == "worker"

    @classmethod
    def from_environment(
        cls, environ: Mapping[str, str] = os.environ, *, toolsets: str = "", profile: str = "", log_format: str = ""
    ) -> Config:
        """Read the `DELTOS_*` variables, which the arguments override. `toolsets` is a comma-separated list."""
        home = data_folder(environ)
        fixed = toolsets or environ.get("DELTOS_TOOLSETS", "")
        return cls(
            home=home,
            token_budget=_read_token_budget(environ.get("DELTOS_TOKEN_BUDGET", "")),
            toolsets=parse_toolsets(fixed) if fixed else chosen_toolsets(home),
            private_hosts=PrivateHosts.parse(environ.get("DELTOS_ALLOW_PRIVATE_HOSTS", "")),
            docs_roots=_split_paths(environ.get("DELTOS_DOCS_ROOTS", "")),
            environments=_split_paths(environ.get("VIRTUAL_ENV", "")),
            embedding=_read_embedding(environ),
            repeat_excerpts=_is_on(environ.get("DELTOS_REPEAT_EXCERPTS", "")),
            toolsets_may_change=not fixed,
            logins=Logins.from_environment(environ),
            keeps_calls=environ.get("DELTOS_CALL_LOG", "").strip() not in ("0", "off", "false"),
            profile=parse_profile(profile or environ.get("DELTOS_PROFILE", "")),
            log_format=parse_log_format(log_format or environ.get("DELTOS_LOG", "")),
            database=environ.get("DELTOS_DATABASE", "").strip(),
            indexing=_read_indexing_mode(environ),
        )


def chosen_toolsets(home: Path) -> tuple[str, ...]:
    """Return the toolsets that the user selected with `deltos toolsets`, or all toolsets without a selection."""
    try:
        return parse_toolsets((home / TOOLSETS_FILE).read_text("utf-8"))
    except (OSError, UnicodeDecodeError):
        return TOOLSETS


def parse_toolsets(text: str) -> tuple[str, ...]:
    """Parse a comma-separated list of toolsets into their standard order. An empty list means all toolsets."""
    wanted = {name.strip().lower() for name in text.split(",") if name.strip()}
    unknown = wanted - set(TOOLSETS)
    if unknown:
        raise BadArgument(f"Unknown toolset: {', '.join(sorted(unknown))}", hint=f"Choose from {', '.join(TOOLSETS)}.")
    return tuple(name for name in TOOLSETS if not wanted or name in wanted)


def parse_profile(text: str) -> str:
    """Return the normalised profile name (default: `full`). Raise BadArgument if it is unknown."""
    name = text.strip().lower() or PROFILES[0]
    if name not in PROFILES:
        raise BadArgument(f"Unknown profile: {name}", hint=f"Choose from {', '.join(PROFILES)}.")
    return name


def parse_log_format(text: str) -> str:
    """Return the normalised log format (default: `text`). Raise BadArgument if it is unknown."""
    name = text.strip().lower() or LOG_FORMATS[0]
    if name not in LOG_FORMATS:
        raise BadArgument(f"Invalid DELTOS_LOG: {name!r}", hint=f"Choose from {', '.join(LOG_FORMATS)}.")
    return name


def _read_embedding(environ: Mapping[str, str]) -> Embedding:
    given = environ.get("DELTOS_EMBED", "").strip()
    kind = given.lower() or EMBEDDERS[0]
    if kind not in EMBEDDERS and ("/" in given or os.sep in given):
        return Embedding("folder", model=str(user_path(given, "DELTOS_EMBED")))
    if kind not in EMBEDDERS:
        hint = f"Choose from {', '.join(EMBEDDERS)}, or pass the folder of an encoder."
        raise BadArgument(f"Invalid DELTOS_EMBED: {kind!r}", hint=hint)
    values = (environ.get(f"DELTOS_EMBED_{name}", "").strip() for name in ("URL", "MODEL", "KEY"))
    return Embedding(kind, *values)


def _read_indexing_mode(environ: Mapping[str, str]) -> str:
    by = environ.get("DELTOS_INDEXING", "").strip().lower() or INDEXING_MODES[0]
    if by not in INDEXING_MODES:
        raise BadArgument(f"Invalid DELTOS_INDEXING: {by!r}", hint=f"Choose from {', '.join(INDEXING_MODES)}.")
    if by == "worker" and not environ.get("DELTOS_DATABASE", "").strip():
        raise BadArgument(
            "DELTOS_INDEXING=worker needs a database", hint="Set DELTOS_DATABASE, or unset DELTOS_INDEXING."
        )
    return by


def _is_on(text: str) -> bool:
    return text.lower() in ("1", "true", "yes", "on")


def _split_paths(text: str) -> tuple[Path, ...]:
    return tuple(user_path(part, "DELTOS_DOCS_ROOTS") for part in text.split(os.pathsep) if part)


def _read_token_budget(text: str) -> int:
    if not text:
        return DEFAULT_TOKEN_BUDGET
    try:
        return max(MIN_TOKEN_BUDGET, int(text))
    except ValueError:
        raise BadArgument(f"DELTOS_TOKEN_BUDGET is not a number: {text!r}", hint="Use a number such as 5000.") from None
