"""Parser of plain text."""

from __future__ import annotations

import re

from deltos.markup.model import Document
from deltos.markup.outline import Outline


def parse_plain(text: str, *, title: str = "") -> Document:
    """Split plain text into paragraphs. The line breaks inside paragraphs are kept."""
    outline = Outline()
    for paragraph in re.split(r"\n\s*\n", text.replace("\r\n", "\n")):
        outline.add_block(paragraph.strip("\n"))
    return Document(title=title, sections=outline.sections())
