"""Parser of JSON with comments and trailing commas, which returns values with their positions."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn, TypeAlias, cast

from deltos.errors import BadConfiguration

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# Mapping and Sequence are covariant, unlike dict and list.
Json: TypeAlias = "str | int | float | bool | Sequence[Json] | Mapping[str, Json] | None"

_WHITE_SPACE_AND_COMMENTS = re.compile(r"(?:[ \t\r\n]+|//[^\n]*|(/\*.*?(?:\*/|(\Z))))*", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*("?)')
_LITERAL = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null")
_MAX_NESTING_DEPTH = 200  # maximum nesting depth of objects and lists


@dataclass(frozen=True, slots=True)
class Scalar:
    """A string, number, true, false or null, and its range in the text."""

    start: int
    end: int
    value: str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class Item:
    """A member of an object or an item of a list.

    `start` is the position of its key or value, and `comma` is the position of the next comma or -1.
    """

    start: int
    value: Node
    comma: int
    key: str = ""


@dataclass(frozen=True, slots=True)
class Container:
    """An object or a list, and its range in the text."""

    start: int
    end: int
    items: tuple[Item, ...]
    is_object: bool


Node: TypeAlias = Scalar | Container


def parse(text: str) -> Node:
    """Parse one JSON value. Raise BadConfiguration with the line and column if the text is invalid."""
    reader = _JsoncReader(text)
    node = reader.value(reader.skip(0), depth=0)
    if (end := reader.skip(node.end)) != len(text):
        reader.fail(end, "unexpected text after the end")
    return node


def read(text: str) -> Json:
    """Parse `text` to plain data, with a fast path for JSON without comments."""
    try:
        return cast("Json", json.loads(text, parse_constant=_refuse_constant))
    except (ValueError, RecursionError):
        return data(parse(text))


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def data(node: Node) -> Json:
    """Convert a node to plain data. The last of repeated keys is used, as in most JSON parsers."""
    if isinstance(node, Scalar):
        return node.value
    if node.is_object:
        return {item.key: data(item.value) for item in node.items}
    return [data(item.value) for item in node.items]


class _JsoncReader:
    """Recursive-descent parser of one JSON text."""

    def __init__(self, text: str) -> None:
        self._text = text

    def skip(self, position: int) -> int:
        """Return the position after white space and comments."""
        match = _WHITE_SPACE_AND_COMMENTS.match(self._text, position)
        if match is None:
            return position
        # If the comment is unterminated, return the position at which it starts.
        return match.end() if match[2] is None else match.start(1)

    def value(self, position: int, *, depth: int) -> Node:
        if depth > _MAX_NESTING_DEPTH:
            self.fail(position, "it is nested too deeply")
        match self._text[position : position + 1]:
            case "{" | "[":
                return self._read_container(position, depth)
            case '"':
                return self._read_string(position)
            case _:
                return self._read_literal(position)

    def _read_container(self, position: int, depth: int) -> Container:
        is_object = self._text[position] == "{"
        close = "}" if is_object else "]"
        items: list[Item] = []
        here = self.skip(position + 1)
        while self._text[here : here + 1] != close:
            if items and items[-1].comma < 0:
                self.fail(here, f"expected a comma or {close}")
            item = self._read_item(here, is_object, depth)
            items.append(item)
            here = self.skip(item.comma + 1 if item.comma >= 0 else item.value.end)
        return Container(position, here + 1, tuple(items), is_object)

    def _read_item(self, position: int, is_object: bool, depth: int) -> Item:
        key, start = "", position
        if is_object:
            if self._text[position : position + 1] != '"':
                self.fail(position, "expected a key in double quotes")
            name = self._read_string(position)
            key, colon = str(name.value), self.skip(name.end)
            if self._text[colon : colon + 1] != ":":
                self.fail(colon, "expected a colon")
            position = self.skip(colon + 1)
        value = self.value(position, depth=depth + 1)
        after = self.skip(value.end)
        return Item(start, value, after if self._text[after : after + 1] == "," else -1, key)

    def _read_string(self, position: int) -> Scalar:
        match = _STRING.match(self._text, position)
        if match is None or not match[1]:
            self.fail(position, "unterminated string")
        try:
            return Scalar(position, match.end(), json.loads(match[0]))
        except ValueError:
            self.fail(position, "unknown escape in a string")

    def _read_literal(self, position: int) -> Scalar:
        match = _LITERAL.match(self._text, position)
        if match is None:
            self.fail(position, "expected a value")
        try:
            return Scalar(position, match.end(), json.loads(match[0]))
        except ValueError:  # Python limits the number of digits of an integer
            self.fail(position, "a number is too long")

    def fail(self, position: int, what: str) -> NoReturn:
        line = self._text.count("\n", 0, position) + 1
        column = position - (self._text.rfind("\n", 0, position) + 1) + 1
        raise BadConfiguration(f"line {line}, column {column}: {what}")
