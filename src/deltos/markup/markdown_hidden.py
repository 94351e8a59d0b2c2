"""What a Markdown text holds but does not show: comments, hidden elements, tags. Each is cut in one pass."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict

_HIDING = re.compile(r"\shidden\b|display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0", re.IGNORECASE)
_NAME = re.compile(r"\w+")
_CLOSING = re.compile(r"</(\w+)\s*>")
_OPENING = re.compile(r"<[a-zA-Z]")
_IDENTIFIER = re.compile(r"\s(?:id|name)\s*=\s*[\"']([^\"']+)[\"']")


def without_comments(text: str) -> str:
    """The text without HTML comments, closed or not, and without closed MDX comments."""
    kept: list[str] = []
    done = 0
    html, mdx = text.find("<!--"), text.find("{/*")
    while html >= 0 or mdx >= 0:
        if mdx < 0 or 0 <= html < mdx:
            end = text.find("-->", html + 4)
            start, end = html, end + 3 if end >= 0 else len(text)
        else:
            end = text.find("*/}", mdx + 3)
            if end < 0:  # none after this one is closed either
                mdx = -1
                continue
            start, end = mdx, end + 3
        kept.append(text[done:start])
        done = end
        html = text.find("<!--", done) if 0 <= html < done else html
        mdx = text.find("{/*", done) if 0 <= mdx < done else mdx
    return "".join((*kept, text[done:]))


def without_hidden_elements(text: str) -> str:
    """The text without the elements whose opening tag says that they are hidden, up to their first closing tag."""
    closings = _closings(text)
    kept: list[str] = []
    done = at = 0
    tag_end = last_hiding = -1
    while (at := text.find("<", at)) >= 0:
        if at > tag_end:
            tag_end = text.find(">", at)
            if tag_end < 0:
                break
            last_hiding = _last_hiding(text, at, tag_end)
        name = _NAME.match(text, at + 1)
        if name and name.end() <= last_hiding and (end := closings.after(name.group().lower(), tag_end)):
            kept.append(text[done:at])
            done = at = end
        else:
            at += 1
    return "".join((*kept, text[done:]))


def _last_hiding(text: str, start: int, end: int) -> int:
    """Where the last word of a tag that hides it begins; -1 if there is none."""
    last = -1
    while found := _HIDING.search(text, max(start, last + 1), end):
        last = found.start()
    return last


class _Closings:
    """The closing tags of a text, by name."""

    def __init__(self, places: dict[str, list[tuple[int, int]]]) -> None:
        self._places = places

    def after(self, name: str, position: int) -> int:
        """Where the first closing tag of that name after a position ends; 0 if there is none."""
        places = self._places.get(name, [])
        at = bisect_left(places, (position, 0))
        return places[at][1] if at < len(places) else 0


def _closings(text: str) -> _Closings:
    places: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for found in _CLOSING.finditer(text):
        places[found.group(1).lower()].append(found.span())
    return _Closings(places)


def identifiers(line: str) -> list[str]:
    """The first `id` or `name` of every tag."""
    names: list[str] = []
    found = _IDENTIFIER.search(line)
    opening = _OPENING.search(line)
    tag_end = -1
    while found and opening:
        inside = opening.end()
        if found.start() < inside:
            found = _IDENTIFIER.search(line, inside)
            continue
        if tag_end < inside:
            tag_end = line.find(">", inside)
            tag_end = tag_end if tag_end >= 0 else len(line)
        if tag_end < found.start():
            opening = _OPENING.search(line, tag_end)
        else:
            names.append(found.group(1))
            opening = _OPENING.search(line, found.end())
    return names


def without_tags(text: str) -> str:
    """The text without anything between angle brackets."""
    kept: list[str] = []
    done = at = 0
    while (start := text.find("<", at)) >= 0 and (end := text.find(">", start)) >= 0:
        at = max(start + 1, end)
        if end > start + 1:
            kept.append(text[done:start])
            done = at = end + 1
    return "".join((*kept, text[done:]))
