"""Plain text and AsciiDoc to sections: paragraphs, and headings where the format has them."""

from __future__ import annotations

import re

from deltos.markup.model import Document
from deltos.markup.outline import Outline, first_heading
from deltos.markup.text import fenced, unique_slug, without_closing_marks

_ASCIIDOC_ANCHOR = re.compile(r"^\[\[([\w:.-]++)[^\]]*+\]\]$|^\[#([\w:.-]++)[^\]]*+\]$")
_ASCIIDOC_SOURCE = re.compile(r"^\[(?:source|,)\s*+,?+\s*+([\w+#-]*+)[^\]]*+\]$")
_ASCIIDOC_DELIMITER = re.compile(r"^(-{4,}|\.{4,})$")


def parse_plain(text: str, *, title: str = "") -> Document:
    """Paragraphs of a text that has no markup; line breaks are kept."""
    outline = Outline()
    for paragraph in re.split(r"\n\s*\n", text.replace("\r\n", "\n")):
        outline.block(paragraph.strip("\n"))
    return Document(title=title, sections=outline.sections())


def parse_asciidoc(text: str, *, title: str = "") -> Document:
    """AsciiDoc read as text: headings, anchors and listings are understood, the rest is shown as written."""
    reader = _AsciiDoc()
    for line in text.replace("\r\n", "\n").split("\n"):
        reader.line(line)
    reader.end()
    sections = reader.outline.sections()
    return Document(title=title or first_heading(sections), sections=sections)


class _AsciiDoc:
    """Feeds lines into an outline, keeping the block that is still open."""

    def __init__(self) -> None:
        self.outline = Outline()
        self._slugs: dict[str, int] = {}
        self._open: list[str] = []
        self._delimiter = ""
        self._language = ""

    def line(self, line: str) -> None:
        stripped = line.rstrip()
        if self._delimiter:
            self._code_line(stripped)
            return
        level, title = _asciidoc_heading(stripped)
        if level:
            self.end()
            anchor = "_" + unique_slug(title, self._slugs).replace("-", "_")
            self.outline.heading(level, title, [anchor])
        elif anchor_line := _ASCIIDOC_ANCHOR.match(stripped):
            self.end()
            self.outline.anchor(anchor_line.group(1) or anchor_line.group(2))
        elif source := _ASCIIDOC_SOURCE.match(stripped):
            self._language = source.group(1)
        elif _ASCIIDOC_DELIMITER.match(stripped):
            self.end()
            self._delimiter = stripped
        elif not stripped:
            self.end()
        elif not stripped.startswith("//"):
            self._open.append(stripped)

    def _code_line(self, line: str) -> None:
        if line != self._delimiter:
            self._open.append(line)
            return
        self.outline.block(fenced("\n".join(self._open), self._language), "code")
        self._open, self._delimiter, self._language = [], "", ""

    def end(self) -> None:
        self.outline.block("\n".join(self._open))
        self._open = []


def _asciidoc_heading(line: str) -> tuple[int, str]:
    """Level and text of the heading that the line is; level 0 if it is none."""
    rest = line.lstrip("=")
    level = len(line) - len(rest)
    if not 1 <= level <= 6 or not rest[:1].isspace():
        return 0, ""
    return level, without_closing_marks(rest.strip(), "=")
