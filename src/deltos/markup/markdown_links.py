"""The addresses that a Markdown text mentions, found in one pass: nothing is read twice, whatever is left open."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_BRACKET = re.compile(r"[\[\]]")
_TARGET = re.compile(r"\s*+<?+")  # what stands before an address
_TARGET_END = re.compile(r"[\s)>]")
_DEFINITION = re.compile(r"^ {0,3}\[", re.MULTILINE)
_WORD = re.compile(r"\S+")
_NO_BLANK = re.compile(r"\S")
_AUTOLINK = re.compile(r"<(https?://[^\s<>]+)>")


def inline_links(text: str) -> Iterator[tuple[str, str]]:
    """Label and address of every `[label](address "title")`, pictures left out."""
    brackets = [found.start() for found in _BRACKET.finditer(text)]
    ends = _label_ends(text, brackets)
    targets = _Targets(text)
    done = 0
    for start, end in zip(brackets, ends, strict=True):
        if start < done or end is None or text[start] != "[" or text[end + 1 : end + 2] != "(":
            continue
        if (found := targets.at(end + 2)) is not None:
            address, after = found
            if start == done or text[start - 1] != "!":
                yield text[start + 1 : end], address
            done = after


def _label_ends(text: str, brackets: list[int]) -> list[int | None]:
    """For each opening bracket where its label ends: at the first closing one that no bracket inside has taken."""
    inside: list[int | None] = [None] * (len(brackets) + 1)  # where a label ends that goes on at this bracket
    ends: list[int | None] = [None] * len(brackets)
    closing: int | None = None  # the next closing bracket, by its number
    for number in range(len(brackets) - 1, -1, -1):
        ends[number] = inside[number + 1]
        if text[brackets[number]] == "]":
            closing = number
            inside[number] = brackets[number]
        elif closing is not None:  # brackets inside a label do not nest: the next closing one ends them
            inside[number] = inside[closing + 1]
    return ends


class _Targets:
    """Reads addresses in parentheses. What several of them run into (blanks, a parenthesis) is looked for once."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._begins: list[int] = []  # runs of characters that may be an address, and where they end
        self._ends: list[int] = []
        self._after: dict[int, int] = {}
        self._closing = (0, -1)  # the last search for a parenthesis: from where, found where

    def at(self, start: int) -> tuple[str, int] | None:
        """The address that begins after a parenthesis, and where its closing parenthesis ends; None if it has none."""
        before = _TARGET.match(self._text, start)
        begin = before.end() if before else start
        end = self._run_end(begin)
        if end == begin and self._text[begin - 1] == "<":  # the sign alone is the address
            begin -= 1
        after = self._closed(end) if end > begin else 0
        return (self._text[begin:end], after) if after else None

    def _run_end(self, begin: int) -> int:
        number = bisect_right(self._begins, begin)
        if number and begin <= self._ends[number - 1]:
            return self._ends[number - 1]
        is_last = number == len(self._begins)
        found = _TARGET_END.search(self._text, begin, len(self._text) if is_last else self._begins[number])
        end = found.start() if found else len(self._text) if is_last else self._ends[number]
        self._begins.insert(number, begin)
        self._ends.insert(number, end)
        return end

    def _closed(self, end: int) -> int:
        """Where the parenthesis after an address ends, its title included; 0 if it does not."""
        if end not in self._after:
            at = end + self._text.startswith(">", end)
            title = _NO_BLANK.search(self._text, at)  # alone: a word can be as long as the text, and links many
            if title and title.start() > at and title.group() in "\"'(":
                at = self._parenthesis(title.start() + 1)
            self._after[end] = at + 1 if at >= 0 and self._text.startswith(")", at) else 0
        return self._after[end]

    def _parenthesis(self, start: int) -> int:
        searched, found = self._closing
        if not (searched <= start <= found or (found < 0 and 0 < searched <= start)):
            found = self._text.find(")", start)
            self._closing = (start, found)
        return found


def defined_links(text: str) -> Iterator[str]:
    """The address of every `[label]: address` that begins a line."""
    done, closing = 0, -1
    for opening in _DEFINITION.finditer(text):
        label = opening.end()
        if opening.start() < done:
            continue
        if closing < label:
            closing = text.find("]", label)
            if closing < 0:
                return
        if closing > label and text.startswith(":", closing + 1) and (found := _WORD.search(text, closing + 2)):
            yield _bare(found.group())
            done = found.end() + 1


def _bare(address: str) -> str:
    address = address[1:] if address.startswith("<") and len(address) > 1 else address
    return address[:-1] if address.endswith(">") and len(address) > 1 else address


def automatic_links(text: str) -> list[str]:
    """The address of every `<https://…>`."""
    return _AUTOLINK.findall(text)


def without_links(text: str) -> str:
    """The text with every link and picture replaced by its label."""
    kept: list[str] = []
    done = at = 0
    while (start := text.find("[", at)) >= 0 and (label_end := text.find("]", start)) >= 0:
        at = label_end + 1
        if not text.startswith("(", at):
            continue
        end = text.find(")", at)
        if end < 0:
            break
        is_image = start > done and text[start - 1] == "!"
        kept += (text[done : start - is_image], text[start + 1 : label_end])
        done = at = end + 1
    return "".join((*kept, text[done:]))
