"""Search for links in Markdown, in linear time even if brackets are not balanced."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_BRACKET = re.compile(r"[\[\]]")
_BEFORE_TARGET = re.compile(r"\s*+<?+")  # white space and `<` before a link target
_TARGET_END = re.compile(r"[\s)>]")
_DEFINITION = re.compile(r"^ {0,3}\[", re.MULTILINE)
_WORD = re.compile(r"\S+")
_NON_BLANK = re.compile(r"\S")
_AUTOLINK = re.compile(r"<(https?://[^\s<>]+)>")


def inline_links(text: str) -> Iterator[tuple[str, str]]:
    """Yield the label and target of each link `[label](target "title")`."""
    brackets = [found.start() for found in _BRACKET.finditer(text)]
    ends = _label_ends(text, brackets)
    targets = _LinkTargetReader(text)
    done = 0
    for start, end in zip(brackets, ends, strict=True):
        if start < done or end is None or text[start] != "[" or text[end + 1 : end + 2] != "(":
            continue
        if (found := targets.read_target(end + 2)) is not None:
            address, after = found
            if start == done or text[start - 1] != "!":
                yield text[start + 1 : end], address
            done = after


def _label_ends(text: str, brackets: list[int]) -> list[int | None]:
    """Return, for each bracket, the position of the bracket that closes the label, or None if it opens no label."""
    # For each bracket, the end of the label that contains it.
    inside: list[int | None] = [None] * (len(brackets) + 1)
    ends: list[int | None] = [None] * len(brackets)
    closing: int | None = None  # index of the next closing bracket
    for number in range(len(brackets) - 1, -1, -1):
        ends[number] = inside[number + 1]
        if text[brackets[number]] == "]":
            closing = number
            inside[number] = brackets[number]
        # Labels may contain only one level of brackets, so the next closing bracket ends the inner label.
        elif closing is not None:
            inside[number] = inside[closing + 1]
    return ends


class _LinkTargetReader:
    """Reads link targets in parentheses. No part of the text is searched more than once."""

    def __init__(self, text: str) -> None:
        self._text = text
        # Starts and ends of sequences of characters that may occur in targets: all except white space, `)` and `>`.
        self._run_starts: list[int] = []
        self._run_ends: list[int] = []
        # The position after the closing parenthesis for each end of a target.
        self._parenthesis_ends: dict[int, int] = {}
        self._last_search = (0, -1)  # start and result of the last search for a closing parenthesis

    def read_target(self, start: int) -> tuple[str, int] | None:
        """Return the link target at `start` and the position after its closing parenthesis, or None."""
        before = _BEFORE_TARGET.match(self._text, start)
        begin = before.end() if before else start
        end = self._run_end(begin)
        if end == begin and self._text[begin - 1] == "<":  # without any other character, `<` is the target
            begin -= 1
        after = self._closing_parenthesis_end(end) if end > begin else 0
        return (self._text[begin:end], after) if after else None

    def _run_end(self, begin: int) -> int:
        """Return the end of the sequence of target characters that contains the position `begin`."""
        number = bisect_right(self._run_starts, begin)
        if number and begin <= self._run_ends[number - 1]:
            return self._run_ends[number - 1]
        is_last = number == len(self._run_starts)
        found = _TARGET_END.search(self._text, begin, len(self._text) if is_last else self._run_starts[number])
        end = found.start() if found else len(self._text) if is_last else self._run_ends[number]
        self._run_starts.insert(number, begin)
        self._run_ends.insert(number, end)
        return end

    def _closing_parenthesis_end(self, end: int) -> int:
        """Return the position after the closing parenthesis of a link, or 0 if it is missing."""
        if end not in self._parenthesis_ends:
            at = end + self._text.startswith(">", end)
            # The pattern matches only one character. If it matched entire words, the time would be quadratic.
            title = _NON_BLANK.search(self._text, at)
            if title and title.start() > at and title.group() in "\"'(":
                at = self._next_parenthesis(title.start() + 1)
            self._parenthesis_ends[end] = at + 1 if at >= 0 and self._text.startswith(")", at) else 0
        return self._parenthesis_ends[end]

    def _next_parenthesis(self, start: int) -> int:
        """Return the position of the next closing parenthesis, or -1."""
        searched, found = self._last_search
        if not (searched <= start <= found or (found < 0 and 0 < searched <= start)):
            found = self._text.find(")", start)
            self._last_search = (start, found)
        return found


def defined_links(text: str) -> Iterator[str]:
    """Yield the target of each link definition `[label]: target`."""
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
            yield _strip_angle_brackets(found.group())
            done = found.end() + 1


def _strip_angle_brackets(address: str) -> str:
    """Remove the angle brackets around a link target."""
    address = address[1:] if address.startswith("<") and len(address) > 1 else address
    return address[:-1] if address.endswith(">") and len(address) > 1 else address


def automatic_links(text: str) -> list[str]:
    """Return the URL of each autolink `<https://…>`."""
    return _AUTOLINK.findall(text)


def without_links(text: str) -> str:
    """Replace every link and image with its label."""
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
