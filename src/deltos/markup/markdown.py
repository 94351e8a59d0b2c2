"""Markdown and MDX to sections, line by line; the text stays as it was written."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from deltos.markup.links import LinkCollector
from deltos.markup.model import Document
from deltos.markup.outline import Outline, first_heading
from deltos.markup.text import unique_slug

if TYPE_CHECKING:
    from deltos.markup.model import BlockKind

_FENCE = re.compile(r"^( {0,3}|\s*(?=[`~]{3}))(`{3,}|~{3,})([^`]*)$")
_ATX = re.compile(r"^ {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$")
_SETEXT = re.compile(r"^ {0,3}(=+|-{2,})[ \t]*$")
_EXPLICIT_ID = re.compile(r"\s*\{#([\w:.-]+)[^}]*\}\s*$")
_ITEM = re.compile(r"^\s*(?:[-*+]|\d{1,9}[.)])\s+\S")
_HTML_ID = re.compile(r"<[a-zA-Z][^>]*?\s(?:id|name)\s*=\s*[\"']([^\"']+)[\"']")
_ONLY_TAGS = re.compile(r"^\s*(?:</?[A-Za-z][^>]*>\s*)+$")
# A picture that is a link and stands among nothing else: build status, version, number of downloads.
_ONLY_BADGES = re.compile(r"^\s*(?:\[!\[[^\]]*\](?:\([^)]*\)|\[[^\]]*\])\](?:\([^)]*\)|\[[^\]]*\])\s*)+$")
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)|\{/\*.*?\*/\}", re.DOTALL)
_HIDDEN = re.compile(
    r"<(\w+)\b[^>]*?(?:\shidden\b|display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0)[^>]*>.*?</\1\s*>",
    re.DOTALL | re.IGNORECASE,
)
_MDX_STATEMENT = re.compile(r"^(?:import\s.+\sfrom\s+['\"]|import\s+['\"]|export\s+(?:const|default|function|let)\b)")
_LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(\s*<?([^\s)>]+)>?(?:\s+[\"'(][^)]*)?\)")
_REFERENCE = re.compile(r"^ {0,3}\[[^\]]+\]:\s*<?(\S+?)>?(?:\s|$)", re.MULTILINE)
_AUTOLINK = re.compile(r"<(https?://[^\s>]+)>")
_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?)\n---[ \t]*(?:\n|\Z)", re.DOTALL)
_FRONT_TITLE = re.compile(r"^title:\s*[\"']?(.*?)[\"']?\s*$", re.MULTILINE)
_INLINE_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")


def parse_markdown(text: str, *, url: str, title: str = "") -> Document:
    """The Markdown page at `url` as sections; anchors are the slugs that renderers give to headings."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if front := _FRONT_MATTER.match(text):
        found = _FRONT_TITLE.search(front.group(1))
        title = found.group(1) if found else title
        text = text[front.end() :]
    reader = _Reader()
    reader.read(_outside_code(text))
    sections = reader.outline.sections()
    return Document(title=title or first_heading(sections), sections=sections, links=_links(text, url).links())


def _outside_code(text: str) -> list[str]:
    """Lines without comments and hidden elements; fenced code keeps everything."""
    lines: list[str] = []
    prose: list[str] = []
    closing = ""
    for line in text.split("\n"):
        fence = _FENCE.match(line)
        if closing:
            lines.append(line)
            if fence and line.strip().startswith(closing) and not fence.group(3).strip():
                closing = ""
        elif fence:
            lines += _without_hidden(prose)
            prose = []
            lines.append(line)
            closing = fence.group(2)
        else:
            prose.append(line)
    return lines + _without_hidden(prose)


def _without_hidden(lines: list[str]) -> list[str]:
    text = "\n".join(lines)
    if "<" in text or "{/*" in text:
        text = _HIDDEN.sub("", _COMMENT.sub("", text))
    return text.split("\n") if lines else []


def _links(text: str, url: str) -> LinkCollector:
    links = LinkCollector(url)
    for image, label, href in _LINK.findall(text):
        if not image:
            links.note(href, label)
    for href in _REFERENCE.findall(text) + _AUTOLINK.findall(text):
        links.note(href)
    return links


class _Reader:
    """Feeds lines into an outline, keeping the block that is still open."""

    def __init__(self) -> None:
        self.outline = Outline()
        self._slugs: dict[str, int] = {}
        self._open: list[str] = []
        self._kind: BlockKind = "prose"
        self._fence = ""

    def read(self, lines: list[str]) -> None:
        for line in lines:
            if self._fence:
                self._code_line(line)
            else:
                self._line(line)
        self._end()

    def _code_line(self, line: str) -> None:
        self._open.append(line)
        stripped = line.strip()
        if stripped.startswith(self._fence) and not stripped.strip(self._fence[0]):
            self._fence = ""
            self._end()

    def _line(self, line: str) -> None:
        if fence := _FENCE.match(line):
            self._end()
            self._open, self._kind, self._fence = [line], "code", fence.group(2)
        elif heading := _ATX.match(line):
            self._end()
            self._heading(len(heading.group(1)), heading.group(2) or "")
        elif (rule := _SETEXT.match(line)) and self._kind == "prose" and len(self._open) == 1:
            text = self._open.pop()
            self._heading(1 if rule.group(1)[0] == "=" else 2, text.strip())
        elif not line.strip():
            self._end()
        elif not _MDX_STATEMENT.match(line):
            self._text_line(line)

    def _text_line(self, line: str) -> None:
        for name in _HTML_ID.findall(line):
            self.outline.anchor(name)
        if _ONLY_TAGS.match(line) or _ONLY_BADGES.match(line):
            self._end()
            return
        kind: BlockKind = "row" if line.lstrip().startswith("|") else "item" if _ITEM.match(line) else "prose"
        if kind != "prose":
            self._end()
        self._open.append(line.rstrip())
        if kind != "prose":
            self._kind = kind
        if kind == "row":
            self._end()

    def _heading(self, level: int, text: str) -> None:
        anchors: list[str] = []
        if explicit := _EXPLICIT_ID.search(text):
            anchors.append(explicit.group(1))
            text = text[: explicit.start()]
        plain = _INLINE_LINK.sub(r"\1", re.sub(r"<[^>]+>", "", text)).replace("`", "").replace("**", "").strip()
        anchors.append(unique_slug(plain, self._slugs))
        self.outline.heading(level, plain, anchors)

    def _end(self) -> None:
        if self._open:
            self.outline.block("\n".join(self._open), self._kind)
        self._open, self._kind = [], "prose"
