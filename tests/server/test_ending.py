"""The server always exits quickly and cleanly."""

from __future__ import annotations

import json
import signal
import struct
import subprocess
import time
from typing import IO, TYPE_CHECKING

import pytest

from tests.server.raw import environment, initialize_params, toy_command

if TYPE_CHECKING:
    from pathlib import Path

    from tests.server.conftest import StartClient

LIMIT_SECONDS = 20  # the specified limit is five seconds; a busy machine may take longer to start a process
INITIALIZE = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": initialize_params()}
HUGE = {"name": "huge", "arguments": {"size": 90_000}}
POLL_SECONDS = 0.02  # poll rarely, to leave the CPU to the server
FULL_PIPE_BYTES = 40_000  # capacity is up to 65,536 bytes, less if messages leave pages partly unused


@pytest.mark.parametrize("tool", ["never_end", "wait_until_cancelled"])
def test_disconnecting_ends_the_server_even_while_a_call_runs(
    start_client: StartClient, tool: str, tmp_path: Path
) -> None:
    client = start_client()
    client.initialize()
    client.start_call(tool)
    client.wait_for_log("never ending" if tool == "never_end" else "waiting")
    assert client.disconnect() == 0
    assert (tmp_path / "closed").exists()
    assert "Traceback" not in client.remaining_log()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_server_even_while_a_call_runs(
    start_client: StartClient, number: signal.Signals, tmp_path: Path
) -> None:
    client = start_client()
    client.initialize()
    client.start_call("never_end")
    client.wait_for_log("never ending")
    client.process.send_signal(number)
    client.process.send_signal(number)
    assert client.process.wait() == 0
    assert (tmp_path / "closed").exists()
    assert "Traceback" not in client.remaining_log()


def test_a_signal_ends_the_server_even_while_a_library_holds_the_gil(start_client: StartClient) -> None:
    client = start_client()
    client.initialize()
    client.start_call("hold_interpreter")
    client.wait_for_log("holding the interpreter")
    client.process.terminate()
    assert client.process.wait(LIMIT_SECONDS) == -signal.SIGKILL


def test_a_signal_ends_a_server_during_start_up(start_client: StartClient) -> None:
    client = start_client()
    client.request("initialize", initialize_params())
    client.start_call("echo", text="x")  # this call needs the SDK, which is being imported now
    client.process.terminate()
    assert client.process.wait(LIMIT_SECONDS) == 0


def test_a_signal_ends_a_server_whose_files_never_open(start_client: StartClient, tmp_path: Path) -> None:
    (tmp_path / "never-opens").touch()
    client = start_client()
    client.initialize()
    client.start_call("echo", text="x")
    client.wait_for_log("opening")
    client.process.send_signal(signal.SIGINT)
    assert client.process.wait(LIMIT_SECONDS) == 0


@pytest.mark.parametrize(
    "asked",
    [{"method": "tools/list"}, {"method": "tools/call", "params": HUGE}],
    ids=["from the first moment", "later"],
)
def test_a_signal_ends_a_server_whose_client_does_not_read_its_answers(
    manifest_path: Path, tmp_path: Path, asked: dict[str, object]
) -> None:
    command, pipe = toy_command(manifest_path), subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, env=environment(tmp_path)) as process:
        assert process.stdin
        assert process.stdout
        messages = [INITIALIZE, *({"jsonrpc": "2.0", "id": number, **asked} for number in range(2, 100))]
        process.stdin.write(b"".join(json.dumps(message).encode() + b"\n" for message in messages))
        process.stdin.flush()
        while waiting_bytes(process.stdout) < FULL_PIPE_BYTES:
            time.sleep(POLL_SECONDS)
        process.terminate()
        assert process.wait(LIMIT_SECONDS) == 0


def waiting_bytes(pipe: IO[bytes]) -> int:
    """Return the number of bytes in a pipe that were not read yet."""
    import fcntl  # imported here, because Windows has neither module
    import termios

    (count,) = struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, b"\0\0\0\0"))
    return int(count)


@pytest.mark.parametrize(
    ("closed", "code", "words"),
    [
        ("2>&-", 0, ""),
        ("<&-", 2, "stdin and stdout must be open"),
        (">&-", 2, "stdin and stdout must be open"),
    ],
)
def test_missing_standard_streams_are_handled(
    manifest_path: Path, tmp_path: Path, closed: str, code: int, words: str
) -> None:
    command = ["sh", "-c", f'exec "$@" {closed}', "sh", *toy_command(manifest_path)]
    ping = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"})
    done = subprocess.run(command, input=ping, capture_output=True, text=True, env=environment(tmp_path))
    assert done.returncode == code
    assert words in done.stderr
    assert ('"result":{}' in done.stdout) == (code == 0)


def test_a_client_that_stops_reading_ends_the_server(manifest_path: Path, tmp_path: Path) -> None:
    command, pipe = toy_command(manifest_path), subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, env=environment(tmp_path)) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(json.dumps(INITIALIZE).encode() + b"\n")
        process.stdin.flush()
        assert process.stdout.readline()
        process.stdout.close()
        process.stdin.write(json.dumps({**INITIALIZE, "id": 2, "method": "tools/call"}).encode() + b"\n")
        process.stdin.flush()
        assert process.wait() == 0


def test_the_server_exits_although_the_toolbox_does_not_close(start_client: StartClient, tmp_path: Path) -> None:
    (tmp_path / "stuck").touch()
    client = start_client()
    client.initialize()
    assert "Unknown tool" in client.text("echo")
    assert client.disconnect() == 0


def test_every_call_retries_a_toolbox_that_cannot_be_opened_and_reports_it(
    start_client: StartClient, tmp_path: Path
) -> None:
    (tmp_path / "read-only").touch()
    client = start_client()
    client.initialize()
    message = "Error: The data folder is read-only. Set DELTOS_HOME to another folder."
    assert client.call("echo", text="x") == {"content": [{"type": "text", "text": message}], "isError": True}
    (tmp_path / "read-only").unlink()
    assert client.text("echo", text="x") == "x"
