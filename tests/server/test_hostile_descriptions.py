"""While an API description takes minutes to parse, others are answered; afterwards it is reported and skipped."""

from __future__ import annotations

import re
import sys
import threading
import time
from contextlib import suppress
from http.client import HTTPException
from pathlib import Path

import pytest

from tests.domains.apis.test_api_limits import RETRY_NOTE, description_with_shared_path_item
from tests.server.over_http.served import Served, rpc
from tests.server.raw import JsonObject, RawClient
from tests.server.test_hostile_pages import children_of, cpu_ticks

COMMAND = [sys.executable, "-P", "-m", "deltos", "mcp"]
WAIT_TIMEOUT_SECONDS = 120
BUSY_TICKS = 100  # one second of CPU time; starting a child process takes less
STOPPED_PATTERN = rf"slow\.json: reading it took more than .*\. {RETRY_NOTE}"

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/task").exists(), reason="the test reads process information in /proc"
)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with code, and 250 kB of an API description with nine million parameters."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "quokka.py").write_text("def feed_quokka() -> None:\n    '''Give it leaves.'''\n")
    (folder / "slow.json").write_text(description_with_shared_path_item(3_000))
    return folder


def wait_until_child_is_busy(server: int) -> None:
    """Wait until a child process uses the CPU."""
    until = time.monotonic() + WAIT_TIMEOUT_SECONDS
    while time.monotonic() < until:
        time.sleep(0.05)  # leave the CPU to the workers
        if any(child.exists() and cpu_ticks(child) >= BUSY_TICKS for child in children_of(server)):
            return
    pytest.fail("no child reads the description")


def answers_to(client: RawClient, request: int) -> list[JsonObject]:
    """Return the answers to calls that were made during other work."""
    return [message for message in client.others if message.get("id") == request]


def test_a_client_is_answered_while_a_hostile_description_is_read(project: Path, tmp_path: Path) -> None:
    client = RawClient([*COMMAND, str(project)], home=tmp_path / "home", DELTOS_EMBED="off")
    client.initialize()
    assert "feed_quokka" in client.text("search", query="feed quokka")
    adding = client.start_call("add_source", url="slow.json", name="slow")
    wait_until_child_is_busy(client.process.pid)
    for _ in range(5):
        assert client.request("ping")["result"] == {}
        assert "feed_quokka" in client.text("search", query="feed quokka")
    assert "No API descriptions" in client.text("list_apis")
    assert not answers_to(client, adding)  # the description is still being parsed
    while not (answered := answers_to(client, adding)):
        assert client.request("ping")["result"] == {}
        time.sleep(0.05)  # leave the CPU to the child
    assert answered[0]["result"]["isError"]
    assert re.search(STOPPED_PATTERN, answered[0]["result"]["content"][0]["text"])
    assert re.search(STOPPED_PATTERN, client.text("add_source", url="slow.json", name="slow"))
    client.process.terminate()
    assert client.process.wait(WAIT_TIMEOUT_SECONDS) == 0


def test_an_http_server_answers_others_while_hostile_descriptions_are_read(project: Path, tmp_path: Path) -> None:
    for number in range(9):  # more than there are child processes
        (project / f"slow{number}.json").write_text(description_with_shared_path_item(3_000) + " " * number)
    server = Served([*COMMAND, str(project), "--http", "127.0.0.1:0"], tmp_path / "home", DELTOS_EMBED="off")
    session, other = server.open_session(), server.open_session()
    assert "feed_quokka" in server.text("search", other, query="feed quokka")

    def add(number: int) -> None:
        with suppress(OSError, HTTPException):  # the server ends before it has answered
            server.text("add_source", session, url=f"slow{number}.json", name=f"slow{number}")

    adding = [threading.Thread(target=add, args=(number,), daemon=True) for number in range(9)]
    for thread in adding:
        thread.start()
    wait_until_child_is_busy(server.process.pid)
    for _ in range(5):
        assert server.request(path="/healthz").message == {"status": "ok"}
        assert server.post(rpc("ping"), other).message["result"] == {}
        (project / "quokka.py").write_text("def feed_wombat() -> None:\n    '''Give it roots.'''\n")
        assert "feed_wombat" in server.text("search", other, query="feed wombat")
    assert any(thread.is_alive() for thread in adding)
    server.process.terminate()
    assert server.process.wait(WAIT_TIMEOUT_SECONDS) == 0
    server.shut_down()
