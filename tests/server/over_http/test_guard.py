"""ASGI guards that protect the applications behind them from invalid, slow and frequent requests."""

from __future__ import annotations

import asyncio
import socket
from typing import TYPE_CHECKING, Any

import anyio
import pytest
import uvicorn
from starlette.responses import PlainTextResponse

from deltos.server.http.connection import make_connection_class
from deltos.server.http.guard import RequestGuard
from deltos.server.http.options import ServerLimits
from deltos.server.http.rate_limit import RateLimit

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import ASGIApp, Message

PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
REACHED = PlainTextResponse("reached")


def guard_app(app: ASGIApp = REACHED, rate: float = 0.0, **limits: Any) -> RequestGuard:
    return RequestGuard(app, ServerLimits(**limits), RateLimit(rate, lambda: 0.0), lambda _scope, _body: None)


async def response_statuses(app: ASGIApp, *parts: bytes | None, more: bool = False, method: str = "POST") -> list[int]:
    """Return the response statuses for a body sent in parts; the part None disconnects the client."""
    messages: list[Message] = [
        {"type": "http.disconnect"}
        if part is None
        else {"type": "http.request", "body": part, "more_body": more or number < len(parts)}
        for number, part in enumerate(parts, 1)
    ]
    statuses: list[int] = []

    async def receive() -> Message:
        if not messages:
            await anyio.sleep_forever()
        return messages.pop(0)

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    scope = {"type": "http", "method": method, "path": "/mcp", "headers": [], "client": ("127.0.0.1", 1)}
    await app(scope, receive, send)
    return statuses


def test_a_body_in_several_parts_is_joined() -> None:
    assert anyio.run(response_statuses, guard_app(), PING[:9], PING[9:]) == [200]


def test_a_body_that_never_ends_times_out() -> None:
    async def scenario() -> list[int]:
        return await response_statuses(guard_app(body_seconds=0.01), PING[:9], more=True)

    assert anyio.run(scenario) == [408]


def test_a_client_that_disconnects_gets_no_answer() -> None:
    assert anyio.run(response_statuses, guard_app(), PING[:9], None) == []


def test_a_body_that_exceeds_the_limit_is_rejected() -> None:
    assert anyio.run(response_statuses, guard_app(body_bytes=40), PING, b" ", b"x" * 999) == [413]


def test_concurrent_requests_above_the_limit_are_rejected() -> None:
    async def scenario() -> list[list[int]]:
        inner: list[list[int]] = []

        async def busy(*_: object) -> None:
            inner.append(await response_statuses(narrow, PING))
            inner.append(await response_statuses(narrow, method="GET"))

        narrow = guard_app(busy, concurrent_requests=1)
        await response_statuses(narrow, PING)
        return inner

    assert anyio.run(scenario) == [[503], [503]]


def test_an_idle_guard_drains_at_once_and_stays_closed() -> None:
    async def scenario() -> list[int]:
        closed = guard_app()
        await closed.drain(600)
        return await response_statuses(closed, PING)

    assert anyio.run(scenario) == [503]


def test_the_rate_limit_applies_to_each_address_separately() -> None:
    async def scenario() -> list[list[int]]:
        slow = guard_app(rate=0.25)
        return [await response_statuses(slow, PING), await response_statuses(slow, PING)]

    assert anyio.run(scenario) == [[200], [429]]


def test_connections_that_never_finish_a_head_are_closed() -> None:
    async def scenario() -> list[bytes]:
        listening = socket.create_server(("127.0.0.1", 0))
        config = uvicorn.Config(REACHED, http=make_connection_class(0.05), log_level="critical", lifespan="off")
        server = uvicorn.Server(config)
        serving = asyncio.create_task(server._serve([listening]))
        port = listening.getsockname()[1]
        whole = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
        received = [await _exchange_bytes(port, part) for part in (b"", b"GET / HT", whole + b"GET / HT")]
        server.should_exit = True
        await serving
        return received

    silent, partial, second = anyio.run(scenario)
    assert silent == partial == b""
    assert second.count(b"HTTP/1.1 200") == 1


async def _exchange_bytes(port: int, data: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(data)
    received = await reader.read()
    writer.close()
    return received


@pytest.fixture
def clock() -> list[float]:
    """A clock that the test sets."""
    return [0.0]


@pytest.fixture
def read_clock(clock: list[float]) -> Callable[[], float]:
    return lambda: clock[0]


def test_a_bucket_refills_with_time(clock: list[float], read_clock: Callable[[], float]) -> None:
    limit = RateLimit(2.0, read_clock)
    assert [limit.wait_seconds("a") for _ in range(9)] == [0] * 8 + [1]
    assert limit.wait_seconds("b") == 0
    clock[0] = 0.5
    assert [limit.wait_seconds("a"), limit.wait_seconds("a")] == [0, 1]


def test_the_number_of_stored_buckets_is_limited(read_clock: Callable[[], float]) -> None:
    limit = RateLimit(0.25, read_clock)
    for number in range(10_001):
        assert limit.wait_seconds(str(number)) == 0
    assert limit.wait_seconds("0") == 0  # the bucket of this caller was dropped, so a full one is used
    assert limit.wait_seconds("10000") == 4
