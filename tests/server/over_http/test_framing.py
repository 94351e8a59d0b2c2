"""Requests with ambiguous lengths or line endings are rejected, and the connection is closed."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

import pytest

from tests.server.raw import WAIT_TIMEOUT_SECONDS

if TYPE_CHECKING:
    from tests.server.over_http.served import Served

PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
CHUNKED_PING = b"28\r\n" + PING + b"\r\n0\r\n\r\n"
HEALTH = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"


def post_request(*lines: bytes, body: bytes = b"", version: bytes = b"1.1") -> bytes:
    head = (b"POST /mcp HTTP/" + version, b"Host: localhost", b"Content-Type: application/json", *lines, b"", b"")
    return b"\r\n".join(head) + body


def exchange_bytes(server: Served, data: bytes) -> bytes:
    """Return everything that the server sends until it closes the connection."""
    received = b""
    with socket.create_connection((server.address.hostname, server.address.port), WAIT_TIMEOUT_SECONDS) as connection:
        connection.sendall(data)
        while part := connection.recv(65_536):
            received += part
    return received


@pytest.mark.parametrize(
    "request_bytes",
    [
        post_request(b"Content-Length: 40", b"Transfer-Encoding: chunked", body=CHUNKED_PING),
        post_request(b"Transfer-Encoding: chunked", b"Content-Length: 5", body=CHUNKED_PING),
        post_request(b"Content-Length: 40", b"Content-Length: 40", body=PING),
        post_request(b"Content-Length: 40, 40", body=PING),
        post_request(b"Content-Length: 40", b"Content-Length: 0", body=PING),
        post_request(b"Content-Length: +40", body=PING),
        post_request(b"Content-Length: 0x28", body=PING),
        post_request(b"Content-Length: -1", body=PING),
        post_request(b"Content-Length:", body=PING),
        post_request(b"Content-Length : 40", body=PING),
        post_request(b"Transfer-Encoding: chunked", b"Transfer-Encoding: chunked", body=CHUNKED_PING),
        post_request(b"Transfer-Encoding: identity, chunked", body=CHUNKED_PING),
        post_request(b"Transfer-Encoding: gzip", body=CHUNKED_PING),
        post_request(b"Transfer-Encoding: \x0bchunked", body=CHUNKED_PING),
        post_request(b"Transfer-Encoding: chunked", body=CHUNKED_PING, version=b"1.0"),
        post_request(b"Transfer-Encoding: chunked", body=b"0x28\r\n" + PING + b"\r\n0\r\n\r\n"),
        post_request(b"Transfer-Encoding: chunked", body=b"+28\r\n" + PING + b"\r\n0\r\n\r\n"),
        post_request(b"Transfer-Encoding: chunked", body=b"-1\r\n" + PING + b"\r\n0\r\n\r\n"),
        post_request(b"Transfer-Encoding: chunked", body=b"\r\n" + PING + b"\r\n0\r\n\r\n"),
        post_request(b"Transfer-Encoding: chunked", body=b"f" * 40 + b"\r\n" + PING),
        post_request(b"Transfer-Encoding: chunked", body=b"28\r\n" + PING + b"xx0\r\n\r\n"),
        post_request(b"Transfer-Encoding: chunked", body=b"28\r\n" + PING + b"\r\n0\r\nX: 1\nY: 2\r\n\r\n"),
        b"GET /healthz HTTP/1.1\nHost: localhost\n\n",
        b"GET /healthz HTTP/1.1\r\nHost: localhost\nX: 1\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: 1\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: 1\n\n",
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: 1\r\n folded\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: 1\r\n\tfolded\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\n Host: localhost\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: a\0b\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: a\rb\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: a\x1b[2Jb\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX\0: a\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nno colon\r\n\r\n",
        b"GET /health\tz HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 100_000 + b"\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n" + b"X: a\r\n" * 20_000 + b"\r\n",
        b"GET /healthz HTTP/1.1 HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /healthz\r\n\r\n",
    ],
)
def test_an_ambiguous_request_is_rejected_and_the_connection_closed(server: Served, request_bytes: bytes) -> None:
    # A request smuggler would want the following request on the same connection to be answered.
    received = exchange_bytes(server, request_bytes + HEALTH)
    assert received.startswith(b"HTTP/1.1 400")
    assert received.count(b"HTTP/1.1") == 1
    assert b'"status"' not in received
    assert server.request(path="/healthz").status == 200


def test_a_bare_line_feed_is_rejected_before_the_head_is_complete(server: Served) -> None:
    assert exchange_bytes(server, b"GET /healthz HTTP/1.1\nHost").startswith(b"HTTP/1.1 400")


@pytest.mark.parametrize(
    "request_bytes",
    [
        post_request(b"Accept: application/json, text/event-stream", b"Content-Length: 40", body=PING),
        post_request(b"Accept: application/json, text/event-stream", b"Transfer-Encoding: Chunked", body=CHUNKED_PING),
        post_request(
            b"Accept: */*", b"Transfer-Encoding: chunked", body=b"28;ext=1\r\n" + PING + b"\r\n0\r\nTrailer: x\r\n\r\n"
        ),
    ],
)
def test_plain_and_chunked_requests_are_served(server: Served, request_bytes: bytes) -> None:
    closing = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    received = exchange_bytes(server, request_bytes + closing)
    assert b"Missing session ID" in received
    assert received.endswith(b'{"status":"ok"}')
