"""Git's exclude files other than .gitignore: `info/exclude` of the repository, and the user's global exclude file.

Only `core.excludesFile` is read from the user's git settings. The settings of the repository are ignored.
"""

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

_MAX_INCLUDES = 10


def repository_excludes(repository: Repository) -> IgnoreRules:
    """Return the rules in a repository's `info/exclude`, or no rules if the file cannot be read."""
    try:
        return rules_in(read_below(repository.common, "info/exclude", MAX_IGNORE_BYTES))
    except FileRefused:
        return IgnoreRules()


def user_excludes() -> IgnoreRules:
    """Return the rules in the user's `core.excludesFile`, or in the exclude file at git's default location."""
    try:
        home = Path.home()
    except RuntimeError:  # the home folder is unknown
        return IgnoreRules()
    settings_home = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config") / "git"
    excludes_file = str(settings_home / "ignore")
    for file in (Path("/etc/gitconfig"), settings_home / "config", home / ".gitconfig"):
        excludes_file = _excludes_file_in(file, home, _MAX_INCLUDES) or excludes_file
    try:
        return rules_in(read_own(_expand_path(excludes_file, home, home), MAX_IGNORE_BYTES))
    except FileRefused:
        return IgnoreRules()


def _excludes_file_in(file: Path, home: Path, depth: int) -> str:
    """Return the last `core.excludesFile` in a settings file and in the files that it includes, or an empty string."""
    try:
        text = read_own(file, MAX_SETTINGS_BYTES).decode("utf-8", "replace")
    except FileRefused:
        return ""
    excludes_file = ""
    for setting in parse_settings(text):
        if setting[:3] == ("core", "", "excludesfile"):
            excludes_file = str(_expand_path(setting.value, home, file.parent))
        elif setting[:3] == ("include", "", "path") and depth:
            excludes_file = (
                _excludes_file_in(_expand_path(setting.value, home, file.parent), home, depth - 1) or excludes_file
            )
    return excludes_file


def _expand_path(path: str, home: Path, folder: Path) -> Path:
    return home / path[2:] if path.startswith("~/") else folder / path
