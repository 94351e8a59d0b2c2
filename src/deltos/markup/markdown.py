"""Line-by-line parser of Markdown and MDX pages. Blocks stay in Markdown syntax."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from deltos.markup.links import LinkCollector
from deltos.markup.markdown_hidden import identifiers, without_comments, without_hidden_elements, without_tags
from deltos.markup.markdown_links import automatic_links, defined_links, inline_links, without_links
from deltos.markup.model import Document
from deltos.markup.myst import label_of, plain_directives
from deltos.markup.outline import Outline, first_heading
from deltos.markup.text import split_front_matter, unique_slug, without_closing_marks

if TYPE_CHECKING:
    from deltos.markup.model import BlockKind

_SETEXT = re.compile(r"^ {0,3}(=+|-{2,})[ \t]*$")
_EXPLICIT_ID = re.compile(r"\{#([\w:.-]+)")
_ITEM = re.compile(r"^\s*(?:[-*+]|\d{1,9}[.)])\s+\S")
_TAG_LINE = re.compile(r"^\s*(?:</?[A-Za-z][^>]*>\s*)+$")
# A line with only badges, which are linked images that show, for example, the build status.
_BADGE_LINE = re.compile(r"^\s*(?:\[!\[[^\]]*\](?:\([^)]*\)|\[[^\]]*\])\](?:\([^)]*\)|\[[^\]]*\])\s*)+$")
_MDX_STATEMENT = re.compile(r"^(?:import\s.+\sfrom\s+['\"]|import\s+['\"]|export\s+(?:const|default|function|let)\b)")
_FRONT_TITLE = re.compile(r"^title:\s*+(.*)", re.MULTILINE)
_BLANKS = " \t"
_MYST_SIGN = "{"  # every MyST directive contains this character


def parse_markdown(text: str, *, url: str, title: str = "") -> Document:
    """Parse the Markdown page at `url`. Headings get the same anchors as in common Markdown renderers."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    front, text = split_front_matter(text)
    if found := _FRONT_TITLE.search(front):
        title = _unquote(found.group(1).rstrip())
    reader = _MarkdownReader()
    reader.read(_remove_hidden_parts("\n".join(plain_directives(text.split("\n"))) if _MYST_SIGN in text else text))
    sections = reader.outline.sections()
    return Document(title=title or first_heading(sections), sections=sections, links=_collect_links(text, url).links())


def _unquote(text: str) -> str:
    """Remove the quotation marks around a value in the front matter."""
    text = text[1:] if text.startswith(('"', "'")) else text
    return text[:-1] if text.endswith(('"', "'")) else text


def _remove_hidden_parts(text: str) -> list[str]:
    """Return the lines without comments and hidden elements. Fenced code blocks are not changed."""
    lines: list[str] = []
    prose: list[str] = []
    closing = ""
    for line in text.split("\n"):
        fence, info = _split_fence(line)
        if closing:
            lines.append(line)
            if fence.startswith(closing) and not info.strip():
                closing = ""
        elif fence:
            lines += _strip_hidden_elements(prose)
            prose = []
            lines.append(line)
            closing = fence
        else:
            prose.append(line)
    return lines + _strip_hidden_elements(prose)


def _split_fence(line: str) -> tuple[str, str]:
    """Return the fence and the info string of a fence line, or two empty strings for any other line."""
    text = line.lstrip()
    if not text.startswith(("```", "~~~")):
        return "", ""
    info = text.lstrip(text[0])
    return ("", "") if "`" in info else (text[: len(text) - len(info)], info)


def _atx_heading(line: str) -> tuple[int, str]:
    """Return the level and text of a heading such as `## Usage`, or level 0 for any other line."""
    text = line.lstrip(" ")
    rest = text.lstrip("#")
    level = len(text) - len(rest)
    if len(line) - len(text) > 3 or not 1 <= level <= 6 or rest[:1] not in ("", " ", "\t"):
        return 0, ""
    return level, without_closing_marks(rest.strip(_BLANKS), "#", _BLANKS)


def _strip_hidden_elements(lines: list[str]) -> list[str]:
    text = "\n".join(lines)
    if "<" in text or "{/*" in text:
        text = without_hidden_elements(without_comments(text))
    return text.split("\n") if lines else []


def _collect_links(text: str, url: str) -> LinkCollector:
    """Return the inline links, link definitions and autolinks of a page."""
    links = LinkCollector(url)
    for label, href in inline_links(text):
        links.add(href, label)
    for href in (*defined_links(text), *automatic_links(text)):
        links.add(href)
    return links


def _split_explicit_id(heading: str) -> tuple[str, str]:
    """Separate attributes such as `{#name}` or `{ .class #name }` from a heading. Return the heading and the name."""
    text = heading.rstrip()
    if not text.endswith("}"):
        return heading, ""
    if found := _EXPLICIT_ID.search(text, text.rfind("}", 0, -1) + 1):
        return text[: found.start()].rstrip(), found.group(1)
    start = text.rfind("{")
    words = text[start + 1 : -1].removeprefix(":").split() if start > 0 else []
    if not words or not all(word[0] in "#." or "=" in word for word in words):
        return heading, ""
    return text[:start].rstrip(), next((word[1:] for word in words if word[0] == "#"), "")


class _MarkdownReader:
    """Reads a page line by line, and adds headings and blocks to an outline."""

    def __init__(self) -> None:
        self.outline = Outline()
        self._slugs: dict[str, int] = {}
        self._open: list[str] = []
        self._kind: BlockKind = "prose"
        self._fence = ""

    def read(self, lines: list[str]) -> None:
        """Read all lines of a page."""
        for line in lines:
            if self._fence:
                self._process_code_line(line)
            else:
                self._process_line(line)
        self._close_block()

    def _process_code_line(self, line: str) -> None:
        self._open.append(line)
        stripped = line.strip()
        if stripped.startswith(self._fence) and not stripped.strip(self._fence[0]):
            self._fence = ""
            self._close_block()

    def _process_line(self, line: str) -> None:
        level, title = _atx_heading(line)
        if fence := _split_fence(line)[0]:
            self._close_block()
            self._open, self._kind, self._fence = [line], "code", fence
        elif level:
            self._close_block()
            self._add_heading(level, title)
        elif (rule := _SETEXT.match(line)) and self._kind == "prose" and len(self._open) == 1:
            text = self._open.pop()
            self._add_heading(1 if rule.group(1)[0] == "=" else 2, text.strip())
        elif not line.strip():
            self._close_block()
        elif not _MDX_STATEMENT.match(line):
            self._process_text_line(line)

    def _process_text_line(self, line: str) -> None:
        for name in identifiers(line):
            self.outline.add_anchor(name)
        if label := label_of(line):
            self._close_block()
            self.outline.add_anchor(label)
            return
        if _TAG_LINE.match(line) or _BADGE_LINE.match(line):
            self._close_block()
            return
        kind: BlockKind = "row" if line.lstrip().startswith("|") else "item" if _ITEM.match(line) else "prose"
        if kind != "prose":
            self._close_block()
        self._open.append(line.rstrip())
        if kind != "prose":
            self._kind = kind
        if kind == "row":
            self._close_block()

    def _add_heading(self, level: int, text: str) -> None:
        text, explicit = _split_explicit_id(text)
        plain = without_links(without_tags(text)).replace("`", "").replace("**", "").strip()
        # A heading with an explicit id has no other anchor, because most renderers support explicit ids.
        self.outline.start_section(level, plain, [explicit or unique_slug(plain, self._slugs)])

    def _close_block(self) -> None:
        if self._open:
            self.outline.add_block("\n".join(self._open), self._kind)
        self._open, self._kind = [], "prose"
