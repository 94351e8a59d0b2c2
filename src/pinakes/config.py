"""One frozen Config: the only reader of the environment."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from pinakes.errors import BadArgument

if TYPE_CHECKING:
    from collections.abc import Mapping

EMBEDDERS = ("static", "off", "openai", "ollama", "voyage")
TOOLSETS = ("docs", "apis", "code", "graph", "memory")
DEFAULT_TOKEN_BUDGET = 5_000
SMALLEST_TOKEN_BUDGET = 200


@dataclass(frozen=True, slots=True)
class Embedding:
    """Which model compares by meaning, and where it is when it is not the one in the wheel."""

    kind: str = "static"
    url: str = ""
    model: str = ""
    key: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Config:
    """What the user decided: where data lives, how large answers are, what is served, what may be read."""

    home: Path
    token_budget: int = DEFAULT_TOKEN_BUDGET
    toolsets: tuple[str, ...] = TOOLSETS
    allow_private_hosts: bool = False
    docs_roots: tuple[Path, ...] = ()
    environments: tuple[Path, ...] = ()
    embedding: Embedding = Embedding()

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] = os.environ, *, toolsets: str = "") -> Config:
        """Read `PINAKES_*` variables; `toolsets` is a comma-separated list that overrides the default."""
        return cls(
            home=_home(environ),
            token_budget=_token_budget(environ.get("PINAKES_TOKEN_BUDGET", "")),
            toolsets=parse_toolsets(toolsets or environ.get("PINAKES_TOOLSETS", "")),
            allow_private_hosts=environ.get("PINAKES_ALLOW_PRIVATE_HOSTS", "").lower() in ("1", "true", "yes", "on"),
            docs_roots=_paths(environ.get("PINAKES_DOCS_ROOTS", "")),
            environments=_paths(environ.get("VIRTUAL_ENV", "")),
            embedding=_embedding(environ),
        )


def parse_toolsets(text: str) -> tuple[str, ...]:
    """The toolsets named in a comma-separated list, in their fixed order; all of them when the list is empty."""
    wanted = {name.strip().lower() for name in text.split(",") if name.strip()}
    unknown = wanted - set(TOOLSETS)
    if unknown:
        raise BadArgument(f"Unknown toolset: {', '.join(sorted(unknown))}", hint=f"Choose from {', '.join(TOOLSETS)}.")
    return tuple(name for name in TOOLSETS if not wanted or name in wanted)


def _embedding(environ: Mapping[str, str]) -> Embedding:
    kind = environ.get("PINAKES_EMBED", "").strip().lower() or "static"
    if kind not in EMBEDDERS:
        raise BadArgument(f"PINAKES_EMBED is not understood: {kind!r}", hint=f"Choose from {', '.join(EMBEDDERS)}.")
    values = (environ.get(f"PINAKES_EMBED_{name}", "").strip() for name in ("URL", "MODEL", "KEY"))
    return Embedding(kind, *values)


def _home(environ: Mapping[str, str]) -> Path:
    if chosen := environ.get("PINAKES_HOME"):
        return Path(chosen).expanduser().absolute()
    import platformdirs  # deferred: most commands of a shell set PINAKES_HOME or never need it

    return Path(platformdirs.user_data_dir("pinakes", appauthor=False))


def _paths(text: str) -> tuple[Path, ...]:
    return tuple(Path(part).expanduser().absolute() for part in text.split(os.pathsep) if part)


def _token_budget(text: str) -> int:
    if not text:
        return DEFAULT_TOKEN_BUDGET
    try:
        return max(SMALLEST_TOKEN_BUDGET, int(text))
    except ValueError:
        raise BadArgument(f"PINAKES_TOKEN_BUDGET is not a number: {text!r}", hint="Set it to 5000, say.") from None
