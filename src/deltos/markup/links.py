"""Collection of the links on a page as absolute URLs."""

from __future__ import annotations

from urllib.parse import urljoin

from deltos.markup.model import Link

_NON_PAGE_PREFIXES = ("#", "javascript:", "mailto:", "data:", "tel:")


class LinkCollector:
    """Collects links in reading order. Resolved URLs are cached, because most pages repeat links."""

    def __init__(self, base_url: str) -> None:
        self._base_url = base_url
        self._joined: dict[str, str] = {}
        self._texts: dict[str, list[str]] = {}

    def add(self, href: str | None, text: str = "") -> None:
        """Add a link. Links within the page, scripts, and mail and phone addresses are ignored."""
        if not href or href.startswith(_NON_PAGE_PREFIXES):
            return
        url = self._joined.get(href)
        if url is None:
            url = self._joined[href] = join_url(self._base_url, href)
        if url:
            self._texts.setdefault(url, []).append(text)

    def links(self) -> tuple[Link, ...]:
        """Return the links without duplicates.

        A link without text is returned only if no other link has the same URL.
        """
        return tuple(
            Link(url, text)
            for url, texts in self._texts.items()
            for text in dict.fromkeys(filter(None, texts)) or ("",)
        )


def join_url(base_url: str, href: str) -> str:
    """Resolve `href` against `base_url`. Return an empty string if the resulting URL is malformed."""
    try:
        return urljoin(base_url, href.strip())
    except ValueError:
        return ""
