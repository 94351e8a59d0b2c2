"""Invalid lines, and messages that are not requests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.server.conftest import StartClient
    from tests.server.raw import RawClient


@pytest.mark.parametrize(
    ("line", "request_id", "code"),
    [
        (b"{", None, -32700),
        (b"\xff\xfe", None, -32700),
        (b'{"jsonrpc": "2.0", "id": 7, "method": "ping", "params": {"x": "\\ud800"}}', 7, -32600),
        (b"[" * 100_000, None, -32700),
        (b"[]", None, -32600),
        (b'[{"jsonrpc": "2.0", "id": 7, "method": "ping"}]', None, -32600),
        (b"null", None, -32600),
        (b'"ping"', None, -32600),
        (b'{"jsonrpc": "1.0", "id": 7, "method": "ping"}', 7, -32600),
        (b'{"jsonrpc": "2.0", "id": "seven"}', "seven", -32600),
        (b'{"jsonrpc": "2.0", "id": true, "method": "ping"}', None, -32600),
        (b'{"jsonrpc": "2.0", "id": 1.5, "method": "ping"}', None, -32600),
        (b'{"jsonrpc": "2.0", "id": 7, "method": 8}', 7, -32600),
        (b'{"jsonrpc": "2.0", "id": 7, "method": "ping", "params": [1]}', 7, -32600),
        (b'{"jsonrpc": "2.0", "id": 7, "method": "no/such"}', 7, -32601),
        (b'{"jsonrpc": "2.0", "id": 7, "method": "resources/subscribe", "params": {"uri": "x:"}}', 7, -32601),
        (b'{"jsonrpc": "2.0", "id": 7, "method": "tools/list", "params": {"cursor": "2"}}', 7, -32602),
        (b'{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": 8}}', 7, -32602),
        (
            b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","arguments":[]}}',
            7,
            -32602,
        ),
    ],
)
def test_an_invalid_line_gets_the_specified_error(
    client: RawClient, line: bytes, request_id: object, code: int
) -> None:
    client.send_line(line)
    answer = client.receive()
    assert (answer["id"], answer["error"]["code"]) == (request_id, code)


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"   \r",
        b'{"jsonrpc": "2.0", "method": "notifications/no/such"}',
        b'{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 12345}}',
        b'{"jsonrpc": "2.0", "id": 999, "result": {}}',
        b'{"jsonrpc": "2.0", "id": 999, "error": {"code": 1, "message": "?"}}',
    ],
)
def test_notifications_and_responses_get_no_answer(client: RawClient, line: bytes) -> None:
    client.send_line(line)
    client.others.clear()
    assert client.request("ping")["result"] == {}
    assert client.others == []


def test_a_request_before_the_handshake_is_refused(start_client: StartClient) -> None:
    client = start_client()
    assert client.request("ping")["result"] == {}
    assert client.request("tools/list")["error"]["code"] == -32602
    assert "result" in client.initialize()
    assert client.text("echo", text="now") == "now"


def test_a_second_handshake_is_answered_as_the_sdk_does(client: RawClient) -> None:
    assert client.initialize(version="2024-11-05")["result"]["protocolVersion"] == "2024-11-05"
    assert client.text("echo", text="still here") == "still here"
