"""Edits of single values in JSON text. All other characters are preserved, including comments and indentation."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, TypeAlias

from deltos.clients.jsonc import Container, Item, Json, Node, parse
from deltos.errors import BadConfiguration

if TYPE_CHECKING:
    from collections.abc import Sequence

Path: TypeAlias = "Sequence[str | int]"

_REST_OF_LINE = re.compile(r"[ \t]*(?:/\*[^\n]*?\*/[ \t]*)*(?://[^\r\n]*)?")


def find(node: Node, path: Path) -> Node | None:
    """Return the node at a path of keys and indexes, or None if there is no such node."""
    for key_or_index in path:
        item = _item_at(node, key_or_index)
        if item is None:
            return None
        node = item.value
    return node


def put(text: str, path: Path, value: Json) -> str:
    """Set `value` at `path`, creating missing parents. An index equal to the length of a list appends."""
    node = parse(text)
    for depth, key_or_index in enumerate(path):
        if not isinstance(node, Container) or node.is_object != isinstance(key_or_index, str):
            kind = "an object" if isinstance(key_or_index, str) else "a list"
            raise BadConfiguration(f"{'.'.join(map(str, path[:depth])) or 'the top level'} is not {kind}")
        item = _item_at(node, key_or_index)
        if item is None:
            return _append_on_new_line(text, node, key_or_index, _wrap_in_containers(path[depth + 1 :], value))
        node = item.value
    return text[: node.start] + _serialise(text, value, _indent_at(text, node.start)) + text[node.end :]


def remove(text: str, path: Path) -> str:
    """Remove the value at `path`, including repeated keys. The text is unchanged if there is no value."""
    last = path[-1]
    while isinstance(parent := find(parse(text), path[:-1]), Container) and (item := _item_at(parent, last)):
        text = _remove_item(text, parent, item)
        if isinstance(last, int):
            break
    return text


def is_empty_container(text: str, path: Path) -> bool:
    """Whether the container at `path` is empty and has no comment in it or before it."""
    parent = find(parse(text), path[:-1])
    item = _item_at(parent, path[-1]) if parent is not None else None
    if item is None or not isinstance(item.value, Container):
        return False
    node = item.value
    if isinstance(path[-1], str):
        _, key_end = json.JSONDecoder(strict=False).raw_decode(text, item.start)
        if text[key_end : node.start].strip() != ":":
            return False
    return not text[node.start + 1 : node.end - 1].strip()


def _item_at(node: Node, key_or_index: str | int) -> Item | None:
    if not isinstance(node, Container):
        return None
    if isinstance(key_or_index, int):
        return node.items[key_or_index] if not node.is_object and 0 <= key_or_index < len(node.items) else None
    return next((item for item in reversed(node.items) if node.is_object and item.key == key_or_index), None)


def _wrap_in_containers(steps: Path, value: Json) -> Json:
    for key_or_index in reversed(steps):
        value = {key_or_index: value} if isinstance(key_or_index, str) else [value]
    return value


def _append_on_new_line(text: str, container: Container, key_or_index: str | int, value: Json) -> str:
    if container.items and "\n" not in text[container.start : container.end]:
        return _append_on_same_line(text, container, key_or_index, value)
    indent = _item_indent(text, container)
    line = _newline(text) + indent + _prepend_key(key_or_index, _serialise(text, value, indent))
    if not container.items:
        held = text[container.start + 1 : container.end - 1].rstrip()
        closing = _newline(text) + _indent_at(text, container.start)
        return text[: container.start + 1] + held + line + closing + text[container.end - 1 :]
    last = container.items[-1]
    after = last.comma + 1 if last.comma >= 0 else last.value.end
    rest = _REST_OF_LINE.match(text[after:].partition("\n")[0])
    line_end = after + (rest.end() if rest else 0)
    if last.comma >= 0:  # keep a trailing comma if there was one
        return text[:line_end] + line + "," + text[line_end:]
    return text[: last.value.end] + "," + text[last.value.end : line_end] + line + text[line_end:]


def _append_on_same_line(text: str, container: Container, key_or_index: str | int, value: Json) -> str:
    last = container.items[-1]
    item = _prepend_key(key_or_index, json.dumps(value, ensure_ascii=False))
    if last.comma >= 0:
        return text[: last.comma + 1] + f" {item}," + text[last.comma + 1 :]
    return text[: last.value.end] + f", {item}" + text[last.value.end :]


def _remove_item(text: str, parent: Container, item: Item) -> str:
    position = parent.items.index(item)
    cuts = [(item.start, item.value.end)]
    if item.comma >= 0:
        cuts.append((item.comma, item.comma + 1))
    elif position:
        comma = parent.items[position - 1].comma
        cuts.append((comma, comma + 1))
    for start, end in sorted(cuts, reverse=True):
        start, end = _extend_to_lines(text, start, end) if start == item.start else (start, end)
        text = text[:start] + text[end:]
    return _collapse_if_empty(text, parent.start) if len(parent.items) == 1 else text


def _extend_to_lines(text: str, start: int, end: int) -> tuple[int, int]:
    """Extend a text range to entire lines if the lines contain nothing else, or else to the preceding blanks."""
    line_start = text.rfind("\n", 0, start) + 1
    line_end = text.find("\n", end)
    if line_end >= 0 and not text[line_start:start].strip() and not text[end:line_end].strip():
        return line_start, line_end + 1
    if text[line_start:start].strip():
        start = len(text[:start].rstrip(" \t"))
    return start, end


def _collapse_if_empty(text: str, start: int) -> str:
    """Remove the white space in the container at `start` if it is empty."""
    rest = text[start + 1 :].lstrip()
    return text[: start + 1] + rest if rest.startswith(("]", "}")) else text


def _prepend_key(key_or_index: str | int, written: str) -> str:
    return written if isinstance(key_or_index, int) else f"{json.dumps(key_or_index, ensure_ascii=False)}: {written}"


def _serialise(text: str, value: Json, indent: str) -> str:
    lines = json.dumps(value, ensure_ascii=False, indent=_indent_unit(text)).split("\n")
    return (_newline(text) + indent).join(lines)


def _item_indent(text: str, container: Container) -> str:
    if container.items:
        first = container.items[0].start
        line_start = text.rfind("\n", 0, first) + 1
        if not text[line_start:first].strip():
            return text[line_start:first]
    return _indent_at(text, container.start) + _indent_unit(text)


def _indent_at(text: str, position: int) -> str:
    line_start = text.rfind("\n", 0, position) + 1
    match = re.compile(r"[ \t]*").match(text, line_start)
    return match[0] if match else ""


def _indent_unit(text: str) -> str:
    match = re.search(r"^([ \t]+)[\"\]}]", text, re.MULTILINE)
    return match[1] if match else "  "


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"
