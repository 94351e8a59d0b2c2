"""Shutdown of an HTTP server: running calls finish and new ones are rejected."""

from __future__ import annotations

import http.client
import json
import select
import signal
import socket
import subprocess
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from tests.server.over_http.served import ACCEPT, rpc, tool_call
from tests.server.raw import environment, initialize_params, toy_command

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.server.over_http.conftest import Serve
    from tests.server.over_http.served import Served

POLL_SECONDS = 0.02  # poll rarely, to leave the CPU to the server
LIMIT_SECONDS = 20  # the specified limit is five seconds; a busy machine may take longer
OPENING = rpc("initialize", initialize_params("2025-11-25"))


def send_in_thread(send: Callable[[], object]) -> None:
    """Send a request in a thread; the connection may be closed before the response."""

    def run() -> None:
        with suppress(http.client.HTTPException, OSError):
            send()

    threading.Thread(target=run).start()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_an_idle_server_exits_at_once_and_closes_its_files(
    serve: Serve, number: signal.Signals, tmp_path: Path
) -> None:
    server = serve()
    server.text("echo", server.open_session(), text="x")
    server.process.send_signal(number)
    assert server.process.wait() == 0
    assert (tmp_path / "closed").exists()


def test_at_shutdown_running_calls_finish_and_new_ones_are_rejected(serve: Serve, tmp_path: Path) -> None:
    server = serve()
    session = server.open_session()
    texts: list[str] = []
    holding = threading.Thread(target=lambda: texts.append(server.text("hold", session, until=str(tmp_path / "go"))))
    holding.start()
    server.wait_for_log("holding")
    server.process.terminate()
    while server.request(path="/healthz").status != 503:
        time.sleep(POLL_SECONDS)
    turned_away = server.post(OPENING)
    assert turned_away.status == 503
    assert turned_away.headers["retry-after"] == "1"
    (tmp_path / "go").touch()
    holding.join()
    assert texts == ["let go"]
    assert server.process.wait() == 0


def test_the_grace_period_is_limited(serve: Serve) -> None:
    server = serve("--grace", "0.2")
    session = server.open_session()
    send_in_thread(lambda: server.request("GET", headers={**session, "Accept": "text/event-stream"}))
    send_in_thread(lambda: server.post(rpc("tools/call", {"name": "wait_until_cancelled"}), session))
    server.wait_for_log("waiting")
    assert server.stop() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_open_streams_and_clients_that_do_not_read_do_not_delay_the_shutdown(
    serve: Serve, number: signal.Signals
) -> None:
    server = serve()
    session = server.open_session()
    with open_connection(server) as listening, open_connection(server) as not_reading:
        listening.sendall(send_raw_request(server, "GET", {**session, "Accept": "text/event-stream"}))
        assert listening.recv(100).startswith(b"HTTP/1.1 200")
        not_reading.setblocking(False)
        asked = send_raw_request(
            server, "POST", {**ACCEPT, **session}, json.dumps(tool_call("huge", size=90_000)).encode()
        )
        while select.select([], [not_reading], [], 1.0)[
            1
        ]:  # send until the server stops reading because its output buffer is full
            not_reading.send(asked)
        assert server.request(path="/healthz").status == 200
        server.process.send_signal(number)
        assert server.process.wait(LIMIT_SECONDS) == 0


def test_a_signal_ends_the_server_even_while_a_library_holds_the_gil(serve: Serve) -> None:
    server = serve()
    session = server.open_session()
    send_in_thread(lambda: server.post(tool_call("hold_interpreter"), session))
    server.wait_for_log("holding the interpreter")
    server.process.send_signal(signal.SIGINT)
    assert server.process.wait(LIMIT_SECONDS) == -signal.SIGKILL


def test_a_signal_ends_a_server_whose_tool_never_returns(serve: Serve) -> None:
    server = serve()
    session = server.open_session()
    send_in_thread(lambda: server.post(tool_call("never_end"), session))
    server.wait_for_log("never ending")
    server.process.terminate()
    assert server.process.wait(LIMIT_SECONDS) == 0


def open_connection(server: Served) -> socket.socket:
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    connection.connect((server.address.hostname, server.address.port))
    return connection


def send_raw_request(server: Served, method: str, headers: dict[str, str], body: bytes = b"") -> bytes:
    fields = {"Host": server.address.netloc, "Content-Length": str(len(body)), **headers}
    head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return f"{method} /mcp HTTP/1.1\r\n{head}\r\n".encode() + body


def test_a_second_signal_ends_the_grace_period(serve: Serve, tmp_path: Path) -> None:
    server = serve("--grace", "600")
    session = server.open_session()
    send_in_thread(lambda: server.post(rpc("tools/call", {"name": "wait_until_cancelled"}), session))
    server.wait_for_log("waiting")
    server.process.terminate()
    while server.request(path="/healthz").status != 503:
        time.sleep(POLL_SECONDS)
    server.process.terminate()
    assert server.process.wait() == 0


def test_a_port_in_use_is_reported(manifest_path: Path, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        command = toy_command(manifest_path, str(tmp_path), "--http", address)
        done = subprocess.run(command, capture_output=True, text=True, env=environment(tmp_path))
    assert done.returncode == 1
    assert f"cannot listen on {address}: Address already in use" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--http", "nowhere:x"], "not an address: nowhere:x"),
        (["--http", "0", "--root", "no/such"], "not a folder"),
        (["--http", "0", "--tls-cert", "no.pem"], "no such file: no.pem"),
        (
            ["--http", "0", "--oauth-issuer", "https://a.example"],
            "--oauth-issuer and --oauth-resource must be used together",
        ),
        (["--http", "0", "--toolsets", "kitchen"], "Unknown toolset: kitchen"),
    ],
)
def test_invalid_options_are_reported(arguments: list[str], words: str, manifest_path: Path, tmp_path: Path) -> None:
    command = toy_command(manifest_path, *arguments)
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment(tmp_path))
    assert done.returncode == 2
    assert words in done.stderr
