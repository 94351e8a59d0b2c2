"""Change single tables inside TOML text.

New tables are added at the end and old ones are removed by whole lines, so that comments are kept; tomlkit edits inline
tables and dotted keys.
"""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, cast

from deltos.errors import BadConfiguration

if TYPE_CHECKING:
    from collections.abc import MutableMapping

    from deltos.clients.json_edit import Path
    from deltos.clients.jsonc import Json


_MAX_KEY_PARTS = 64


def read(text: str) -> Json:
    """Parse TOML text to plain data; raises BadConfiguration if it is invalid."""
    if any(line.partition("=")[0].count(".") >= _MAX_KEY_PARTS for line in text.splitlines()):
        # tomllib's time grows with the square of the number of parts
        raise BadConfiguration(f"it has a key of more than {_MAX_KEY_PARTS} parts")
    try:
        return cast("Json", tomllib.loads(text))
    except (tomllib.TOMLDecodeError, RecursionError) as exc:
        raise BadConfiguration(str(exc) or "it is nested too deeply") from None


def put(text: str, path: Path, value: Json) -> str:
    """Set `value` at `path`; a new table is added at the end."""
    if isinstance(value, dict) and not _has(read(text), path):
        appended = _appended(text, path, value)
        if _reads(appended):
            return appended
    return _put_with_tomlkit(text, path, value)


def remove(text: str, path: Path) -> str:
    """Remove the table at `path`, and parents that become empty."""
    if not _has(read(text), path):
        return text
    cut = _without_lines(text, path)
    return cut if _reads(cut) and not _has(read(cut), path) else _removed_with_tomlkit(text, path)


def _has(value: Json, path: Path) -> bool:
    for step in path:
        if not isinstance(value, dict) or step not in value:
            return False
        value = value[step]
    return True


def _reads(text: str) -> bool:
    try:
        read(text)
    except BadConfiguration:
        return False
    return True


def _appended(text: str, path: Path, value: dict[str, Json]) -> str:
    import tomlkit  # deferred: only clients with TOML files need it

    block = f"[{'.'.join(map(str, path))}]\n{tomlkit.dumps(value)}"
    gap = "\n" if text.strip() else ""
    whole = text + ("" if not text or text.endswith("\n") else "\n") + gap
    newline = "\r\n" if "\r\n" in text else "\n"
    return whole.replace("\r\n", "\n").replace("\n", newline) + block.replace("\n", newline)


def _without_lines(text: str, path: Path) -> str:
    """Drop the table's header, its keys and its sub-tables, but not the comments before the next table."""
    name = [str(step) for step in path]
    kept: list[str] = []
    held: list[str] = []  # comments and blank lines inside our table: kept if another table follows
    ours = False
    for line in text.splitlines(keepends=True):
        if line.lstrip().startswith("["):
            was_ours, ours = ours, _header(line)[: len(name)] == name
            if was_ours and not ours:
                kept += held
            held = []
        if not ours:
            kept.append(line)
        elif not line.strip() or line.lstrip().startswith("#"):
            held.append(line)
        else:
            held = []
    if ours:
        kept += [line for line in held if line.strip()]
    return _without_final_gap("".join(kept)) if ours else "".join(kept)


def _header(line: str) -> list[str]:
    """Names in a table's header; wrong for names with a dot or bracket, which are never ours."""
    inside = line.strip().removeprefix("[").partition("]")[0]
    return [name.strip().removeprefix('"').removesuffix('"') for name in inside.split(".")]


def _without_final_gap(text: str) -> str:
    """Drop the blank lines at the end."""
    gap = text[len(text.rstrip(" \t\r\n")) :]
    return text[: len(text) - len(gap) + gap.find("\n") + 1] if gap.endswith("\n") else text


def _put_with_tomlkit(text: str, path: Path, value: Json) -> str:
    import tomlkit  # deferred, as above

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


def _removed_with_tomlkit(text: str, path: Path) -> str:
    import tomlkit  # deferred, as above

    document = tomlkit.parse(text)
    table = cast("MutableMapping[str, object]", document)
    for step in path[:-1]:
        table = cast("MutableMapping[str, object]", table[str(step)])
    del table[str(path[-1])]
    return tomlkit.dumps(document)
