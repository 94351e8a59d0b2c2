"""The HTTP client contacts public addresses only, and limits the cost of every response."""

from __future__ import annotations

import gzip
import socket
import threading
import zlib
from typing import TYPE_CHECKING

import pytest

from deltos.errors import AddressRefused, FetchFailed
from deltos.fetch.address import require_web_address
from deltos.fetch.http import HttpClient, RequestLimits, retry_after
from tests.loopback import LOOPBACK, Page

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.loopback import Site


@pytest.fixture
def client() -> Iterator[HttpClient]:
    """A client that may contact this machine, with small limits."""
    limits = RequestLimits(max_bytes=50_000, max_redirects=3, connect_seconds=2.0, read_seconds=2.0, total_seconds=5.0)
    opened = HttpClient(private_hosts=LOOPBACK, limits=limits)
    yield opened
    opened.close()


def test_a_response_has_media_type_charset_and_validators(site: Site, client: HttpClient) -> None:
    headers = {
        "Content-Type": 'text/HTML; charset="ISO-8859-1"',
        "ETag": '"1"',
        "Last-Modified": "Mon, 01 Jan 2024 00:00:00 GMT",
    }
    site.pages["/a"] = Page("ä".encode("latin-1"), headers=headers)
    response = client.get(f"{site.url}/a")
    assert (response.status, response.media_type, response.charset) == (200, "text/html", "iso-8859-1")
    assert (response.etag, response.last_modified) == ('"1"', "Mon, 01 Jan 2024 00:00:00 GMT")
    assert "deltos" in site.request_headers["/a"]["user-agent"]


def test_an_unchanged_page_is_not_downloaded_again(site: Site, client: HttpClient) -> None:
    site.html("/a", "<p>x</p>")
    first = client.get(f"{site.url}/a")
    again = client.get(f"{site.url}/a", etag=first.etag, last_modified="Mon, 01 Jan 2024 00:00:00 GMT")
    assert again.not_modified
    assert again.body == b""
    assert "if-modified-since" in site.request_headers["/a"]


def test_redirects_are_followed(site: Site, client: HttpClient) -> None:
    site.redirect("/a", "/b#part")
    site.redirect("/b", f"{site.url}/c")
    site.text("/c", "here")
    assert client.get(f"{site.url}/a").url == f"{site.url}/c"


def test_a_redirect_loop_is_an_error(site: Site, client: HttpClient) -> None:
    site.redirect("/a", "/b")
    site.redirect("/b", "/a")
    with pytest.raises(FetchFailed, match="redirects in a loop"):
        client.get(f"{site.url}/a")


def test_too_many_redirects_are_an_error(site: Site, client: HttpClient) -> None:
    for number in range(9):
        site.redirect(f"/{number}", f"/{number + 1}")
    with pytest.raises(FetchFailed, match="More than 3 redirects"):
        client.get(f"{site.url}/0")


def test_a_redirect_to_another_scheme_is_refused(site: Site, client: HttpClient) -> None:
    site.redirect("/a", "file:///etc/passwd")
    with pytest.raises(AddressRefused, match="not 'file:'"):
        client.get(f"{site.url}/a")


def test_a_redirect_to_a_malformed_url_is_an_error(site: Site, client: HttpClient) -> None:
    site.redirect("/a", "http://[oops")
    with pytest.raises(FetchFailed, match="malformed"):
        client.get(f"{site.url}/a")


def test_addresses_of_this_machine_are_refused_by_default(site: Site) -> None:
    site.text("/a", "secret")
    guarded = HttpClient()
    port = site.url.rpartition(":")[2]
    for host in ("127.0.0.1", "localhost", "2130706433", "0x7f.1", "[::ffff:127.0.0.1]", "0.0.0.0"):
        with pytest.raises(AddressRefused, match="private network"):
            guarded.get(f"http://{host}:{port}/a")
    assert not site.asked


def test_a_url_can_be_checked_without_a_request(site: Site, client: HttpClient) -> None:
    client.check(site.url)
    with pytest.raises(AddressRefused):
        HttpClient().check(site.url)
    with pytest.raises(FetchFailed, match="Cannot resolve the host"):
        client.check("https://no-such-host.invalid/")
    assert not site.asked


@pytest.mark.parametrize(
    "url", ["file:///etc/passwd", "ftp://x/", "http://", "http://[", "https://a b/", "http://x:99999/"]
)
def test_urls_other_than_http_and_https_are_refused(url: str) -> None:
    with pytest.raises(AddressRefused):
        require_web_address(url)


@pytest.mark.parametrize(
    ("status", "retryable"), [(401, False), (403, False), (404, False), (418, False), (429, True), (503, True)]
)
def test_errors_contain_the_http_status(site: Site, client: HttpClient, status: int, *, retryable: bool) -> None:
    site.pages["/a"] = Page(b"no", status, {"Retry-After": "7"})
    with pytest.raises(FetchFailed, match=f"HTTP {status}") as caught:
        client.get(f"{site.url}/a")
    assert (caught.value.status, caught.value.retryable, caught.value.retry_after_seconds) == (status, retryable, 7.0)


def test_retry_after_is_a_number_or_a_date() -> None:
    assert retry_after("12", now=0.0) == 12.0
    assert retry_after("Thu, 01 Jan 1970 00:00:10 GMT", now=4.0) == 6.0
    assert retry_after("soon", now=0.0) == 0.0


def test_compressed_pages_are_decompressed(site: Site, client: HttpClient) -> None:
    site.pages["/gzip"] = Page(gzip.compress(b"text" * 99), headers={"Content-Encoding": "gzip"})
    site.pages["/deflate"] = Page(zlib.compress(b"text" * 99), headers={"Content-Encoding": "deflate"})
    assert client.get(f"{site.url}/gzip").body == client.get(f"{site.url}/deflate").body == b"text" * 99


def test_a_compression_bomb_is_stopped_at_the_size_limit(site: Site, client: HttpClient) -> None:
    site.pages["/bomb"] = Page(gzip.compress(bytes(20_000_000)), headers={"Content-Encoding": "gzip"})
    with pytest.raises(FetchFailed, match="larger than"):
        client.get(f"{site.url}/bomb")


def test_too_large_pages_are_refused_by_declared_and_by_actual_size(site: Site, client: HttpClient) -> None:
    site.pages["/declared"] = Page(bytes(60_000))
    site.pages["/chunked"] = Page(
        b"%x\r\n%s\r\n0\r\n\r\n" % (60_000, bytes(60_000)),
        headers={"Transfer-Encoding": "chunked", "Content-Length": ""},
    )
    with pytest.raises(FetchFailed, match="larger than"):
        client.get(f"{site.url}/declared")
    with pytest.raises(FetchFailed):
        client.get(f"{site.url}/chunked")


def test_damaged_and_unsupported_compression_is_an_error(site: Site, client: HttpClient) -> None:
    site.pages["/damaged"] = Page(b"\x1f\x8bnonsense", headers={"Content-Encoding": "gzip"})
    site.pages["/br"] = Page(b"x", headers={"Content-Encoding": "br"})
    with pytest.raises(FetchFailed, match="could not be decompressed"):
        client.get(f"{site.url}/damaged")
    with pytest.raises(FetchFailed, match="'br'"):
        client.get(f"{site.url}/br")


def test_a_broken_connection_is_retryable(site: Site, client: HttpClient) -> None:
    site.pages["/a"] = Page(b"x" * 1000, cut_after=10)
    with pytest.raises(FetchFailed, match="connection failed") as caught:
        client.get(f"{site.url}/a")
    assert caught.value.retryable


def test_a_closed_port_is_a_connection_error(client: HttpClient) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        with pytest.raises(FetchFailed, match="connection failed"):
            client.get(f"http://127.0.0.1:{port}/")


def test_an_unresponsive_server_times_out() -> None:
    impatient = HttpClient(private_hosts=LOOPBACK, limits=RequestLimits(read_seconds=0.05))
    with (
        socket.create_server(("127.0.0.1", 0)) as silent,
        pytest.raises(FetchFailed, match="did not respond in time") as caught,
    ):
        impatient.get(f"http://127.0.0.1:{silent.getsockname()[1]}/")
    assert caught.value.retryable


def test_a_slow_download_times_out() -> None:
    impatient = HttpClient(private_hosts=LOOPBACK, limits=RequestLimits(total_seconds=-1.0))
    with socket.create_server(("127.0.0.1", 0)) as server:

        def send_slowly() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(1000)
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nx")
                connection.recv(1000)

        thread = threading.Thread(target=send_slowly, daemon=True)
        thread.start()
        with pytest.raises(FetchFailed, match="Downloading the page took too long"):
            impatient.get(f"http://127.0.0.1:{server.getsockname()[1]}/")
        impatient.close()
        thread.join()
