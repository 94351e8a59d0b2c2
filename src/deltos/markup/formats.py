"""Table of page formats, with rules for recognising and parsing each format."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING
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
    from collections.abc import Callable

    from deltos.markup.model import Document

Format = str
"""Name of a page format, such as "html" or "markdown"."""

# File suffixes of Unix manual pages, such as .1 and .3p. Other files have these suffixes, too, so `is_man_page` checks
# the contents.
MAN_SUFFIXES = tuple(
    f".{section}{part}" for section in range(1, 9) for part in ("", "p", "pm", "ssl", "x", "posix", "perl", "g")
)
GZIP_SUFFIX = ".gz"


@dataclass(frozen=True, slots=True)
class _UnparsedPage:
    """Raw content of a page, with the URL, character set and title of the page."""

    data: bytes
    url: str
    charset: str
    title: str

    @property
    def text(self) -> str:
        """The decoded content."""
        return decode(self.data, self.charset)


@dataclass(frozen=True, slots=True)
class _PageFormat:
    """Parser, file suffixes and media types of a page format.

    `is_untitled` is set if pages of the format have no title, so that the file name is used as the title.
    """

    parse: Callable[[_UnparsedPage], Document]
    suffixes: tuple[str, ...]
    media_types: tuple[str, ...] = ()
    is_untitled: bool = False


_FORMATS: dict[Format, _PageFormat] = {
    "html": _PageFormat(
        lambda page: parse_html(page.data, url=page.url, charset=page.charset),
        (".html", ".htm", ".xhtml"),
        ("text/html", "application/xhtml+xml"),
    ),
    "markdown": _PageFormat(
        lambda page: parse_markdown(page.text, url=page.url, title=page.title),
        (".md", ".markdown", ".mdx"),
        ("text/markdown", "text/x-markdown"),
    ),
    "rst": _PageFormat(
        lambda page: parse_rst(page.text, url=page.url, title=page.title),
        (".rst", ".rest"),
        ("text/x-rst", "text/prs.fallenstein.rst"),
    ),
    "asciidoc": _PageFormat(lambda page: parse_asciidoc(page.text, title=page.title), (".adoc", ".asciidoc", ".asc")),
    "notebook": _PageFormat(
        lambda page: parse_notebook(page.text, url=page.url, title=page.title),
        (".ipynb",),
        ("application/x-ipynb+json",),
    ),
    "pdf": _PageFormat(
        lambda page: parse_pdf(page.data, title=page.title), (".pdf",), ("application/pdf",), is_untitled=True
    ),
    "man": _PageFormat(
        lambda page: parse_man(page.text, title=page.title),
        MAN_SUFFIXES,
        ("text/troff", "application/x-troff-man", "application/x-troff"),
    ),
    "text": _PageFormat(
        lambda page: parse_plain(page.text, title=page.title), (".txt", ".text"), ("text/plain",), is_untitled=True
    ),
}
_BY_SUFFIX = {suffix: name for name, row in _FORMATS.items() for suffix in row.suffixes}
_BY_MEDIA_TYPE = {media_type: name for name, row in _FORMATS.items() for media_type in row.media_types}
SUFFIXES = frozenset(_BY_SUFFIX)


def format_of(location: str, media_type: str = "") -> Format | None:
    """Return the format of the page at a path or URL, or None if the format is not supported."""
    path = PurePosixPath(urlsplit(location).path)
    suffix = path.suffix.lower()
    if not media_type:
        suffix = path.with_suffix("").suffix.lower() if suffix == GZIP_SUFFIX else suffix
        return _BY_SUFFIX.get(suffix)
    named = _BY_MEDIA_TYPE.get(media_type.split(";")[0].strip().lower())
    # The suffix is checked first, because servers often send Markdown and similar formats as plain text.
    if named in (None, "text"):
        by_suffix = None if suffix in MAN_SUFFIXES else _BY_SUFFIX.get(suffix)
        if by_suffix == "html" and named == "text":
            return "text"
        return by_suffix or named
    return named


def title_of_file(form: Format, path: str) -> str:
    """Return the name of the file if pages of the format contain no title, or an empty string."""
    return PurePosixPath(path).stem if _FORMATS[form].is_untitled else ""


def parse(data: bytes, format: Format, *, url: str, charset: str = "", title: str = "") -> Document:  # noqa: A002
    """Parse `data` as a page in the given format. Raise SourceError if the data is not valid."""
    return _FORMATS[format].parse(_UnparsedPage(data, url, charset, title))
