"""Invalid requests get the specified error, reveal nothing, and do not stop the server."""

from __future__ import annotations

import socket
import ssl
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from tests.server.over_http.served import ACCEPT, rpc, tool_call

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.server.over_http.served import Served

INTERNAL_DETAILS = (b"Traceback", b"pydantic", b"site-packages", b"/home", b"Error:", b"secret detail")


@pytest.fixture(autouse=True)
def _server_keeps_running(server: Served) -> Iterator[None]:
    yield
    assert server.request(path="/healthz").message == {"status": "ok"}


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{not json", -32700),
        (b"", -32700),
        (b"\xff\xfe\x00", -32700),
        (b"[" * 100_000, -32700),
        (b"[]", -32600),
        (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600),
        (b'"text"', -32600),
        (b"null", -32600),
        (b"{}", -32600),
        (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":7}', -32600),
        (b'{"jsonrpc":"2.0","id":[1],"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":"x"}', -32600),
    ],
)
def test_invalid_messages_get_json_rpc_errors(server: Served, body: bytes, code: int) -> None:
    for headers in ({}, server.open_session(), {"MCP-Protocol-Version": "2026-07-28"}):
        reply = server.post(body, headers)
        assert (reply.status, reply.message["error"]["code"]) == (400, code)
        assert not any(detail in reply.body for detail in INTERNAL_DETAILS)


@pytest.mark.parametrize(
    ("message", "code"),
    [
        (rpc("tools/call", {"name": 7}), -32602),
        (rpc("tools/call", {"name": "echo", "arguments": "x"}), -32602),
        (rpc("tools/call"), -32602),
        (rpc("tools/list", {"cursor": "page 2"}), -32602),
        (rpc("logging/setLevel", {"level": "loud"}), -32602),
    ],
)
def test_invalid_parameters_get_an_error(server: Served, message: dict[str, object], code: int) -> None:
    reply = server.post(message, server.open_session())
    assert reply.message["error"]["code"] == code
    assert not any(detail in reply.body for detail in INTERNAL_DETAILS)


def test_unknown_tools_and_invalid_arguments_are_tool_errors(server: Served) -> None:
    session = server.open_session()
    for name, arguments in (("no_such", {}), ("echo", {"text": ["x"]}), ("echo", {}), ("fail", {"how": "bug"})):
        result = server.call(name, session, **arguments)
        assert result["isError"] is True
        assert result["content"][0]["text"].startswith("Error: ")
        assert "secret detail" not in str(result)


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://localhost.evil.example", "http://[", "file://"]
)
@pytest.mark.parametrize("path", ["/mcp", "/healthz", "/metrics"])
def test_requests_from_foreign_web_pages_are_rejected(server: Served, origin: str, path: str) -> None:
    assert server.request(path=path, headers={"Origin": origin}).status == 403


@pytest.mark.parametrize(
    "host", ["evil.example", "localhost.evil.example", "evil.example:80", "10.0.0.1", "", "[", "a b"]
)
def test_requests_for_a_foreign_host_are_rejected(server: Served, host: str) -> None:
    assert server.request(path="/healthz", headers={"Host": host}).status in (400, 421)


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1", "[::1]"])
def test_loopback_host_names_and_addresses_are_accepted(server: Served, name: str) -> None:
    headers = {"Host": f"{name}:{server.address.port}", "Origin": f"http://{name}:3000"}
    assert server.request(path="/healthz", headers=headers).status == 200


@pytest.mark.parametrize(
    ("method", "path", "headers", "status"),
    [
        ("GET", "/", {}, 200),
        ("GET", "/../../etc/passwd", {}, 404),
        ("GET", "/mcp/%2e%2e/healthz", {}, 404),
        ("POST", "/healthz", {}, 405),
        ("PUT", "/mcp", {}, 405),
        ("GET", "/mcp", {"Accept": "text/event-stream"}, 400),
        ("GET", "/mcp", {"Accept": "text/event-stream", "Mcp-Session-Id": "0" * 32}, 404),
        ("DELETE", "/mcp", {"Mcp-Session-Id": "../../x"}, 404),
        ("GET", "/mcp", {"MCP-Protocol-Version": "2026-07-28"}, 405),
    ],
)
def test_unusual_requests_get_the_right_http_status(
    server: Served, method: str, path: str, headers: dict[str, str], status: int
) -> None:
    assert server.request(method, path, headers=headers).status == status


def test_oversized_bodies_are_not_read(server: Served) -> None:
    large = b'"' + b"x" * (5 * 1024 * 1024) + b'"'
    assert server.post(b"{}", {"Content-Length": str(50 * 1024 * 1024)}).status == 413
    with socket.create_connection((server.address.hostname, server.address.port)) as connection:
        head = "".join(f"{name}: {value}\r\n" for name, value in ACCEPT.items())
        connection.sendall(
            f"POST /mcp HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n{head}\r\n".encode()
            + f"{len(large):x}\r\n".encode()
            + large[: 4 * 1024 * 1024 + 65_536]
        )
        assert connection.recv(64).startswith(b"HTTP/1.1 413")


@pytest.mark.parametrize("junk", [b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"GET\r\n\r\n", b"\0" * 100_000])
def test_invalid_http_closes_the_connection(server: Served, junk: bytes) -> None:
    with socket.create_connection((server.address.hostname, server.address.port)) as connection:
        connection.sendall(junk)
        connection.shutdown(socket.SHUT_WR)
        assert connection.recv(64)[:12] in (b"", b"HTTP/1.1 400")


def test_clients_that_disconnect_midway_do_not_affect_others(server: Served) -> None:
    for part in (
        b"POST /mcp HTTP/1.1\r\nHost: loc",
        b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n\r\n{",
    ):
        for _ in range(50):
            with socket.create_connection((server.address.hostname, server.address.port)) as connection:
                connection.sendall(part)


def test_tls_on_a_plain_port_fails_cleanly(server: Served) -> None:
    with (
        socket.create_connection((server.address.hostname, server.address.port)) as connection,
        pytest.raises(OSError, match=r"(?i)ssl|reset|eof"),
    ):
        ssl.create_default_context().wrap_socket(connection, server_hostname="localhost")


@pytest.fixture
def _many_sockets() -> Iterator[None]:
    """Raise the limit of open files of this process."""
    resource = pytest.importorskip("resource", reason="Windows has no limit on open files")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 4_096)), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.usefixtures("_many_sockets")
def test_a_thousand_requests_at_once_are_all_answered(server: Served) -> None:
    session = server.open_session()
    body = tool_call("echo", text="x")

    def ask(number: int) -> int:
        return server.post({**body, "id": number}, session).status

    with ThreadPoolExecutor(1_000) as pool:
        statuses = list(pool.map(ask, range(1_000)))
    assert set(statuses) <= {200, 503}
    assert statuses.count(200) >= 500
