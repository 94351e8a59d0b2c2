"""Changes to single tables in TOML text.

Tables are appended at the end and removed line by line, so that comments are kept. Inline tables and dotted
keys are edited by tomlkit.
"""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, cast

from deltos.errors import BadConfiguration

if TYPE_CHECKING:
    from collections.abc import MutableMapping

    from deltos.clients.json_edit import Path
    from deltos.clients.jsonc import Json


_MAX_KEY_PARTS = 64  # maximum number of parts of a dotted key


def read(text: str) -> Json:
    """Parse TOML text to plain data. Raise BadConfiguration if it is invalid."""
    if any(line.partition("=")[0].count(".") >= _MAX_KEY_PARTS for line in text.splitlines()):
        # Long keys are refused, because the running time of tomllib is quadratic in the number of parts.
        raise BadConfiguration(f"it has a key with more than {_MAX_KEY_PARTS} parts")
    try:
        return cast("Json", tomllib.loads(text))
    except (tomllib.TOMLDecodeError, RecursionError) as exc:
        raise BadConfiguration(str(exc) or "it is nested too deeply") from None


def put(text: str, path: Path, value: Json) -> str:
    """Set `value` at `path`. New tables are appended to the text."""
    if isinstance(value, dict) and not _has_path(read(text), path):
        appended = _append_table(text, path, value)
        if _is_valid(appended):
            return appended
    return _put_with_tomlkit(text, path, value)


def remove(text: str, path: Path) -> str:
    """Remove the table at `path`, and the enclosing tables that become empty."""
    if not _has_path(read(text), path):
        return text
    cut = _remove_table_lines(text, path)
    return cut if _is_valid(cut) and not _has_path(read(cut), path) else _remove_with_tomlkit(text, path)


def _has_path(value: Json, path: Path) -> bool:
    for step in path:
        if not isinstance(value, dict) or step not in value:
            return False
        value = value[step]
    return True


def _is_valid(text: str) -> bool:
    try:
        read(text)
    except BadConfiguration:
        return False
    return True


def _append_table(text: str, path: Path, value: dict[str, Json]) -> str:
    import tomlkit  # deferred import: only clients with TOML files need it

    block = f"[{'.'.join(map(str, path))}]\n{tomlkit.dumps(value)}"
    gap = "\n" if text.strip() else ""
    whole = text + ("" if not text or text.endswith("\n") else "\n") + gap
    newline = "\r\n" if "\r\n" in text else "\n"
    return whole.replace("\r\n", "\n").replace("\n", newline) + block.replace("\n", newline)


def _remove_table_lines(text: str, path: Path) -> str:
    """Remove a table with its sub-tables, except for the comments before the next table."""
    name = [str(step) for step in path]
    kept: list[str] = []
    # Comments and blank lines at the end of the removed table, which are kept if another table follows.
    trailing_comments: list[str] = []
    is_removed = False
    for line in text.splitlines(keepends=True):
        if line.lstrip().startswith("["):
            was_removed, is_removed = is_removed, _header_names(line)[: len(name)] == name
            if was_removed and not is_removed:
                kept += trailing_comments
            trailing_comments = []
        if not is_removed:
            kept.append(line)
        elif not line.strip() or line.lstrip().startswith("#"):
            trailing_comments.append(line)
        else:
            trailing_comments = []
    if is_removed:
        kept += [line for line in trailing_comments if line.strip()]
    return _remove_final_blank_lines("".join(kept)) if is_removed else "".join(kept)


def _header_names(line: str) -> list[str]:
    """Split a table header into names: `[mcp_servers.deltos]` into `mcp_servers` and `deltos`."""
    # Quoted names that contain dots or brackets are not supported, because Deltos writes no such names.
    inside = line.strip().removeprefix("[").partition("]")[0]
    return [name.strip().removeprefix('"').removesuffix('"') for name in inside.split(".")]


def _remove_final_blank_lines(text: str) -> str:
    """Remove the blank lines at the end of the text."""
    gap = text[len(text.rstrip(" \t\r\n")) :]
    return text[: len(text) - len(gap) + gap.find("\n") + 1] if gap.endswith("\n") else text


def _put_with_tomlkit(text: str, path: Path, value: Json) -> str:
    import tomlkit  # deferred import: only clients with TOML files need it

    document = tomlkit.parse(text)
    table = cast("MutableMapping[str, object]", document)
    for depth, step in enumerate(path[:-1]):
        if str(step) not in table:
            table[str(step)] = tomlkit.table(is_super_table=True)
        held = table[str(step)]
        if not isinstance(held, dict):
            raise BadConfiguration(f"{'.'.join(map(str, path[: depth + 1]))} is not a table")
        table = cast("MutableMapping[str, object]", held)
    table[str(path[-1])] = value
    return tomlkit.dumps(document)


def _remove_with_tomlkit(text: str, path: Path) -> str:
    import tomlkit  # deferred import: only clients with TOML files need it

    document = tomlkit.parse(text)
    table = cast("MutableMapping[str, object]", document)
    for step in path[:-1]:
        table = cast("MutableMapping[str, object]", table[str(step)])
    del table[str(path[-1])]
    return tomlkit.dumps(document)
