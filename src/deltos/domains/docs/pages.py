"""A page's bytes to the rows that the index keeps: parse, then cut into chunks. Runs in a child process.

Named tuples go there and back: they are pickled several times faster than dataclasses.
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
    """A page as it came, and what is known of it."""

    data: bytes
    format: Format
    url: str
    charset: str = ""
    title: str = ""

    def document(self) -> Document:
        """What the bytes say."""
        return parse(self.data, self.format, url=self.url, charset=self.charset, title=self.title)


class PageText(NamedTuple):
    """What a page says, in chunks, and the links that have words."""

    title: str
    chunks: tuple[DocsChunkRow, ...]
    links: tuple[tuple[str, str], ...] = ()

    def row(
        self, url: str, requested_url: str, *, etag: str = "", last_modified: str = "", digest: bytes = b""
    ) -> PageRow:
        """The page as it is written."""
        return PageRow(url, requested_url, self.title, etag, last_modified, digest, self.chunks, self.links)


def read_page(raw: RawPage) -> PageText:
    """A page of a folder: all its links count."""
    document = raw.document()
    return text_of(document, document.links)


def text_of(document: Document, links: Iterable[Link] = ()) -> PageText:
    """A document in chunks."""
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
