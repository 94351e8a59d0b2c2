"""Export a source to a file, and import such a file, so that a team needs to crawl each source only once.

The file is gzip-compressed JSON Lines: a header, then one line for each page. The header says which source was crawled,
and contains a digest of the pages. Vectors are not exported, because they depend on the embedding model. Each user
embeds the pages locally.
"""

from __future__ import annotations

import hashlib
import re
import zlib
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Meta, Struct

from deltos.domains.docs.index import index_words
from deltos.domains.docs.model import PACKAGE_ADDRESSES
from deltos.errors import BadArgument, SourceError
from deltos.markup.text import visible
from deltos.store.documents import Batch, DocsChunkRow, PageRow

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deltos.store.documents import Pages, Passages, SourceRow
    from deltos.store.sources import Sources

FORMAT = "deltos-docs"
FORMAT_VERSION = 1
IMPORT_KIND = "import"
MAX_FILE_BYTES = 100_000_000
MAX_CONTENT_BYTES = 400_000_000
_MAX_PAGES = 100_000
_PAGES_PER_WRITE = 25
_URL_OR_RELATIVE_PATH = re.compile(
    r"https?://|[^:/?#]*(?:[/?#]|$)"
)  # other URL schemes and absolute Windows paths do not match

_ShortText = Annotated[str, Meta(max_length=2_000)]
_LongText = Annotated[str, Meta(max_length=1_000_000)]


class ExportHeader(Struct, frozen=True, forbid_unknown_fields=True):
    """Header of an export file: data about the source, and the SHA-256 digest of the lines with pages."""

    format: str
    format_version: int
    name: Annotated[str, Meta(min_length=1, max_length=200)]
    url: _ShortText
    version: _ShortText
    crawled_at: float
    digest: _ShortText


class _ExportedChunk(Struct, frozen=True, forbid_unknown_fields=True, array_like=True):
    """A chunk in an export file."""

    section: _ShortText
    anchors: Annotated[list[_ShortText], Meta(max_length=10_000)]
    is_definition: bool
    text: _LongText
    traits: Annotated[int, Meta(ge=0, lt=2**16)]


class _ExportedPage(Struct, frozen=True, forbid_unknown_fields=True):
    """A page in an export file, with its chunks and links."""

    url: _ShortText
    title: _ShortText
    chunks: Annotated[list[_ExportedChunk], Meta(max_length=100_000)]
    links: Annotated[list[tuple[_ShortText, _ShortText]], Meta(max_length=100_000)] = []


def export_source(source: SourceRow, index: Pages, passages: Passages) -> bytes:
    """Return the content of an export file with all searchable pages of a source."""
    if source.auth:
        raise BadArgument(
            f"{source.name} was crawled with a login", hint="Only sources without a login can be exported."
        )
    if not source.generation:
        raise BadArgument(
            f"{source.name} has no pages yet", hint="Wait until its crawl is complete (see `deltos docs status`)."
        )
    pages = list(_exported_pages(source, index, passages))
    encoder = msgspec.json.Encoder()
    lines = b"\n".join(map(encoder.encode, pages))
    header = ExportHeader(
        FORMAT,
        FORMAT_VERSION,
        source.name,
        _portable_url(source, source.url),
        source.version,
        source.crawled_at,
        hashlib.sha256(lines).hexdigest(),
    )
    return zlib.compress(encoder.encode(header) + b"\n" + lines, wbits=zlib.MAX_WBITS | 16)


def _exported_pages(source: SourceRow, index: Pages, passages: Passages) -> Iterator[_ExportedPage]:
    """Yield the indexed pages of a source that have chunks."""
    links: dict[int, list[tuple[str, str]]] = {}
    for page_id, target, text in index.next_links(source.id):
        links.setdefault(page_id, []).append((_portable_url(source, target), text))
    for page in index.next_pages(source.id):
        stored = index.chunks_of(page.id)
        found = passages.candidates_by_id([each.id for each in stored], [source.id])
        facts = {each.chunk_id: each for each in found}
        chunks = [
            _ExportedChunk(
                each.section, list(each.anchors), bool(facts[each.id].is_definition), each.text, facts[each.id].traits
            )
            for each in stored
            if each.id in facts
        ]
        if chunks:
            yield _ExportedPage(_portable_url(source, page.url), page.title, chunks, links.get(page.id, []))


def _portable_url(source: SourceRow, url: str) -> str:
    """Convert a local path to a path relative to the parent folder of the source. URLs are not changed."""
    if "://" in url or url.startswith(PACKAGE_ADDRESSES):
        return url
    top = PurePosixPath(source.url)
    return f"{top.name}{url.removeprefix(source.url)}" if url.startswith(source.url) else PurePosixPath(url).name


def read_export(data: bytes) -> tuple[ExportHeader, tuple[PageRow, ...]]:
    """Return the header and pages of an export file; raise SourceError if the file is invalid.

    This function runs in a child process.
    """
    unpack = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    try:
        content = unpack.decompress(data, MAX_CONTENT_BYTES + 1)
        if len(content) > MAX_CONTENT_BYTES:
            raise SourceError(f"The decompressed file is larger than {MAX_CONTENT_BYTES:,} bytes")
        first, _, lines = content.partition(b"\n")
        header = msgspec.json.decode(first, type=ExportHeader)
        if (header.format, header.format_version) != (FORMAT, FORMAT_VERSION):
            raise SourceError(f"The file has an unknown format: {header.format} {header.format_version}")
        if hashlib.sha256(lines).hexdigest() != header.digest:
            raise SourceError("The digest does not match: the file is damaged or was modified")
        decode = msgspec.json.Decoder(_ExportedPage).decode
        pages = tuple(_page_row(decode(line)) for line in lines.split(b"\n", _MAX_PAGES)[:_MAX_PAGES] if line)
    except (zlib.error, ValueError, RecursionError) as exc:  # msgspec raises subclasses of ValueError
        raise SourceError(f"Not an exported source ({exc})", hint="Create one with `deltos docs export`.") from None
    for page in pages:
        if not page.url.startswith(PACKAGE_ADDRESSES) and not _URL_OR_RELATIVE_PATH.match(page.url):
            raise SourceError(f"The page URL '{page.url[:100]}' is not allowed")
    return msgspec.structs.replace(header, name=visible(header.name), url=visible(header.url)), pages


def _page_row(page: _ExportedPage) -> PageRow:
    """Convert an exported page to a database row, and remove invisible characters from it."""
    chunks = tuple(
        DocsChunkRow(
            visible(each.section),
            tuple("%20".join(visible(anchor).split()) for anchor in each.anchors),
            each.is_definition,
            visible(each.text),
            each.traits,
        )
        for each in page.chunks
    )
    url = visible(page.url)
    links = tuple((visible(target), visible(text)) for target, text in page.links)
    return PageRow(url, url, visible(page.title), "", "", b"", chunks, links)


def store_import(source: SourceRow, pages: tuple[PageRow, ...], store: Sources, index: Pages, now: float) -> None:
    """Write the pages of an imported source as a new version of its index, and publish that version."""
    with store.try_lock(source.id) as is_held:
        if not is_held:
            raise BadArgument(f"{source.name} is already being imported", hint="Try again.")
        store.begin_crawl(source.id, is_full=True, now=now)
        store.seed_crawl(source.id, [])
        crawl = store.crawl(source.id)
        generation = crawl.generation if crawl else 1
        for start in range(0, len(pages), _PAGES_PER_WRITE):
            index.write(source.id, generation, Batch(pages=pages[start : start + _PAGES_PER_WRITE]))
        index.drop_unseen_pages(source.id, generation)
        index_words(index, source.id, stopping=lambda: False)
        index.publish(source.id, generation, now=now)
