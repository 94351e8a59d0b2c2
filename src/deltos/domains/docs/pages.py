"""Parse the bytes of a page and split the page into chunks for the index.

This runs in a child process. Data is passed as named tuples, because they are pickled several times faster than
dataclasses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from deltos.domains.docs.chunk import chunk_document
from deltos.markup.formats import parse
from deltos.store.documents import DocsChunkRow, PageRow

if TYPE_CHECKING:
    from collections.abc import Iterable

    from deltos.markup.formats import Format
    from deltos.markup.model import Document, Link

SECTION_SEPARATOR = " > "


class RawPage(NamedTuple):
    """A fetched page with its format and URL."""

    data: bytes
    format: Format
    url: str
    charset: str = ""
    title: str = ""

    def parse(self) -> Document:
        """Return the parsed page."""
        return parse(self.data, self.format, url=self.url, charset=self.charset, title=self.title)


class PageText(NamedTuple):
    """Title, chunks and links of a parsed page; links without text are omitted."""

    title: str
    chunks: tuple[DocsChunkRow, ...]
    links: tuple[tuple[str, str], ...] = ()

    def to_row(
        self, url: str, requested_url: str, *, etag: str = "", last_modified: str = "", digest: bytes = b""
    ) -> PageRow:
        """Return the page as a database row."""
        return PageRow(url, requested_url, self.title, etag, last_modified, digest, self.chunks, self.links)


def read_page(raw: RawPage) -> PageText:
    """Parse a page of a local source and split it into chunks; keep all links."""
    document = raw.parse()
    return page_text(document, document.links)


def page_text(document: Document, links: Iterable[Link] = ()) -> PageText:
    """Return the title, chunks and links of a document."""
    return PageText(
        document.title,
        tuple(
            DocsChunkRow(
                SECTION_SEPARATOR.join(chunk.path), chunk.anchors, chunk.is_definition, chunk.text, int(chunk.traits)
            )
            for chunk in chunk_document(document)
        ),
        tuple((link.url, link.text) for link in links if link.text),
    )
