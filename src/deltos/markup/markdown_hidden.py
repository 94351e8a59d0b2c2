"""Removal of comments, hidden elements and tags from Markdown, in linear time."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict

_HIDING_MARKUP = re.compile(r"\shidden\b|display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0", re.IGNORECASE)
_NAME = re.compile(r"\w+")
_END_TAG = re.compile(r"</(\w+)\s*>")
_TAG_START = re.compile(r"<[a-zA-Z]")
_IDENTIFIER = re.compile(r"\s(?:id|name)\s*=\s*[\"']([^\"']+)[\"']")


def without_comments(text: str) -> str:
    """Remove HTML comments and closed MDX comments. An HTML comment without an end extends to the end of the text."""
    kept: list[str] = []
    done = 0
    html, mdx = text.find("<!--"), text.find("{/*")
    while html >= 0 or mdx >= 0:
        if mdx < 0 or 0 <= html < mdx:
            end = text.find("-->", html + 4)
            start, end = html, end + 3 if end >= 0 else len(text)
        else:
            end = text.find("*/}", mdx + 3)
            if end < 0:  # all following MDX comments are unclosed, too
                mdx = -1
                continue
            start, end = mdx, end + 3
        kept.append(text[done:start])
        done = end
        html = text.find("<!--", done) if 0 <= html < done else html
        mdx = text.find("{/*", done) if 0 <= mdx < done else mdx
    return "".join((*kept, text[done:]))


def without_hidden_elements(text: str) -> str:
    """Remove elements with an attribute that hides them. An element ends at the first end tag with its name."""
    end_tags = _index_end_tags(text)
    kept: list[str] = []
    done = at = 0
    tag_end = last_hiding = -1
    while (at := text.find("<", at)) >= 0:
        if at > tag_end:
            tag_end = text.find(">", at)
            if tag_end < 0:
                break
            last_hiding = _last_hiding_attribute(text, at, tag_end)
        name = _NAME.match(text, at + 1)
        if name and name.end() <= last_hiding and (end := end_tags.end_after(name.group().lower(), tag_end)):
            kept.append(text[done:at])
            done = at = end
        else:
            at += 1
    return "".join((*kept, text[done:]))


def _last_hiding_attribute(text: str, start: int, end: int) -> int:
    """Return the position of the last attribute that hides the element in a tag, or -1 if there is none."""
    last = -1
    while found := _HIDING_MARKUP.search(text, max(start, last + 1), end):
        last = found.start()
    return last


class _EndTags:
    """The positions of the end tags in a text, by tag name."""

    def __init__(self, spans: dict[str, list[tuple[int, int]]]) -> None:
        self._spans = spans

    def end_after(self, name: str, position: int) -> int:
        """Return the position after the first end tag `name` that follows `position`, or 0 if there is none."""
        spans = self._spans.get(name, [])
        at = bisect_left(spans, (position, 0))
        return spans[at][1] if at < len(spans) else 0


def _index_end_tags(text: str) -> _EndTags:
    """Find all end tags in a text."""
    spans: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for found in _END_TAG.finditer(text):
        spans[found.group(1).lower()].append(found.span())
    return _EndTags(spans)


def identifiers(line: str) -> list[str]:
    """Return the first `id` or `name` attribute of each tag on a line."""
    names: list[str] = []
    found = _IDENTIFIER.search(line)
    opening = _TAG_START.search(line)
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
            opening = _TAG_START.search(line, tag_end)
        else:
            names.append(found.group(1))
            opening = _TAG_START.search(line, found.end())
    return names


def without_tags(text: str) -> str:
    """Return the text without tags."""
    kept: list[str] = []
    done = at = 0
    while (start := text.find("<", at)) >= 0 and (end := text.find(">", start)) >= 0:
        at = max(start + 1, end)
        if end > start + 1:
            kept.append(text[done:start])
            done = at = end + 1
    return "".join((*kept, text[done:]))
