"""One way to change a configuration text, whatever its format; every change is checked by reading the result back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from deltos.clients import json_edit, jsonc, toml_edit, yaml_edit
from deltos.errors import BadConfiguration

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from deltos.clients.json_edit import Path
    from deltos.clients.jsonc import Json


@dataclass(frozen=True, slots=True)
class Put:
    """Let this value stand at this path."""

    path: Path
    value: Json


@dataclass(frozen=True, slots=True)
class Remove:
    """Let nothing stand at this path, nor a parent that held only that."""

    path: Path


Change = Put | Remove


@dataclass(frozen=True, slots=True)
class Format:
    """How one kind of text is read and edited. `blank` is the smallest text that holds nothing."""

    name: str
    blank: str
    read: Callable[[str], Json]
    put: Callable[[str, Path, Json], str]
    remove: Callable[[str, Path], str]


def _remove_json(text: str, path: Path) -> str:
    text = json_edit.remove(text, path)
    for length in range(len(path) - 1, 0, -1):
        if not json_edit.is_bare(text, path[:length]):
            break
        text = json_edit.remove(text, path[:length])
    return text


JSON = Format("JSON", "{}\n", jsonc.read, json_edit.put, _remove_json)
YAML = Format("YAML", "", yaml_edit.read, yaml_edit.put, yaml_edit.remove)
TOML = Format("TOML", "", toml_edit.read, toml_edit.put, toml_edit.remove)


def read_table(form: Format, text: str) -> dict[str, Json]:
    """The whole text as a table of keys; a blank text is an empty one."""
    value = form.read(text if text.strip() else form.blank)
    if not isinstance(value, dict):
        raise BadConfiguration("it does not hold an object")
    return value


def change_text(form: Format, text: str, changes: Iterable[Change]) -> str:
    """The text after all changes, with nothing else in it changed; raises BadConfiguration when that cannot be done."""
    text = text if text.strip() else form.blank
    for change in changes:
        before = read_table(form, text)
        match change:
            case Put(path, value):
                text = form.put(text, path, value)
            case Remove(path):
                text = form.remove(text, path)
        try:
            is_done = _is_what_was_asked(change, before, read_table(form, text))
        except RecursionError:
            raise BadConfiguration("it is nested too deeply") from None
        if not is_done:
            raise BadConfiguration("it is written in a way that cannot be edited without a risk")
    return text


def _is_what_was_asked(change: Change, before: dict[str, Json], after: dict[str, Json]) -> bool:
    wanted = _make(change, before)
    if isinstance(change, Put):
        return after == wanted
    parent = change.path[:-1]
    return _without_empty(after, parent) == _without_empty(wanted, parent)


def _make(change: Change, table: dict[str, Json]) -> dict[str, Json]:
    """Make the change in plain data, in place: what the text must say afterwards."""
    holder = cast("Any", table)  # dicts and lists alike, down the path
    for step, following in zip(change.path[:-1], change.path[1:], strict=True):
        if isinstance(holder, dict) and step not in holder:
            holder[step] = {} if isinstance(following, str) else []
        holder = holder[step]
    last = change.path[-1]
    match change:
        case Put(_, value) if last == len(holder) and isinstance(holder, list):
            holder.append(value)
        case Put(_, value):
            holder[last] = value
        case Remove():
            del holder[last]
    return table


def _without_empty(table: dict[str, Json], path: Path) -> dict[str, Json]:
    """Take out, in place, the containers on the way to `path` that hold nothing."""
    for length in range(len(path), 0, -1):
        holder = cast("Any", table)
        for step in path[: length - 1]:
            holder = holder.get(step, {}) if isinstance(holder, dict) else holder[step]
        if isinstance(holder, dict) and holder.get(path[length - 1], 1) in ({}, []):
            del holder[path[length - 1]]
    return table
