"""Every tool and prompt answers every unusual argument with a readable message.

The real server runs over a small project. No answer is an internal error, and the server keeps running.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from deltos.server.access import Level
from tests.calling import complete_listings
from tests.repositories import make_repository
from tests.server.over_http.served import Served, rpc
from tests.server.over_http.test_access import bearer, create_token
from tests.server.raw import RawClient

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LONG_TEXT = "x" * 5_000
# As JSON texts, because Python's encoder would not write some of these values.
ODD_TEXTS = [
    json.dumps(text)
    for text in (
        "", "  ", "\0", "a\0b", LONG_TEXT, "../" * 1_500, "/" * 5_000, "a/" * 2_500, "~nobody-here/x", "~", "-rf", "*", "[",
        "(" * 3_000, "\\", "'\"", "\x1b[2J", "\u202e", "😀" * 100, "file:///etc/passwd", "http://[", "http://a\0b/",
        f"http://{LONG_TEXT}", "pypi:../../x", f"npm:{LONG_TEXT}", f"obs:{LONG_TEXT}", "doc:" + "9" * 30, "code:\0", "api::",
        "9" * 400, "2024-99-99", "all", "personal", "HEAD:x",
    )
]  # fmt: skip
ODD_VALUES = [
    *ODD_TEXTS, '"\\ud800"', "0", "-1", "1e400", "-1e400", "NaN", "1.5", "9" * 30, "9" * 5_000, "true", "null", "[]", "{}",
    "[null]", "[[]]", '["\\u0000"]', json.dumps([LONG_TEXT]), json.dumps(["x"] * 5_000), "[" * 150 + "]" * 150,
    '{"a":' * 150 + "1" + "}" * 150,
]  # fmt: skip
TOOLS = complete_listings()
SAMPLES = {"string": '"total"', "array": '["total"]', "integer": "1", "boolean": "true"}


def odd_calls() -> Iterator[tuple[str, str]]:
    """Yield tool names with JSON arguments, one of which is unusual."""
    for tool in TOOLS:
        properties, required = tool["inputSchema"]["properties"], tool["inputSchema"].get("required", [])
        for name in (*properties, "unknown\0"):
            plain = {other: SAMPLES[properties[other]["type"]] for other in required if other != name}
            for value in ODD_VALUES:
                if (tool["name"], name) == ("index_repository", "force_reindex") and value != "1.5":
                    continue  # each call would index the project again
                given = {**plain, name: value}
                yield (
                    tool["name"],
                    "{{{}}}".format(",".join(f"{json.dumps(key)}:{value}" for key, value in given.items())),
                )


def request(number: int, name: str, arguments: str) -> bytes:
    head = f'{{"jsonrpc":"2.0","id":{number},"method":"tools/call","params":{{"name":{json.dumps(name)},"arguments":'
    return f"{head}{arguments}}}}}".encode()


def assert_readable(message: dict[str, Any], what: object) -> None:
    text = json.dumps(message).lower()
    assert "internal" not in text, (what, text[:500])
    assert "traceback" not in text, (what, text[:500])
    if "error" in message:
        assert message["error"]["code"] in (-32700, -32600, -32602, -32601), (what, message)
    else:
        result = message["result"]
        assert not result["isError"] or result["content"][0]["text"].startswith("Error: ")
    assert len(text) < 120_000


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    files = {"shop.py": "def total(x):\n    return x\n", "docs/guide.md": "# Guide\n\ntotal\n"}
    return make_repository(tmp_path_factory.mktemp("odd") / "project", files)


def test_every_tool_answers_every_odd_argument_over_stdio(project: Path, tmp_path: Path) -> None:
    client = RawClient([sys.executable, "-P", "-m", "deltos", "mcp", str(project)], home=tmp_path / "home")
    try:
        client.initialize()
        calls = list(odd_calls())
        assert len(calls) > 3_000
        pending: dict[int, tuple[str, str]] = {}
        for number, (name, arguments) in enumerate(calls, start=10_000):
            client.send_line(request(number, name, arguments))
            pending[number] = (name, arguments[:200])
            while len(pending) > 200:  # at most this number of requests may be pending
                receive_answer(client, pending)
        while pending:
            receive_answer(client, pending)
        assert client.request("ping")["result"] == {}
        assert client.disconnect() == 0
        assert "Traceback" not in client.remaining_log()
    finally:
        client.shut_down()


def receive_answer(client: RawClient, pending: dict[int, tuple[str, str]]) -> None:
    message = client.receive()
    if "id" in message:
        assert_readable(message, pending.pop(message["id"]))


def test_a_confined_caller_over_http_gets_readable_errors_too(project: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    session_headers = bearer(create_token(home, Level.ADMIN, project))
    command = [sys.executable, "-P", "-m", "deltos", "mcp", str(project), "--http", "127.0.0.1:0", "--require-token"]
    server = Served([*command, "--rate", "0"], home)
    try:
        session = server.open_session(session_headers)
        paths = [
            (tool["name"], name)
            for tool in TOOLS
            for name in tool["inputSchema"]["properties"]
            if name in ("repo_path", "project_path", "directory", "url", "path", "id", "project_id", "symbol", "files")
        ]
        assert len(paths) > 15
        for tool, name in paths:
            plain = {"name": '"n"', "query": '"total"', "symbol": '"total"', "text": '"total"'}
            required = next(each for each in TOOLS if each["name"] == tool)["inputSchema"].get("required", [])
            for value in (*ODD_TEXTS, '"\\ud800"', "9" * 5_000, "[]"):
                given = {**{key: text for key, text in plain.items() if key in required}, name: value}
                body = request(1, tool, "{{{}}}".format(",".join(f'"{key}":{text}' for key, text in given.items())))
                reply = server.post(body, session)
                assert reply.status in (200, 400), (tool, name, value[:80], reply)
                assert_readable(reply.message, (tool, name, value[:80]))
        assert server.post(rpc("ping"), session).message["result"] == {}
    finally:
        server.shut_down()


@pytest.mark.parametrize(
    "line",
    [
        b"[" * 100_000,
        b"{" * 100_000,
        b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
        b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"jsonrpc":"2.0","id":' + b"9" * 5_000 + b',"method":"ping"}',
        b'{"jsonrpc":"2.0","id":1e400,"method":"ping"}',
        b'{"jsonrpc":"2.0","id":NaN,"method":"ping"}',
        b'{"jsonrpc":"2.0","id":{},"method":"ping"}',
        b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}',
        b'{"jsonrpc":"2.0","id":true,"method":"ping"}',
        b'{"jsonrpc":"2.0","id":"\\ud800","method":"ping"}',
        b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}',
        b'{"jsonrpc":"2.0","id":1,"method":"' + b"m" * 100_000 + b'"}',
        b'{"jsonrpc":"2.0","id":1,"method":"no\\u0000such"}',
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"' + b"t" * 100_000 + b'"}}',
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"\\u0000","arguments":{"\\ud800":1}}}',
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search","arguments":[]}}',
        b"[" + b",".join([b'{"jsonrpc":"2.0","id":1,"method":"ping"}'] * 1_000) + b"]",
        b"\xff\xfe\x00",
        b"\0" * 1_000,
    ],
)  # fmt: skip
def test_odd_messages_get_json_rpc_errors(served: tuple[RawClient, Served], line: bytes) -> None:
    client, server = served
    session = server.open_session()
    client.send_line(line)
    reply = server.post(line, session)
    for message in (client.receive(), reply.message):
        text = json.dumps(message).lower()
        assert "internal" not in text
        assert len(text) < len(line) + 20_000
    assert reply.status in (200, 400, 404)
    assert client.request("ping")["result"] == {}
    assert server.post(rpc("ping"), session).message["result"] == {}


@pytest.fixture(scope="module")
def served(project: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RawClient, Served]]:
    """A server of the same project over both transports."""
    home = tmp_path_factory.mktemp("home")
    command = [sys.executable, "-P", "-m", "deltos", "mcp", str(project)]
    client, server = RawClient(command, home=home), Served([*command, "--http", "127.0.0.1:0"], home)
    client.initialize()
    assert client.text("get_stats")  # the project was indexed over both transports
    yield client, server
    client.shut_down()
    server.shut_down()
