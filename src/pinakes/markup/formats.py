"""Which format a page has, by media type or file name, and the parser for it."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Literal
from urllib.parse import urlsplit

from pinakes.markup.html import decode, parse_html
from pinakes.markup.markdown import parse_markdown
from pinakes.markup.model import Document
from pinakes.markup.notebook import parse_notebook
from pinakes.markup.pdf import parse_pdf
from pinakes.markup.plain import parse_asciidoc, parse_plain
from pinakes.markup.rst import parse_rst

Format = Literal["html", "markdown", "rst", "asciidoc", "notebook", "pdf", "text"]

_BY_SUFFIX: dict[str, Format] = {
    ".html": "html", ".htm": "html", ".xhtml": "html", ".md": "markdown", ".markdown": "markdown", ".mdx": "markdown",
    ".rst": "rst", ".rest": "rst", ".adoc": "asciidoc", ".asciidoc": "asciidoc", ".asc": "asciidoc", ".ipynb": "notebook",
    ".pdf": "pdf", ".txt": "text", ".text": "text",
}  # fmt: skip
_BY_MEDIA_TYPE: dict[str, Format] = {
    "text/html": "html", "application/xhtml+xml": "html", "text/markdown": "markdown", "text/x-markdown": "markdown",
    "text/x-rst": "rst", "text/prs.fallenstein.rst": "rst", "application/pdf": "pdf", "application/x-ipynb+json": "notebook",
    "text/plain": "text",
}  # fmt: skip
SUFFIXES = frozenset(_BY_SUFFIX)


def format_of(location: str, media_type: str = "") -> Format | None:
    """The format of what lies at a path or URL; None when it is nothing that we read."""
    suffix = PurePosixPath(urlsplit(location).path).suffix.lower()
    named = _BY_MEDIA_TYPE.get(media_type.split(";")[0].strip().lower())
    if named in (None, "text"):  # servers send Markdown and the like as plain text
        by_suffix = _BY_SUFFIX.get(suffix)
        if by_suffix == "html" and named == "text":
            return "text"
        return by_suffix or named
    return named


def parse(data: bytes, format: Format, *, url: str, charset: str = "", title: str = "") -> Document:  # noqa: A002
    """The document that `data` holds; raises SourceError when it is not of that format at all."""
    if format == "html":
        return parse_html(data, url=url, charset=charset)
    if format == "pdf":
        return parse_pdf(data, title=title)
    text = decode(data, charset)
    match format:
        case "markdown":
            return parse_markdown(text, url=url, title=title)
        case "rst":
            return parse_rst(text, url=url, title=title)
        case "asciidoc":
            return parse_asciidoc(text, title=title)
        case "notebook":
            return parse_notebook(text, url=url, title=title)
        case "text":
            return parse_plain(text, title=title)
