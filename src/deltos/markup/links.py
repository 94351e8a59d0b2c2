"""The addresses that a page mentions, made absolute once each."""

from __future__ import annotations

from urllib.parse import urljoin

from deltos.markup.model import Link

_NOT_PAGES = ("#", "javascript:", "mailto:", "data:", "tel:")


class LinkCollector:
    """Notes links in reading order. Most pages repeat their addresses, so joining is remembered."""

    def __init__(self, base_url: str) -> None:
        self._base_url = base_url
        self._joined: dict[str, str] = {}
        self._texts: dict[str, list[str]] = {}

    def note(self, href: str | None, text: str = "") -> None:
        """Remember that the page leads to `href`, calling it `text`; what cannot be a page is ignored."""
        if not href or href.startswith(_NOT_PAGES):
            return
        url = self._joined.get(href)
        if url is None:
            url = self._joined[href] = join_url(self._base_url, href)
        if url:
            self._texts.setdefault(url, []).append(text)

    def links(self) -> tuple[Link, ...]:
        """Every address, with each distinct wording once; without wording only if it never had one."""
        return tuple(
            Link(url, text)
            for url, texts in self._texts.items()
            for text in dict.fromkeys(filter(None, texts)) or ("",)
        )


def join_url(base_url: str, href: str) -> str:
    """Where `href` leads from `base_url`; empty for what is no address."""
    try:
        return urljoin(base_url, href.strip())
    except ValueError:
        return ""
