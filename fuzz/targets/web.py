"""Fuzz targets for the input of a crawl except pages: sitemaps, robots.txt, llms.txt, API pages and URLs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fuzz.target import Run, Target, without_cleanup
from fuzz.targets.markup import URL

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_SITEMAP = (
    b"<loc>", b"</loc>", b"<url>", b"</url>", b"<urlset>", b"<sitemapindex>", b"<sitemap>", b"<![CDATA[", b"]]>", b"<x:loc>", b"&amp;", b"&#x0;",
    b"https://docs.example.org/", b"<?xml version='1.0'?>", b"<!DOCTYPE a [<!ENTITY b 'c'>]>", b"&b;", b"<loc >", b"\x1f\x8b\x08\x00", b"<!--", b"-->",
)  # fmt: skip
_ROBOTS = (
    b"User-agent: *\n", b"User-agent: deltos\n", b"Disallow: /\n", b"Allow: /\n", b"Crawl-delay: 1e999\n", b"Sitemap: https://a/\n", b"Request-rate: 1/0s\n",
    b"Visit-time: 9999-9999\n", b"*", b"$", b"%", b"%zz", b"#", b"*a*", b"Disallow: *", b"Crawl-delay: nan\n", b"Host: a\n",
)  # fmt: skip
_URLS = (
    b"https://", b"http://", b"//", b"@", b":", b"[", b"]", b"[::1]", b"%2e%2e/", b"/../", b"/./", b"?", b"&", b"=", b"#", b";", b"utm_source=a",
    b":99999", b":-1", b"\\", b"%", b"%zz", b"xn--", b"\xe3\x80\x82", b"javascript:", b"data:", b"file:///", b"www.example.org", b"\t", b"[v1.a]", b"127.1",
)  # fmt: skip


def targets() -> Iterator[Target]:
    """Return one target for each kind of input."""
    yield Target("sitemap", without_cleanup(_open_sitemap), ("sitemap",), (".xml",), _SITEMAP, is_exposed=True)
    yield Target("robots", without_cleanup(_open_robots), ("robots",), ("robots.txt",), _ROBOTS)
    yield Target(
        "llms",
        without_cleanup(_open_llms),
        ("llms", "markdown"),
        (),
        (b"# ", b"Source: https://a/b\n", b"URL:", b"\n\n", b"[a](b)"),
    )
    yield Target("url", without_cleanup(_open_url), ("url",), (), _URLS, max_bytes=20_000)


def _open_sitemap(_scratch: Path) -> Run:
    from deltos.fetch.sitemap import parse_sitemap

    return parse_sitemap


def _open_robots(_scratch: Path) -> Run:
    from deltos.fetch.robots import parse_robots

    def run(data: bytes) -> None:
        rules = parse_robots(data)
        rules.allow(URL)
        rules.allow("https://docs.example.org/" + "a/" * 500 + "?q=%20")
        rules.delay_seconds()
        rules.sitemaps()

    return run


def _open_llms(_scratch: Path) -> Run:
    from deltos.domains.docs import website

    pages_of = website._pages_of_full_text  # noqa: SLF001 (its callers need a network)

    def run(data: bytes) -> None:
        pages_of("https://docs.example.org/llms-full.txt", data)

    return run


def _open_url(_scratch: Path) -> Run:
    from deltos.fetch.url import SiteScope, looks_endless, normalise
    from deltos.markup.links import LinkCollector

    scope = SiteScope("https://docs.example.org/guide/", include=("*guide*", "/a/**"), exclude=("*/private/*",))

    def run(data: bytes) -> None:
        text = data.decode("utf-8", "replace")
        links = LinkCollector(URL)
        links.add(text)
        for address in (text, *(link.url for link in links.links())):
            try:
                clean = normalise(address)
            except ValueError:
                continue  # Every caller expects this error for an invalid URL.
            assert normalise(clean) == clean, f"{clean!r} has another form"
            looks_endless(clean)
            scope.admits(clean)

    return run
