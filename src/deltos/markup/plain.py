"""Parser of plain text, which splits it into paragraphs."""

from __future__ import annotations

import re

from deltos.markup.model import Document
from deltos.markup.outline import Outline


def parse_plain(text: str, *, title: str = "") -> Document:
    """Parse a text without markup into paragraphs; line breaks are kept."""
    outline = Outline()
    for paragraph in re.split(r"\n\s*\n", text.replace("\r\n", "\n")):
        outline.block(paragraph.strip("\n"))
    return Document(title=title, sections=outline.sections())
