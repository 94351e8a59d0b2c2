"""While a parser never finishes a file, others are answered, and the server exits on a signal."""

from __future__ import annotations

import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.repositories import make_repository, write_files
from tests.server.hostile_server import ENDLESS
from tests.server.over_http.served import Served, rpc
from tests.server.raw import WAIT_TIMEOUT_SECONDS, RawClient

if TYPE_CHECKING:
    from collections.abc import Iterator

SEARCHES = 20
# Imported by name, so that child processes find its classes.
SERVER = "import sys; from tests.server.hostile_server import serve; sys.exit(serve())"
FILES: dict[str, str | bytes] = {"good.py": "def good_function():\n    return 1\n"}
BAD_FILES: dict[str, str | bytes] = {"bad.py": b"def bad_function():\n    return 2\n" + ENDLESS + b"\n"}

# Each file begins with enough short lines, because files with only long lines are skipped.
SHORT_LINES = b"# a remarkable_word in a line\n" * 100
CRASHING_FILES: dict[str, bytes] = {
    "nested.yaml": SHORT_LINES + b"- " * 5_000 + b"a\n",  # the nesting exceeds the capacity of the grammar
    "heredoc.rb": SHORT_LINES + b"a = <<" + b"A" * 1_019 + b"\nb\n" + b"A" * 1_019 + b"\n",  # the same
}


@pytest.fixture
def client(tmp_path: Path) -> Iterator[RawClient]:
    make_repository(tmp_path / "other", {"other.py": "def other_function():\n    return 3\n"})
    root = make_repository(tmp_path / "root", FILES)
    client = RawClient([sys.executable, "-c", SERVER, str(root)], home=tmp_path / "home", cwd=root)
    client.initialize()
    yield client
    client.shut_down()


def children_of(pid: int) -> list[int]:
    """Return the running child processes of a process."""
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = status.read_text().rpartition(")")[2].split()[:2]
        except OSError:
            continue
        if int(parent) == pid and state != "Z":
            found.append(int(status.parent.name))
    return found


@pytest.mark.skipif(sys.platform == "win32", reason="Windows limits only the wall-clock time of a child process")
def test_others_are_answered_while_a_file_never_finishes_parsing_and_it_is_reported(
    client: RawClient, tmp_path: Path
) -> None:
    assert "good_function" in client.text("search_code", query="good_function")
    client.call("index_repository", repo_path=str(tmp_path / "other"))  # the child process has started
    write_files(tmp_path / "root", BAD_FILES)
    stuck = client.start_call("search_code", query="bad_function")
    client.wait_for_log("reading bad.py for ever")
    assert client.request("ping")["result"] == {}
    for name, arguments in (
        ("search_code", {"query": "good_function"}),  # a search in the same project
        ("find_symbol", {"symbol": "good_function"}),
        ("index_repository", {"repo_path": str(tmp_path / "other")}),
    ):
        answer = client.call(name, **arguments)
        assert not answer.get("isError"), answer
    assert all(message.get("id") != stuck for message in client.others)  # the other calls were answered first
    text = client.answer_to(stuck)["result"]["content"][0]["text"]
    assert "bad.py" in text  # the file is found by its words, although the graph could not be extracted
    graph = client.text("find_symbol", symbol="bad_function")
    assert "1 file could not be read by the graph: bad.py (reading it took more than" in graph
    errors = client.call("index_repository")["structuredContent"]["errors"]
    assert [error.partition(":")[0] for error in errors] == ["bad.py"]


@pytest.mark.parametrize("name", CRASHING_FILES)
def test_a_file_that_crashes_a_native_parser_is_reported_and_found_by_its_words(
    client: RawClient, tmp_path: Path, name: str
) -> None:
    assert "good_function" in client.text("search_code", query="good_function")
    write_files(tmp_path / "root", {name: CRASHING_FILES[name]})
    asked = client.start_call("search_code", query="remarkable_word")
    assert client.request("ping")["result"] == {}
    text = client.answer_to(asked)["result"]["content"][0]["text"]
    assert name in text
    assert "remarkable_word" in text
    (error, *_) = client.call("index_repository")["structuredContent"]["errors"]
    assert error.startswith(f"{name}: could not be read by ")
    assert "good.py" in client.text("search_code", query="good_function")


def test_a_file_that_overloads_a_native_parser_in_some_runs_is_found_by_its_words(
    client: RawClient, tmp_path: Path
) -> None:
    # Error recovery for this ambiguous file takes gigabytes, crashes or succeeds, depending on memory addresses.
    write_files(tmp_path / "root", {"ambiguous.py": SHORT_LINES + b"with " + b"*/" * 5_000})
    asked = client.start_call("search_code", query="remarkable_word")
    assert client.request("ping")["result"] == {}
    text = client.answer_to(asked)["result"]["content"][0]["text"]
    assert "ambiguous.py" in text
    assert "remarkable_word" in text
    errors = client.call("index_repository")["structuredContent"]["errors"]
    assert all(error.startswith("ambiguous.py: could not be read by ") for error in errors)
    assert "good.py" in client.text("search_code", query="good_function")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows limits only the wall-clock time of a child process")
def test_an_http_server_answers_searches_and_pings_while_a_file_never_finishes_parsing(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "root", FILES)
    server = Served([sys.executable, "-c", SERVER, str(root), "--http", "127.0.0.1:0"], tmp_path / "home")
    session = server.open_session()
    assert "good_function" in server.text("search_code", session, query="good_function")
    write_files(root, BAD_FILES)
    with ThreadPoolExecutor(SEARCHES + 1) as pool:
        stuck = pool.submit(server.text, "search_code", session, query="bad_function")
        server.wait_for_log("reading bad.py for ever")
        sessions = [server.open_session() for _ in range(SEARCHES)]
        searches = [pool.submit(server.text, "search_code", one, query="good_function") for one in sessions]
        for _ in range(5):
            assert server.request(path="/healthz").message == {"status": "ok"}
            assert server.post(rpc("ping", request_id="ping"), session).message["result"] == {}
        assert not stuck.done()
        assert all("good.py" in search.result(WAIT_TIMEOUT_SECONDS) for search in searches)
        assert "bad.py" in stuck.result(WAIT_TIMEOUT_SECONDS)
    server.shut_down()


@pytest.mark.skipif(sys.platform != "linux", reason="the test reads /proc")
def test_a_signal_ends_the_server_and_its_child_processes_at_once(client: RawClient, tmp_path: Path) -> None:
    client.text("search_code", query="good_function")
    write_files(tmp_path / "root", BAD_FILES)
    client.start_call("search_code", query="bad_function")
    client.wait_for_log("reading bad.py for ever")
    children = children_of(client.process.pid)
    assert children
    client.process.terminate()
    client.process.wait(20)
    deadline = time.monotonic() + 20
    while any(Path(f"/proc/{child}").exists() for child in children):
        assert time.monotonic() < deadline
        time.sleep(0.02)
