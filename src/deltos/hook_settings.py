"""What the user decided about hooks: whether they speak at all, in which projects not, and how much they tell. Apart
from config.py because hooks start on every tool call and need nothing else of it."""

# Annotations are evaluated here: as texts, each field of a named tuple would be compiled whenever a hook starts.
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import NamedTuple

from deltos.data_folder import data_folder

CONTEXT_TOKENS = 1_500
TOOLSETS_FILE = "toolsets"
OFF_FILE = "memory-off"
_MOST_BYTES = 1_000_000


class HookSettings(NamedTuple):
    """`speaks` is False where the toolset of memory is off; `context_tokens` is what a session is told at its start."""

    home: Path
    speaks: bool = True
    context_tokens: int = CONTEXT_TOKENS
    database: str = ""  # the address of a PostgreSQL database

    @classmethod
    def from_environment(cls, environ: Mapping[str, str]) -> "HookSettings":
        """Read the variables and files that hooks go by; what is not understood counts as not said."""
        home = data_folder(environ)
        toolsets = environ.get("DELTOS_TOOLSETS", "") or _read(home / TOOLSETS_FILE)
        wanted = {name.strip().lower() for name in toolsets.split(",") if name.strip()}
        return cls(
            home,
            not wanted or "memory" in wanted,
            _context_tokens(environ.get("DELTOS_CONTEXT_TOKENS", "")),
            environ.get("DELTOS_DATABASE", "").strip(),
        )

    def is_off(self, project_id: str, root: Path) -> bool:
        """Whether memory is switched off for a project, by its identity or, as that may change, by its folder."""
        return not off_projects(self.home).isdisjoint((project_id, str(root)))


def off_projects(home: Path) -> frozenset[str]:
    """The projects for which memory is switched off: their identities and folders."""
    return frozenset(filter(None, map(str.strip, _read(home / OFF_FILE).splitlines())))


def switched(known: Collection[str], names: Collection[str], *, off: bool) -> str:
    """What the file of projects says once memory is switched off, or on, for these identities and folders."""
    chosen = {*known, *names} if off else {*known} - {*names}
    return "".join(f"{name}\n" for name in sorted(chosen))


def _context_tokens(text: str) -> int:
    return int(text) if text.strip().isdecimal() and len(text) < 8 else CONTEXT_TOKENS


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(_MOST_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
