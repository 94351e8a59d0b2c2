"""Detect the format of a page by media type or file name, and parse it."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

from deltos.markup.asciidoc import parse_asciidoc
from deltos.markup.html import decode, parse_html
from deltos.markup.man import parse_man
from deltos.markup.markdown import parse_markdown
from deltos.markup.notebook import parse_notebook
from deltos.markup.pdf import parse_pdf
from deltos.markup.plain import parse_plain
from deltos.markup.rst import parse_rst

if TYPE_CHECKING:
    from deltos.markup.model import Document

Format = Literal["html", "markdown", "rst", "asciidoc", "notebook", "pdf", "text", "man"]

_BY_SUFFIX: dict[str, Format] = {
    **dict.fromkeys((".html", ".htm", ".xhtml"), "html"),
    **dict.fromkeys((".md", ".markdown", ".mdx"), "markdown"),
    **dict.fromkeys((".rst", ".rest"), "rst"),
    **dict.fromkeys((".adoc", ".asciidoc", ".asc"), "asciidoc"),
    **dict.fromkeys((".txt", ".text"), "text"),
    ".ipynb": "notebook",
    ".pdf": "pdf",
}
_BY_MEDIA_TYPE: dict[str, Format] = {
    **dict.fromkeys(("text/html", "application/xhtml+xml"), "html"),
    **dict.fromkeys(("text/markdown", "text/x-markdown"), "markdown"),
    **dict.fromkeys(("text/x-rst", "text/prs.fallenstein.rst"), "rst"),
    "application/x-ipynb+json": "notebook",
    "application/pdf": "pdf",
    **dict.fromkeys(("text/troff", "application/x-troff-man", "application/x-troff"), "man"),
    "text/plain": "text",
}
SUFFIXES = frozenset(_BY_SUFFIX)
# Sections of the Unix manual. Other files have such suffixes too, so the contents are checked with `is_man_page`.
MAN_SUFFIXES = frozenset(
    f".{section}{part}" for section in range(1, 9) for part in ("", "p", "pm", "ssl", "x", "posix", "perl", "g")
)
GZIP_SUFFIX = ".gz"


def format_of(location: str, media_type: str = "") -> Format | None:
    """Return the format of the page at a path or URL, or None if no parser supports it."""
    path = PurePosixPath(urlsplit(location).path)
    suffix = path.suffix.lower()
    if not media_type:
        suffix = path.with_suffix("").suffix.lower() if suffix == GZIP_SUFFIX else suffix
        if suffix in MAN_SUFFIXES:
            return "man"
    named = _BY_MEDIA_TYPE.get(media_type.split(";")[0].strip().lower())
    if named in (None, "text"):  # servers send Markdown and similar formats as plain text
        by_suffix = _BY_SUFFIX.get(suffix)
        if by_suffix == "html" and named == "text":
            return "text"
        return by_suffix or named
    return named


def parse(data: bytes, format: Format, *, url: str, charset: str = "", title: str = "") -> Document:  # noqa: A002
    """Parse `data` as `format`; raise SourceError if it does not have that format."""
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
        case "man":
            return parse_man(text, title=title)
        case "text":
            return parse_plain(text, title=title)
