"""Plain, gzipped, nested and malformed sitemaps are read."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import pytest

from deltos.errors import SourceError
from deltos.fetch.http import HttpClient
from deltos.fetch.sitemap import parse_sitemap, sitemap_addresses
from tests.loopback import LOOPBACK, Page

if TYPE_CHECKING:
    from tests.attacks import LimitedProcess
    from tests.loopback import Site


def test_locations_are_read_from_all_formats() -> None:
    data = (
        b"<urlset><url><loc> https://x/a?b=1&amp;c=2 </loc></url><url><loc><![CDATA[https://x/d]]></loc></url><broken"
    )
    assert parse_sitemap(data).addresses == ("https://x/a?b=1&c=2", "https://x/d")
    assert parse_sitemap(gzip.compress(data)).addresses == parse_sitemap(data).addresses
    assert parse_sitemap(b"https://x/a\nhttps://x/b\n").addresses == ("https://x/a", "https://x/b")


def test_a_damaged_file_is_refused() -> None:
    with pytest.raises(SourceError, match="could not be decompressed"):
        parse_sitemap(b"\x1f\x8bnonsense")


def test_nested_sitemaps_are_read_once_and_missing_ones_are_skipped(site: Site) -> None:
    index = (
        f"<sitemapindex><sitemap><loc>{site.url}/1.xml</loc></sitemap><sitemap><loc>{site.url}/gone.xml</loc></sitemap>"
    )
    index += f"<sitemap><loc>{site.url}/index.xml</loc></sitemap>"
    index += f"<sitemap><loc>{site.url}/2.xml.gz</loc></sitemap></sitemapindex>"
    site.text("/index.xml", index, "application/xml")
    site.text("/1.xml", "<urlset><url><loc>https://x/1</loc></url></urlset>", "application/xml")
    site.pages["/2.xml.gz"] = Page(gzip.compress(b"<urlset><url><loc>https://x/2</loc></url></urlset>"))
    client = HttpClient(private_hosts=LOOPBACK)
    assert list(sitemap_addresses(client, f"{site.url}/index.xml")) == ["https://x/1", "https://x/2"]
    assert site.asked["/index.xml"] == 1


@pytest.mark.parametrize(
    "text",
    [
        "<loc>" + " " * 500_000,
        "<loc>" * 100_000,
        "<loc>" + " </" * 200_000,
        "<" + "a" * 500_000,
        "<loc>" + "<![CDATA[ " * 50_000,
        "<loc>a</loc" + " " * 500_000,
        "<loc>&#" + "1" * 500_000 + ";</loc>",
        "<sitemapindex" * 40_000,
    ],
    ids=lambda text: text[:12],
)
def test_a_hostile_sitemap_is_parsed_in_linear_time(limited_process: LimitedProcess, text: str) -> None:
    limited_process.check_completes(parse_sitemap, text.encode())


def test_locations_with_namespaces_cdata_and_line_breaks_are_read() -> None:
    text = "<a:loc>\n <![CDATA[ https://a/?b&amp;c ]]>\n</a:loc ><LOC>https://d</loc><loc>https://e"
    assert parse_sitemap(text.encode()).addresses == ("https://a/?b&c", "https://d")
