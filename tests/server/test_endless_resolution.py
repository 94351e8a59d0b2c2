"""While the type resolution of a file never finishes, others are answered, and the server exits on a signal."""

from __future__ import annotations

import sys
import threading
import time
from contextlib import suppress
from http.client import HTTPException
from pathlib import Path

import pytest

from tests.domains.graph.test_resolution_failures import ENDLESS_SOURCE
from tests.repositories import make_repository, write_files
from tests.server.over_http.served import Served, rpc
from tests.server.raw import RawClient
from tests.server.test_endless_file import children_of
from tests.server.test_hostile_pages import cpu_ticks

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the test reads /proc")
COMMAND = [sys.executable, "-P", "-m", "deltos", "mcp"]
GOOD_FILES: dict[str, str | bytes] = {"good.ts": "export function good_function() { return 1 }\n"}
OTHER_FILES: dict[str, str | bytes] = {"other.py": "def other_function():\n    return 3\n"}
WAIT_TIMEOUT_SECONDS = 60
# Longer than parsing such a file takes, and below its time limit: a child that works this long is resolving it.
RESOLVING_TICKS = 200


@pytest.fixture
def root(tmp_path: Path) -> Path:
    make_repository(tmp_path / "other", OTHER_FILES)
    return make_repository(tmp_path / "root", GOOD_FILES)


def wait_for_resolving_child(server: int) -> list[int]:
    """Wait until a child process works for a long time, and return the server's children."""
    until = time.monotonic() + WAIT_TIMEOUT_SECONDS
    while True:
        children = children_of(server)
        with suppress(OSError):
            if any(cpu_ticks(Path(f"/proc/{child}")) > RESOLVING_TICKS for child in children):
                return children
        assert time.monotonic() < until, "no child process used CPU time for long enough"
        time.sleep(0.05)


def wait_for_exit(children: list[int]) -> None:
    until = time.monotonic() + WAIT_TIMEOUT_SECONDS
    while any(Path(f"/proc/{child}").exists() for child in children):
        assert time.monotonic() < until
        time.sleep(0.05)


def test_calls_and_signals_are_handled_while_a_file_never_finishes_resolving(root: Path, tmp_path: Path) -> None:
    client = RawClient([*COMMAND, str(root)], home=tmp_path / "home", DELTOS_EMBED="off")
    client.initialize()
    assert "good_function" in client.text("search_code", query="good_function")
    write_files(root, {"endless.ts": ENDLESS_SOURCE})
    stuck = client.start_call("find_symbol", symbol="good_function")
    children = wait_for_resolving_child(client.process.pid)
    for _ in range(5):
        assert client.request("ping")["result"] == {}
    assert "good_function" in client.text("search_code", query="good_function")
    indexed = client.call("index_repository", repo_path=str(tmp_path / "other"))
    assert indexed["structuredContent"]["files_indexed"] == 1
    assert all(message.get("id") != stuck for message in client.others)  # the other calls were answered first
    client.process.terminate()
    assert client.process.wait(20) == 0
    wait_for_exit(children)


def test_an_http_server_answers_others_while_a_file_never_finishes_resolving(root: Path, tmp_path: Path) -> None:
    command = [*COMMAND, str(root), "--http", "127.0.0.1:0", "--root", str(tmp_path)]
    server = Served(command, tmp_path / "home", DELTOS_EMBED="off")
    one, other = server.open_session(), server.open_session()
    assert "good_function" in server.text("search_code", one, query="good_function")
    write_files(root, {"endless.ts": ENDLESS_SOURCE})

    def call_find_symbol() -> None:
        with suppress(HTTPException, OSError):  # the connection is closed when the server ends
            server.call("find_symbol", one, symbol="good_function")

    asking = threading.Thread(target=call_find_symbol)
    asking.start()
    children = wait_for_resolving_child(server.process.pid)
    for _ in range(5):
        assert server.request(path="/healthz").message == {"status": "ok"}
        assert server.post(rpc("ping"), other).message["result"] == {}
    assert "good_function" in server.text("search_code", other, query="good_function")
    server.call("set_working_directory", other, directory=str(tmp_path / "other"))
    assert "other_function" in server.text("search_code", other, query="other_function")
    server.process.terminate()
    assert server.process.wait(20) == 0
    asking.join()
    wait_for_exit(children)
    server.shut_down()
