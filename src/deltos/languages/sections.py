"""The headings of texts that have no grammar here, reStructuredText and AsciiDoc: read off their lines, in one pass."""

from __future__ import annotations

import string
from typing import TYPE_CHECKING, NamedTuple

from deltos.languages.model import Definition

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_NAME_CHARACTERS = 200  # of a heading; what is longer is no name
_DEEPEST = 6
_LEAST_ADORNMENT = 3
_ADORNMENTS = frozenset(string.punctuation)


class _Heading(NamedTuple):
    first: int  # line: of the adornment above it, where there is one
    line: int
    level: int
    name: str


def sections(language: str, lines: Sequence[str]) -> list[Definition]:
    """The sections of a text in one of HEADED_LANGUAGES, in document order, each with those that it lies in."""
    headings = list(_READERS[language](lines))
    ends = [len(lines)] * len(headings)
    containers: list[str] = []
    around: list[int] = []
    for number, heading in enumerate(headings):
        while around and headings[around[-1]].level >= heading.level:
            ends[around.pop()] = heading.first - 1
        containers.append(".".join(headings[each].name for each in around))
        around.append(number)
    return [
        Definition(heading.name, "section", heading.line, heading.first, end, container)
        for heading, end, container in zip(headings, ends, containers, strict=True)
    ]


def _restructured(lines: Sequence[str]) -> Iterator[_Heading]:
    """Titles by their adornments; levels come in the order in which adornments are met."""
    styles: dict[str, int] = {}
    for at, line in enumerate(lines[1:], start=1):
        title = lines[at - 1].strip()
        if not title or not _is_adornment(line) or len(line.rstrip()) < len(title) or _is_adornment(title):
            continue
        is_overlined = at > 1 and lines[at - 2].rstrip() == line.rstrip()
        if lines[at - 1][:1].isspace() and not is_overlined:
            continue
        level = styles.setdefault(line[0] * (1 + is_overlined), 1 + len(styles))
        yield from _named(at - is_overlined, at, level, title.replace("`", ""))


def _is_adornment(line: str) -> bool:
    text = line.rstrip()
    return len(text) >= _LEAST_ADORNMENT and text[0] in _ADORNMENTS and text == text[0] * len(text)


def _asciidoc(lines: Sequence[str]) -> Iterator[_Heading]:
    """Titles by the signs that they begin with, outside of listings."""
    fence = ""
    for at, line in enumerate(lines, start=1):
        text = line.rstrip()
        if text in ("----", "....", "====", "```"):
            fence = "" if text == fence else fence or text
        signs = len(text) - len(text.lstrip("="))
        if not fence and 0 < signs <= _DEEPEST and text[signs : signs + 1] == " ":
            yield from _named(at, at, signs, text[signs:].strip())


def _named(first: int, line: int, level: int, name: str) -> Iterator[_Heading]:
    if name and len(name) <= _NAME_CHARACTERS:
        yield _Heading(first, line, min(level, _DEEPEST), name)


_READERS: dict[str, Callable[[Sequence[str]], Iterator[_Heading]]] = {
    "restructuredtext": _restructured,
    "asciidoc": _asciidoc,
}
HEADED_LANGUAGES = frozenset(_READERS)
