"""Which files a search may answer from: a folder of the project and kinds of file, as people write them."""

from __future__ import annotations

import re
from pathlib import Path

from pinakes.errors import BadArgument, NotFound
from pinakes.languages.table import LANGUAGES
from pinakes.store.code import Scope


def scope_of(root: Path, directory: str, file_type: str) -> Scope:
    """The scope that `directory` and `file_type` mean."""
    return Scope(_folder(root, directory.strip()), _suffixes(file_type))


def _folder(root: Path, directory: str) -> str:
    if not directory or directory in (".", "./"):
        return ""
    if "\0" in directory:
        raise BadArgument("The directory is invalid", hint="Give a folder of the project.")
    path = (root / directory).resolve()
    if not path.is_relative_to(root):
        raise BadArgument(f"'{directory}' is outside the project", hint="Give a folder of the project, relative to its root.")
    if not path.is_dir():
        kind = "a file" if path.exists() else "missing"
        raise NotFound(f"'{directory}' is {kind}, not a folder of the project", hint=_folders_hint(root))
    relative = path.relative_to(root).as_posix()
    return "" if relative == "." else relative


def _folders_hint(root: Path) -> str:
    folders = sorted(entry.name for entry in root.iterdir() if entry.is_dir() and not entry.name.startswith("."))
    return f"Top-level folders: {', '.join(folders[:12])}." if folders else ""


def _suffixes(file_type: str) -> tuple[str, ...]:
    by_name = {language.name: language.extensions for language in LANGUAGES}
    suffixes: list[str] = []
    for word in re.split(r"[,\s]+", file_type.strip().lower()):
        name = word.lstrip("*").lstrip(".")
        if name:
            suffixes += by_name.get(name, (f".{name}",))
    return tuple(dict.fromkeys(suffixes))
