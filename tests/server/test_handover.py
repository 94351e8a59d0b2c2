"""Answers during startup, before the SDK is imported, and the handover to the SDK.

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

GATE_MODULE = """
import os, sys
open(os.environ["DELTOS_TEST_GATE"]).close()
sys.path.remove(os.path.dirname(__file__))
del sys.modules["anyio"]
import anyio
"""
STATELESS_META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


@pytest.fixture
def gate(tmp_path: Path) -> Path:
    """A named pipe; the import of the SDK continues when it is opened for writing."""
    path = tmp_path / "gate"
    os.mkfifo(path)
    (tmp_path / "slow").mkdir()
    (tmp_path / "slow" / "anyio.py").write_text(GATE_MODULE)
    return path


@pytest.fixture
def gated_client(start_client: StartClient, gate: Path) -> RawClient:
    """A client of a server that waits on the pipe before it imports the SDK."""
    search_path = os.pathsep.join([str(gate.with_name("slow")), *sys.path])
    return start_client(PYTHONPATH=search_path, DELTOS_TEST_GATE=str(gate))


def open_gate(gate: Path) -> None:
    with gate.open("w"):
        pass


def test_the_first_answers_do_not_wait_for_the_sdk(gated_client: RawClient) -> None:
    assert gated_client.initialize()["result"]["serverInfo"]["version"] == "1.2.3"
    assert gated_client.request("ping")["result"] == {}
    assert gated_client.request("tools/list")["result"]["tools"][0]["name"] == "echo"


def test_clients_without_a_handshake_do_not_wait_for_the_sdk_either(gated_client: RawClient, gate: Path) -> None:
    assert gated_client.request("server/discover", {"_meta": STATELESS_META})["result"]["supportedVersions"] == [
        "2026-07-28"
    ]
    assert gated_client.request("tools/list", {"_meta": STATELESS_META})["result"]["tools"]
    open_gate(gate)
    call = {"name": "echo", "arguments": {"text": "x"}, "_meta": STATELESS_META}
    assert gated_client.request("tools/call", call)["result"]["content"][0]["text"] == "x"
    assert gated_client.request("initialize", initialize_params())["error"]["code"] == -32022
    assert gated_client.others == []


def test_requests_for_the_sdk_are_kept_in_order_until_it_is_imported(gated_client: RawClient, gate: Path) -> None:
    gated_client.initialize()
    kept = [
        gated_client.start_call("echo", text="first"),
        gated_client.send_request("ping"),
        gated_client.send_request("tools/list"),
    ]
    open_gate(gate)
    answers = {message["id"]: message["result"] for message in (gated_client.receive() for _ in kept)}
    assert answers[kept[0]]["content"][0]["text"] == "first"
    assert answers[kept[1]] == {}
    assert answers[kept[2]]["tools"]


def test_the_handshake_is_answered_only_once(gated_client: RawClient, gate: Path) -> None:
    gated_client.initialize()
    open_gate(gate)
    assert gated_client.text("echo", text="x") == "x"
    assert gated_client.others == []
    assert gated_client.disconnect() == 0
    assert gated_client.remaining() == []


def test_an_unusual_handshake_is_passed_to_the_sdk(gated_client: RawClient, gate: Path) -> None:
    params = {**initialize_params(), "capabilities": "all"}
    request_id = gated_client.send_request("initialize", params)
    open_gate(gate)
    assert gated_client.answer_to(request_id)["error"]["code"] == -32602
    assert "result" in gated_client.initialize()


def test_the_server_exits_if_the_client_disconnects_early(gated_client: RawClient) -> None:
    gated_client.initialize()
    assert gated_client.disconnect() == 0


def test_an_idle_client_uses_no_cpu(gated_client: RawClient) -> None:
    assert gated_client.disconnect() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_waiting_server(gated_client: RawClient, number: signal.Signals) -> None:
    gated_client.initialize()
    gated_client.process.send_signal(number)
    assert gated_client.process.wait() == 0


def test_a_received_request_is_answered_after_the_client_closed_stdin(gated_client: RawClient, gate: Path) -> None:
    gated_client.initialize()
    request_id = gated_client.start_call("echo", text="late")
    gated_client._stdin.close()
    open_gate(gate)
    assert gated_client.answer_to(request_id)["result"]["content"][0]["text"] == "late"
    assert gated_client.process.wait() == 0


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
