"""Settings of hooks: whether they run, which projects are excluded, and the size of the session-start context.

Separate from config.py because hooks run on every tool call and must start fast.
"""

# No `from __future__ import annotations`, because the fields of named tuples would be compiled at every hook start.
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import NamedTuple

from deltos.data_folder import data_folder

CONTEXT_TOKENS = 1_500  # default token budget of the session-start context
TOOLSETS_FILE = "toolsets"
OFF_FILE = "memory-off"
ASK_FILE = "memory-ask"  # name of the file that exists if hooks ask the agent to store observations
_MAX_BYTES = 1_000_000  # maximum size of a settings file


class HookSettings(NamedTuple):
    """Settings of a hook call. `context_tokens` is the token budget of the session-start context."""

    home: Path
    is_enabled: bool = True  # whether the memory toolset is enabled
    context_tokens: int = CONTEXT_TOKENS
    database: str = ""  # URL of a PostgreSQL database
    asks_agent: bool = False  # whether hooks ask the agent to store observations
    reviews_on_stop: bool = False  # whether the agent gets a review of its changes when it stops

    @classmethod
    def from_environment(cls, environ: Mapping[str, str]) -> "HookSettings":
        """Read the settings from variables and files, ignoring invalid values."""
        home = data_folder(environ)
        toolsets = environ.get("DELTOS_TOOLSETS", "") or _read_text_file(home / TOOLSETS_FILE)
        wanted = {name.strip().lower() for name in toolsets.split(",") if name.strip()}
        return cls(
            home,
            not wanted or "memory" in wanted,
            _parse_context_tokens(environ.get("DELTOS_CONTEXT_TOKENS", "")),
            environ.get("DELTOS_DATABASE", "").strip(),
            (home / ASK_FILE).exists(),
            environ.get("DELTOS_REVIEW_ON_STOP", "").strip() == "1",
        )

    def is_off(self, project_id: str, root: Path) -> bool:
        """Whether memory is switched off for a project. The folder is checked too, because the id may change."""
        return not off_projects(self.home).isdisjoint((project_id, str(root)))


def off_projects(home: Path) -> frozenset[str]:
    """Return the ids and folders of the projects for which memory is switched off."""
    return frozenset(filter(None, map(str.strip, _read_text_file(home / OFF_FILE).splitlines())))


def off_file_content(known: Collection[str], names: Collection[str], *, off: bool) -> str:
    """Return the content of the `memory-off` file after memory is switched off or on for `names`."""
    chosen = {*known, *names} if off else {*known} - {*names}
    return "".join(f"{name}\n" for name in sorted(chosen))


def _parse_context_tokens(text: str) -> int:
    return int(text) if text.strip().isdecimal() and len(text) < 8 else CONTEXT_TOKENS


def _read_text_file(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(_MAX_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
