"""Sections of reStructuredText and AsciiDoc files, which have no grammar, found by their headings."""

from __future__ import annotations

import string
from typing import TYPE_CHECKING, NamedTuple

from deltos.languages.model import Definition

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_MAX_NAME_CHARACTERS = 200  # maximum number of characters of a heading
_MAX_LEVEL = 6  # maximum heading level
_MIN_ADORNMENT_CHARACTERS = 3
_ADORNMENTS = frozenset(string.punctuation)


class _Heading(NamedTuple):
    """A heading with its line numbers, level and text."""

    first: int  # line number of the title, or of the line of punctuation above the title
    line: int
    level: int
    name: str


def sections(language: str, lines: Sequence[str]) -> list[Definition]:
    """Return the sections of a text in document order. `language` is one of HEADED_LANGUAGES."""
    headings = list(_HEADING_READERS[language](lines))
    ends = [len(lines)] * len(headings)
    containers: list[str] = []
    enclosing: list[int] = []
    for number, heading in enumerate(headings):
        while enclosing and headings[enclosing[-1]].level >= heading.level:
            ends[enclosing.pop()] = heading.first - 1
        containers.append(".".join(headings[each].name for each in enclosing))
        enclosing.append(number)
    return [
        Definition(heading.name, "section", heading.line, heading.first, end, container)
        for heading, end, container in zip(headings, ends, containers, strict=True)
    ]


def _restructured_headings(lines: Sequence[str]) -> Iterator[_Heading]:
    """Yield reStructuredText headings. Each style of underline gets the next level when it first appears."""
    styles: dict[str, int] = {}
    for at, line in enumerate(lines[1:], start=1):
        title = lines[at - 1].strip()
        if not title or not _is_adornment(line) or len(line.rstrip()) < len(title) or _is_adornment(title):
            continue
        is_overlined = at > 1 and lines[at - 2].rstrip() == line.rstrip()
        if lines[at - 1][:1].isspace() and not is_overlined:
            continue
        level = styles.setdefault(line[0] * (1 + is_overlined), 1 + len(styles))
        yield from _yield_valid_heading(at - is_overlined, at, level, title.replace("`", ""))


def _is_adornment(line: str) -> bool:
    text = line.rstrip()
    return len(text) >= _MIN_ADORNMENT_CHARACTERS and text[0] in _ADORNMENTS and text == text[0] * len(text)


def _asciidoc_headings(lines: Sequence[str]) -> Iterator[_Heading]:
    """Yield AsciiDoc headings outside listings. The level of a heading is the number of its `=` characters."""
    fence = ""
    for at, line in enumerate(lines, start=1):
        text = line.rstrip()
        if text in ("----", "....", "====", "```"):
            fence = "" if text == fence else fence or text
        level = len(text) - len(text.lstrip("="))
        if not fence and 0 < level <= _MAX_LEVEL and text[level : level + 1] == " ":
            yield from _yield_valid_heading(at, at, level, text[level:].strip())


def _yield_valid_heading(first: int, line: int, level: int, name: str) -> Iterator[_Heading]:
    if name and len(name) <= _MAX_NAME_CHARACTERS:
        yield _Heading(first, line, min(level, _MAX_LEVEL), name)


_HEADING_READERS: dict[str, Callable[[Sequence[str]], Iterator[_Heading]]] = {
    "restructuredtext": _restructured_headings,
    "asciidoc": _asciidoc_headings,
}
HEADED_LANGUAGES = frozenset(_HEADING_READERS)
