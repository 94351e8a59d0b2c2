"""Reader of sitemaps, including gzipped and nested files."""

from __future__ import annotations

import re
import zlib
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltos.errors import FetchFailed, ParserStopped, SourceError
from deltos.html_entities import unescape_html

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from deltos.fetch.http import HttpClient

# No XML parser is used, because many sitemaps are malformed and entities must not be expanded.
_LOCATION_TAG = re.compile(r"<(/?)(?:\w+:)?loc\s*>", re.IGNORECASE)
_CDATA = "<![cdata["
_INDEX_TAG = re.compile(r"<(?:\w+:)?sitemapindex[\s>]", re.IGNORECASE)
_MAX_SITEMAPS = 50  # maximum number of sitemaps read for one site
_MAX_BYTES = 50_000_000  # maximum size of a decompressed sitemap


@dataclass(frozen=True, slots=True)
class Sitemap:
    """A parsed sitemap file with the URLs of pages or, if `is_index`, of other sitemaps."""

    addresses: tuple[str, ...]
    is_index: bool


@dataclass(frozen=True, slots=True)
class UnreadSitemap:
    """A sitemap file that was not read completely, because it exceeded a limit."""

    url: str
    reason: str


def parse_sitemap(data: bytes) -> Sitemap:
    """Parse a sitemap file, which may be gzipped. A plain list of URLs is also accepted."""
    text = _decompress(data).decode("utf-8", "replace")
    found = tuple(_find_locations(text))
    if not found and not text.lstrip().startswith("<"):
        found = tuple(line.strip() for line in text.splitlines() if line.strip().startswith("http"))
    return Sitemap(found, _INDEX_TAG.search(text) is not None)


def _find_locations(text: str) -> Iterator[str]:
    """Yield the contents of all `loc` elements, which contain the URLs of a sitemap."""
    start = -1
    for tag in _LOCATION_TAG.finditer(text):
        if not tag.group(1):
            start = tag.end() if start < 0 else start
        elif start >= 0:
            content = text[start : tag.start()].strip()
            content = content[len(_CDATA) :] if content[: len(_CDATA)].lower() == _CDATA else content
            with suppress(ValueError):  # raised for character references with thousands of digits
                yield unescape_html(content.strip().removesuffix("]]>").strip())
            start = -1


def sitemap_addresses(
    client: HttpClient, url: str, parse: Callable[[bytes], Sitemap] = parse_sitemap
) -> Iterator[str | UnreadSitemap]:
    """Yield the page URLs in a sitemap and its nested sitemaps, and the sitemap files that exceeded a limit.

    Other unreadable files are skipped.
    """
    queue, seen = [url], {url}
    while queue and len(seen) <= _MAX_SITEMAPS:
        address = queue.pop(0)
        try:
            sitemap = parse(client.get(address, accept="application/xml, text/xml, */*;q=0.5").body)
        except ParserStopped as exc:
            yield UnreadSitemap(address, str(exc))
            continue
        except (FetchFailed, SourceError):
            continue
        if not sitemap.is_index:
            yield from sitemap.addresses
            continue
        for address in sitemap.addresses:
            if address not in seen:
                seen.add(address)
                queue.append(address)


def _decompress(data: bytes) -> bytes:
    if not data.startswith(b"\x1f\x8b"):
        return data
    try:
        return zlib.decompressobj(wbits=31).decompress(data, _MAX_BYTES)
    except zlib.error as exc:
        raise SourceError(f"The sitemap could not be decompressed ({exc})") from exc
