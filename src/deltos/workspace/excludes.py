"""git's exclude files beyond .gitignore: the repository's own `info/exclude`, and the one that the user chose for all
repositories. Of the user's git settings nothing else is read, of the repository's none."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from deltos.errors import FileRefused
from deltos.files import read_below, read_own
from deltos.workspace.ignores import MAX_IGNORE_BYTES, IgnoreRules, rules_in
from deltos.workspace.repository import MAX_SETTINGS_BYTES, parse_settings

if TYPE_CHECKING:
    from deltos.workspace.repository import Repository

_MOST_INCLUDES = 10


def repository_excludes(repository: Repository) -> IgnoreRules:
    """What `info/exclude` of a repository says; nothing when it cannot be read."""
    try:
        return rules_in(read_below(repository.common, "info/exclude", MAX_IGNORE_BYTES))
    except FileRefused:
        return IgnoreRules()


def user_excludes() -> IgnoreRules:
    """What the user wants excluded everywhere: `core.excludesFile`, or git's default place for it."""
    try:
        home = Path.home()
    except RuntimeError:  # the home folder is not known
        return IgnoreRules()
    settings_home = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config") / "git"
    chosen = str(settings_home / "ignore")
    for file in (Path("/etc/gitconfig"), settings_home / "config", home / ".gitconfig"):
        chosen = _chosen_in(file, home, _MOST_INCLUDES) or chosen
    try:
        return rules_in(read_own(_expanded(chosen, home, home), MAX_IGNORE_BYTES))
    except FileRefused:
        return IgnoreRules()


def _chosen_in(file: Path, home: Path, depth: int) -> str:
    """The last `core.excludesFile` of a file of settings and of those that it includes; empty when it has none."""
    try:
        text = read_own(file, MAX_SETTINGS_BYTES).decode("utf-8", "replace")
    except FileRefused:
        return ""
    chosen = ""
    for setting in parse_settings(text):
        if setting[:3] == ("core", "", "excludesfile"):
            chosen = str(_expanded(setting.value, home, file.parent))
        elif setting[:3] == ("include", "", "path") and depth:
            chosen = _chosen_in(_expanded(setting.value, home, file.parent), home, depth - 1) or chosen
    return chosen


def _expanded(path: str, home: Path, folder: Path) -> Path:
    return home / path[2:] if path.startswith("~/") else folder / path
