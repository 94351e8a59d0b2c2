"""Parse the `directory` and `file_type` parameters into the scope of a search."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from deltos.errors import BadArgument, NoSuchFolder
from deltos.languages.table import LANGUAGES
from deltos.store.code import FileScope

if TYPE_CHECKING:
    from pathlib import Path

MAX_FILE_TYPES = 30
_MAX_FILE_TYPE_CHARACTERS = 60
_MAX_SHOWN_CHARACTERS = 200
# Common names of languages that are neither registered language names nor file extensions.
_LANGUAGE_ALIASES = {"c++": "cpp", "c#": "csharp", "golang": "go", "shell": "bash", "objective-c": "objc"}


def scope_of(root: Path, directory: str, file_type: str) -> FileScope:
    """Return the scope for `directory` and `file_type`."""
    return FileScope(_relative_folder(root, directory.strip()), _file_suffixes(file_type))


def _relative_folder(root: Path, directory: str) -> str:
    """Return the path of a folder relative to the project root; raise BadArgument or NoSuchFolder."""
    shown = directory[:_MAX_SHOWN_CHARACTERS]
    try:
        path = (root / directory).resolve()
        is_folder, exists = path.is_dir(), path.exists()
    except (OSError, RuntimeError, ValueError):  # for example, the path contains a link loop or a NUL character
        raise BadArgument(f"'{shown}' is not a valid path", hint="Pass a folder of the project.") from None
    if not path.is_relative_to(root):
        raise BadArgument(f"'{shown}' is outside the project", hint="Pass a folder relative to the project's root.")
    if not is_folder and root.is_dir():  # if the project has no files on disk, any folder is accepted
        kind = "a file" if exists else "missing"
        raise NoSuchFolder(f"'{shown}' is {kind}, not a folder of the project", hint=_folders_hint(root))
    relative = path.relative_to(root).as_posix()
    return "" if relative == "." else relative


def _folders_hint(root: Path) -> str:
    folders = sorted(entry.name for entry in root.iterdir() if entry.is_dir() and not entry.name.startswith("."))
    return f"Top-level folders: {', '.join(folders[:12])}." if folders else ""


def _file_suffixes(file_type: str) -> tuple[str, ...]:
    """Return the name suffixes of the given file types."""
    words = [word for word in re.split(r"[,;|\s]+", file_type.lower()) if word.strip("*.")]
    if len(words) > MAX_FILE_TYPES or any(len(word) > _MAX_FILE_TYPE_CHARACTERS for word in words):
        raise BadArgument("Too many or too long file types", hint="Pass a few file types, such as 'py' or 'ts,tsx'.")
    by_name = {language.name: (*language.extensions, *language.filenames) for language in LANGUAGES}
    suffixes: list[str] = []
    for word in words:
        name = word.lstrip("*").lstrip(".")
        suffixes += by_name.get(_LANGUAGE_ALIASES.get(name, name)) or (f".{name}",)
    return tuple(dict.fromkeys(suffixes))
