"""The first second: answers before the SDK is imported, and the handover to the SDK.

A slow import is simulated by a module called `anyio`, found first on the path, that waits on a named pipe before it
imports the real one.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from deltos.server.pipes import MAX_LINE_BYTES
from tests.server.raw import initialize_params

if TYPE_CHECKING:
    from pathlib import Path

    from tests.server.conftest import StartClient
    from tests.server.raw import RawClient

GATE = """
import os, sys
open(os.environ["DELTOS_TEST_GATE"]).close()
sys.path.remove(os.path.dirname(__file__))
del sys.modules["anyio"]
import anyio
"""
MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


@pytest.fixture
def gate(tmp_path: Path) -> Path:
    """A named pipe; the import of the SDK continues when it is opened for writing."""
    path = tmp_path / "gate"
    os.mkfifo(path)
    (tmp_path / "slow").mkdir()
    (tmp_path / "slow" / "anyio.py").write_text(GATE)
    return path


@pytest.fixture
def gated(start_client: StartClient, gate: Path) -> RawClient:
    """A client of a server that waits on the pipe before it imports the SDK."""
    search_path = os.pathsep.join([str(gate.with_name("slow")), *sys.path])
    return start_client(PYTHONPATH=search_path, DELTOS_TEST_GATE=str(gate))


def open_gate(gate: Path) -> None:
    with gate.open("w"):
        pass


def test_the_first_answers_do_not_wait_for_the_sdk(gated: RawClient) -> None:
    assert gated.initialize()["result"]["serverInfo"]["version"] == "1.2.3"
    assert gated.request("ping")["result"] == {}
    assert gated.request("tools/list")["result"]["tools"][0]["name"] == "echo"


def test_clients_without_a_handshake_do_not_wait_for_the_sdk_either(gated: RawClient, gate: Path) -> None:
    assert gated.request("server/discover", {"_meta": MODERN})["result"]["supportedVersions"] == ["2026-07-28"]
    assert gated.request("tools/list", {"_meta": MODERN})["result"]["tools"]
    open_gate(gate)
    call = {"name": "echo", "arguments": {"text": "x"}, "_meta": MODERN}
    assert gated.request("tools/call", call)["result"]["content"][0]["text"] == "x"
    assert gated.request("initialize", initialize_params())["error"]["code"] == -32022
    assert gated.others == []


def test_requests_for_the_sdk_are_kept_in_order_until_it_is_imported(gated: RawClient, gate: Path) -> None:
    gated.initialize()
    kept = [
        gated.start_call("echo", text="first"),
        gated.send_request("ping"),
        gated.send_request("tools/list"),
    ]
    open_gate(gate)
    answers = {message["id"]: message["result"] for message in (gated.receive() for _ in kept)}
    assert answers[kept[0]]["content"][0]["text"] == "first"
    assert answers[kept[1]] == {}
    assert answers[kept[2]]["tools"]


def test_the_handshake_is_answered_only_once(gated: RawClient, gate: Path) -> None:
    gated.initialize()
    open_gate(gate)
    assert gated.text("echo", text="x") == "x"
    assert gated.others == []
    assert gated.hang_up() == 0
    assert gated.remaining() == []


def test_an_unusual_handshake_is_left_to_the_sdk(gated: RawClient, gate: Path) -> None:
    params = {**initialize_params(), "capabilities": "all"}
    request_id = gated.send_request("initialize", params)
    open_gate(gate)
    assert gated.answer_to(request_id)["error"]["code"] == -32602
    assert "result" in gated.initialize()


def test_the_server_exits_if_the_client_disconnects_early(gated: RawClient) -> None:
    gated.initialize()
    assert gated.hang_up() == 0


def test_an_idle_client_uses_no_cpu(gated: RawClient) -> None:
    assert gated.hang_up() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_waiting_server(gated: RawClient, number: signal.Signals) -> None:
    gated.initialize()
    gated.process.send_signal(number)
    assert gated.process.wait() == 0


def test_a_received_request_is_answered_after_the_client_closed_stdin(gated: RawClient, gate: Path) -> None:
    gated.initialize()
    request_id = gated.start_call("echo", text="late")
    gated._stdin.close()
    open_gate(gate)
    assert gated.answer_to(request_id)["result"]["content"][0]["text"] == "late"
    assert gated.process.wait() == 0


def test_a_failing_import_of_the_sdk_ends_the_server_with_the_reason(start_client: StartClient, gate: Path) -> None:
    gate.with_name("slow").joinpath("anyio.py").write_text("raise ImportError('no anyio here')")
    client = start_client(PYTHONPATH=os.pathsep.join([str(gate.with_name("slow")), *sys.path]))
    client.initialize()
    assert client.process.wait() == 1
    assert "no anyio here" in client.remaining_log()


def test_the_startup_module_imports_nothing_heavy() -> None:
    code = "import sys; old = set(sys.modules); import deltos.server.startup; print(*(set(sys.modules) - old))"
    modules = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    heavy = {
        "anyio",
        "argparse",
        "asyncio",
        "mcp",
        "mcp_types",
        "numpy",
        "pydantic",
        "sqlite3",
        "tree_sitter",
    }
    assert heavy.isdisjoint(modules)


def test_a_line_of_fifty_megabytes_is_accepted(start_client: StartClient) -> None:
    client = start_client()
    client.initialize()
    assert client.text("echo", text="x" * 50_000_000, times=0) == ""
    assert client.request("ping")["result"] == {}


def test_an_overlong_line_is_rejected(start_client: StartClient) -> None:
    client = start_client()
    client.initialize()
    client.send_line(b'"' + b"x" * (2 * MAX_LINE_BYTES) + b'"')
    assert client.receive() == {
        "jsonrpc": "2.0",
        "id": None,
        "error": {"code": -32700, "message": "Parse error"},
    }
    assert client.request("ping")["result"] == {}
