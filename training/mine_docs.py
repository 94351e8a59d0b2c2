"""Mine pairs from documentation: heading → section, first sentence → remaining text, link text → target."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urldefrag

from deltos.domains.docs.chunk import chunk_document
from deltos.errors import DeltosError
from deltos.markup.formats import format_of, parse
from training.pairs import Pair, make_pair

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from deltos.domains.docs.chunk import DocsChunk
    from deltos.markup.model import Document
    from training.archives import Member

_SENTENCE_END = re.compile(r"(?<=[a-z)`][.!?])\s+(?=[A-Z`])")
_SITE = "https://site.invalid/"


def read_page(member: Member) -> Document | None:
    """Parse a file of a package as a document. Return None if it is not a document."""
    kind = format_of(member.path)
    if kind in (None, "pdf", "text"):
        return None
    try:
        return parse(member.data, kind, url=_SITE + member.path)
    except (DeltosError, ValueError, RecursionError):
        return None


def docs_pairs(pages: Sequence[Document], paths: Sequence[str]) -> Iterator[Pair]:
    """Yield the pairs of all pages of one package; only links between these pages are used."""
    chunked = [chunk_document(page) for page in pages]
    for chunks in chunked:
        for chunk in chunks:
            yield from _chunk_pairs(chunk)
    yield from _link_pairs(pages, paths, chunked)


def _chunk_pairs(chunk: DocsChunk) -> Iterator[Pair]:
    if not chunk.path:
        return
    *trail, heading = chunk.path
    found = make_pair("heading", heading, f"{' > '.join(trail)}\n{chunk.text}")
    if not found and trail:
        found = make_pair("heading", f"{trail[-1]} {heading}", chunk.text)
    if found:
        yield found
    first, _, rest = _SENTENCE_END.sub("\0", chunk.text, count=1).partition("\0")
    if found := make_pair("sentence", first, f"{' > '.join(chunk.path)}\n{rest}" if len(rest) > 80 else ""):
        yield found


def _link_pairs(pages: Sequence[Document], paths: Sequence[str], chunked: list[list[DocsChunk]]) -> Iterator[Pair]:
    places: dict[str, DocsChunk] = {}
    for path, chunks in zip(paths, chunked, strict=True):
        for chunk in reversed(chunks):
            places[_SITE + path] = chunk
            places.update((f"{_SITE}{path}#{anchor}", chunk) for anchor in chunk.anchors)
    for page, path in zip(pages, paths, strict=True):
        for link in page.links:
            target = places.get(link.url)
            if target is None or urldefrag(link.url)[0] == _SITE + path:
                continue
            if target.path and link.text.strip().lower() == target.path[-1].strip().lower():
                continue
            if found := make_pair("link", link.text, f"{' > '.join(target.path)}\n{target.text}"):
                yield found
