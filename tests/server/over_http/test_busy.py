"""`ping`, `/healthz` and other callers are answered even under load from greedy or slow callers."""

from __future__ import annotations

import json
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING

from deltos.server.access import Level
from tests.server.over_http.served import ACCEPT, rpc, tool_call
from tests.server.over_http.test_access import OPENING, RESOURCE, Issuer, bearer, create_token
from tests.server.raw import WAIT_TIMEOUT_SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.loopback import Site
    from tests.server.over_http.conftest import Serve
    from tests.server.over_http.served import Served

CALLS = 20
CALLS_OF_ONE_CALLER = 12


def test_twenty_concurrent_calls_of_one_caller_do_not_block_others(serve: Serve, tmp_path: Path) -> None:
    greedy, modest = bearer(create_token(tmp_path, Level.ADMIN)), bearer(create_token(tmp_path, Level.READ))
    server = serve("--require-token")
    session, other, until = server.open_session(greedy), server.open_session(modest), tmp_path / "go"
    with ThreadPoolExecutor(CALLS) as pool:
        calls = [{**tool_call("hold", until=str(until)), "id": 100 + number} for number in range(CALLS)]
        running = [pool.submit(server.post, call, session) for call in calls]
        for _ in range(CALLS_OF_ONE_CALLER):
            server.wait_for_log("holding")
        assert server.request(path="/healthz").message == {"status": "ok"}
        assert server.post(rpc("ping"), session).message["result"] == {}
        assert server.text("echo", other, text="x") == "x"
        assert not any(one.done() for one in running)
        until.touch()
        texts = [one.result(WAIT_TIMEOUT_SECONDS).message["result"]["content"][0]["text"] for one in running]
    assert texts == ["let go"] * CALLS


def slow_client(server: Served, session: dict[str, str], body: bytes, *, sends: int) -> socket.socket:
    """Open a connection that sends a part of a request and reads no response."""
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2_048)
    connection.settimeout(WAIT_TIMEOUT_SECONDS)
    connection.connect((server.address.hostname, server.address.port))
    headers = {**ACCEPT, **session, "Host": server.address.netloc, "Content-Length": str(len(body))}
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    connection.sendall(f"POST /mcp HTTP/1.1\r\n{head}\r\n".encode() + body[:sends])
    return connection


def test_slow_clients_do_not_block_others(serve: Serve) -> None:
    server = serve()
    slow, other = server.open_session(), server.open_session()
    with ExitStack() as connections:
        for number in range(2 * CALLS):
            body = json.dumps({**tool_call("huge", size=90_000), "id": 100 + number}).encode()
            sends = len(body) if number % 2 else 5
            connections.callback(slow_client(server, slow, body, sends=sends).close)
        counted = f'deltos_tool_calls_total{{outcome="ok",tool="huge"}} {CALLS}.0'
        until = time.monotonic() + WAIT_TIMEOUT_SECONDS
        while (
            counted not in server.request(path="/metrics").body.decode()
        ):  # the tools have finished, but their answers were not read yet
            assert time.monotonic() < until
        assert server.text("echo", other, text="x") == "x"
        assert server.text("echo", slow, text="y") == "y"
        assert "deltos_http_requests_in_flight 0.0" not in server.request(path="/metrics").body.decode()


@contextmanager
def unresponsive_issuer(asked: threading.Event) -> Iterator[str]:
    """Yield the URL of a server that accepts connections but never answers; the first connection sets `asked`."""
    with socket.create_server(("127.0.0.1", 0), backlog=100) as listening:
        held = []

        def accept() -> None:
            with suppress(OSError):
                while True:
                    held.append(listening.accept()[0])
                    asked.set()

        threading.Thread(target=accept, daemon=True).start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        listening.shutdown(socket.SHUT_RDWR)
        for connection in held:
            connection.close()


def test_an_unresponsive_issuer_delays_only_callers_with_its_tokens(serve: Serve, site: Site, tmp_path: Path) -> None:
    own = bearer(create_token(tmp_path, Level.READ))
    asked = threading.Event()
    with unresponsive_issuer(asked) as url, ThreadPoolExecutor(50) as pool:
        server = serve("--oauth-issuer", url, "--oauth-resource", RESOURCE)
        issued = bearer(Issuer(site).token(iss=url))
        waiting = [pool.submit(server.post, OPENING, issued) for _ in range(50)]
        assert asked.wait(WAIT_TIMEOUT_SECONDS)
        assert server.request(path="/healthz").message == {"status": "ok"}
        session = server.open_session(own)
        assert server.text("echo", session, text="x") == "x"
        assert not any(one.done() for one in waiting)
        server.process.terminate()
        assert server.process.wait(WAIT_TIMEOUT_SECONDS) == 0
