"""Reads JSON with comments and trailing commas into values that know their place in the text. Editing: splice.py."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn, TypeAlias, cast

from deltos.errors import BadConfiguration

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# Mapping and Sequence rather than dict and list: they accept what a caller built with narrower types.
Json: TypeAlias = "str | int | float | bool | Sequence[Json] | Mapping[str, Json] | None"

_BLANK = re.compile(r"(?:[ \t\r\n]+|//[^\n]*|(/\*.*?(?:\*/|(\Z))))*", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*("?)')
_LITERAL = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null")
_DEEPEST = 200


@dataclass(frozen=True, slots=True)
class Scalar:
    """A string, a number, true, false or null, and the stretch of text that it takes."""

    start: int
    end: int
    value: str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class Item:
    """One member of an object or item of a list: `start` is where its key (or value) begins, `comma` is where the comma
    after it stands, or -1."""

    start: int
    value: Node
    comma: int
    key: str = ""


@dataclass(frozen=True, slots=True)
class Container:
    """An object or a list, and the stretch of text that it takes."""

    start: int
    end: int
    items: tuple[Item, ...]
    is_object: bool


Node: TypeAlias = Scalar | Container


def parse(text: str) -> Node:
    """The one value in `text`; raises BadConfiguration with line and column when the text is not JSON."""
    reader = _JsoncReader(text)
    node = reader.value(reader.skip(0), depth=0)
    if (end := reader.skip(node.end)) != len(text):
        reader.fail(end, "something follows the end")
    return node


def read(text: str) -> Json:
    """The plain value of `text`; quick for plain JSON, which most files of many megabytes are."""
    try:
        return cast("Json", json.loads(text, parse_constant=_refuse))
    except (ValueError, RecursionError):
        return data(parse(text))


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def data(node: Node) -> Json:
    """The plain value of a node; of repeated keys the last one counts, as in every JSON reader."""
    if isinstance(node, Scalar):
        return node.value
    if node.is_object:
        return {item.key: data(item.value) for item in node.items}
    return [data(item.value) for item in node.items]


class _JsoncReader:
    def __init__(self, text: str) -> None:
        self._text = text

    def skip(self, position: int) -> int:
        """The first position from here that is neither blank nor comment."""
        match = _BLANK.match(self._text, position)
        if match is None:
            return position
        return match.end() if match[2] is None else match.start(1)  # a comment that does not end is none

    def value(self, position: int, *, depth: int) -> Node:
        if depth > _DEEPEST:
            self.fail(position, "it is nested too deeply")
        match self._text[position : position + 1]:
            case "{" | "[":
                return self._container(position, depth)
            case '"':
                return self._string(position)
            case _:
                return self._literal(position)

    def _container(self, position: int, depth: int) -> Container:
        is_object = self._text[position] == "{"
        close = "}" if is_object else "]"
        items: list[Item] = []
        here = self.skip(position + 1)
        while self._text[here : here + 1] != close:
            if items and items[-1].comma < 0:
                self.fail(here, f"a comma or {close} is missing")
            item = self._item(here, is_object, depth)
            items.append(item)
            here = self.skip(item.comma + 1 if item.comma >= 0 else item.value.end)
        return Container(position, here + 1, tuple(items), is_object)

    def _item(self, position: int, is_object: bool, depth: int) -> Item:
        key, start = "", position
        if is_object:
            if self._text[position : position + 1] != '"':
                self.fail(position, "a key in double quotes is missing")
            name = self._string(position)
            key, colon = str(name.value), self.skip(name.end)
            if self._text[colon : colon + 1] != ":":
                self.fail(colon, "a colon is missing")
            position = self.skip(colon + 1)
        value = self.value(position, depth=depth + 1)
        after = self.skip(value.end)
        return Item(start, value, after if self._text[after : after + 1] == "," else -1, key)

    def _string(self, position: int) -> Scalar:
        match = _STRING.match(self._text, position)
        if match is None or not match[1]:
            self.fail(position, "a string does not end")
        try:
            return Scalar(position, match.end(), json.loads(match[0]))
        except ValueError:
            self.fail(position, "a string has an unknown escape")

    def _literal(self, position: int) -> Scalar:
        match = _LITERAL.match(self._text, position)
        if match is None:
            self.fail(position, "a value is missing")
        try:
            return Scalar(position, match.end(), json.loads(match[0]))
        except ValueError:  # Python refuses to read integers of thousands of digits
            self.fail(position, "a number is too long")

    def fail(self, position: int, what: str) -> NoReturn:
        line = self._text.count("\n", 0, position) + 1
        column = position - (self._text.rfind("\n", 0, position) + 1) + 1
        raise BadConfiguration(f"line {line}, column {column}: {what}")
