"""Edits of configuration text in all supported formats. Each edit is verified by parsing the result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from deltos.clients import json_edit, jsonc, toml_edit
from deltos.errors import BadConfiguration

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from deltos.clients.json_edit import Path
    from deltos.clients.jsonc import Json


@dataclass(frozen=True, slots=True)
class Put:
    """A change that sets the value at a path of keys and list indexes."""

    path: Path
    value: Json


@dataclass(frozen=True, slots=True)
class Remove:
    """A change that removes the value at a path, and the enclosing objects that become empty."""

    path: Path


Change = Put | Remove


@dataclass(frozen=True, slots=True)
class Format:
    """A configuration format with functions that read and edit it. `blank` is the shortest valid document."""

    name: str
    blank: str
    read: Callable[[str], Json]
    put: Callable[[str, Path, Json], str]
    remove: Callable[[str, Path], str]


def _remove_json(text: str, path: Path) -> str:
    text = json_edit.remove(text, path)
    for length in range(len(path) - 1, 0, -1):
        if not json_edit.is_empty_container(text, path[:length]):
            break
        text = json_edit.remove(text, path[:length])
    return text


JSON = Format("JSON", "{}\n", jsonc.read, json_edit.put, _remove_json)
TOML = Format("TOML", "", toml_edit.read, toml_edit.put, toml_edit.remove)


def read_table(form: Format, text: str) -> dict[str, Json]:
    """Parse the text as a table. Empty text is an empty table."""
    value = form.read(text if text.strip() else form.blank)
    if not isinstance(value, dict):
        raise BadConfiguration("its top level is not an object")
    return value


def change_text(form: Format, text: str, changes: Iterable[Change]) -> str:
    """Apply the changes and keep all other text. Raise BadConfiguration if that is impossible."""
    text = text if text.strip() else form.blank
    for change in changes:
        before = read_table(form, text)
        match change:
            case Put(path, value):
                text = form.put(text, path, value)
            case Remove(path):
                text = form.remove(text, path)
        try:
            is_done = _has_expected_result(change, before, read_table(form, text))
        except RecursionError:
            raise BadConfiguration("it is nested too deeply") from None
        if not is_done:
            raise BadConfiguration("its layout cannot be edited safely")
    return text


def _has_expected_result(change: Change, before: dict[str, Json], after: dict[str, Json]) -> bool:
    wanted = _apply_to_data(change, before)
    if isinstance(change, Put):
        return after == wanted
    parent = change.path[:-1]
    return _remove_empty_containers(after, parent) == _remove_empty_containers(wanted, parent)


def _apply_to_data(change: Change, table: dict[str, Json]) -> dict[str, Json]:
    """Apply a change to parsed data. The returned table is the expected result of the text edit."""
    holder = cast("Any", table)  # a dict or list
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


def _remove_empty_containers(table: dict[str, Json], path: Path) -> dict[str, Json]:
    """Remove the containers along `path` that are empty."""
    for length in range(len(path), 0, -1):
        holder = cast("Any", table)
        for step in path[: length - 1]:
            holder = holder.get(step, {}) if isinstance(holder, dict) else holder[step]
        if isinstance(holder, dict) and holder.get(path[length - 1], 1) in ({}, []):
            del holder[path[length - 1]]
    return table
