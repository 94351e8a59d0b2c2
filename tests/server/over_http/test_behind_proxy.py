"""Two servers behind the proxies of docs/team.md: sticky sessions for older protocol versions, none for 2026-07-28."""

from __future__ import annotations

import http.client
import json
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from deltos.server.access import Level
from tests.postgres_server import free_port
from tests.server.over_http.served import ACCEPT, MODERN_META, Served, rpc, tool_call
from tests.server.over_http.test_access import OPENING, bearer, create_token
from tests.server.raw import WAIT_TIMEOUT_SECONDS, toy_command

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = Path(__file__).parents[3] / "docs" / "team.md"
HOST = "deltos.example"
TOKENS = 6
STATELESS_HEADERS = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "echo"}


class Proxy:
    """A running proxy, configured as in the documentation, in front of two servers."""

    def __init__(self, kind: str, folder: Path, servers: list[Served]) -> None:
        self.servers = servers
        self.port = free_port()
        config = _example(kind)
        for server, port in zip(servers, (8731, 8732), strict=True):
            config = config.replace(f"127.0.0.1:{port}", f"127.0.0.1:{server.address.port}")
        if kind == "nginx":
            config = re.sub(r"(?m)^ *ssl_certificate.*\n", "", config).replace("listen 443 ssl", f"listen {self.port}")
            paths = "".join(f"{each}_temp_path {folder}/{each};\n" for each in ("client_body", "proxy"))
            unused = "".join(f"{each}_temp_path {folder}/{each};\n" for each in ("fastcgi", "uwsgi", "scgi"))
            config = (
                f"daemon off;\npid {folder}/nginx.pid;\nerror_log {folder}/error.log;\nevents {{}}\n"
                f"http {{\naccess_log off;\n{paths}{unused}{config}\n}}\n"
            )
            command = ["nginx", "-p", str(folder), "-e", f"{folder}/error.log", "-c", str(folder / "config")]
        else:
            options = "{\n    admin off\n    auto_https off\n}\n"
            config = options + config.replace(f"{HOST} {{", f"http://{HOST}:{self.port} {{", 1)
            command = ["caddy", "run", "--adapter", "caddyfile", "--config", str(folder / "config")]
        (folder / "config").write_text(config)
        environ = {"HOME": str(folder), "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
        with (folder / "log").open("wb") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, env=environ)
        self._await(folder)

    def _await(self, folder: Path) -> None:
        until = time.monotonic() + WAIT_TIMEOUT_SECONDS
        while time.monotonic() < until and self.process.poll() is None:
            try:
                if self.send_request("GET", "/healthz", b"", {})[0] == 200:
                    return
            except OSError:
                time.sleep(0.05)
        raise AssertionError("".join(path.read_text() for path in folder.glob("*log")))

    def send_request(
        self, method: str, path: str, body: bytes, headers: dict[str, str]
    ) -> tuple[int, dict[str, str], bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=WAIT_TIMEOUT_SECONDS)
        try:
            connection.request(method, path, body, {"Host": f"{HOST}:{self.port}", **headers})
            answer = connection.getresponse()
            return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
        finally:
            connection.close()

    def post(self, message: object, headers: dict[str, str]) -> tuple[int, dict[str, str], bytes]:
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        return self.send_request("POST", "/mcp", body, {**ACCEPT, **headers})

    def open_session(self, headers: dict[str, str]) -> dict[str, str]:
        status, found, _ = self.post(OPENING, headers)
        assert status == 200
        return {**headers, "Mcp-Session-Id": found["mcp-session-id"]}


def _example(kind: str) -> str:
    found = re.search(rf"(?s)```{kind}\n(.*?)```", PAGE.read_text("utf-8"))
    assert found
    return found[1]


@pytest.fixture(params=["nginx", "caddy"])
def proxy(request: pytest.FixtureRequest, manifest_path: Path, tmp_path: Path) -> Iterator[Proxy]:
    if shutil.which(request.param, path="/usr/sbin:/usr/bin:/sbin:/bin") is None:
        pytest.skip(f"{request.param} is not installed")
    create_token(tmp_path, Level.READ)  # servers start only if a token exists
    command = toy_command(manifest_path, str(tmp_path), "--http", "127.0.0.1:0", "--allow-host", HOST)
    servers = [Served(command, tmp_path) for _ in range(2)]
    folder = tmp_path / "proxy"
    folder.mkdir()
    running = None
    try:
        running = Proxy(request.param, folder, servers)
        yield running
    finally:
        if running:
            running.process.terminate()
            running.process.wait(WAIT_TIMEOUT_SECONDS)
        for server in servers:
            server.shut_down()


def modern_echo(proxy: Proxy, token: dict[str, str]) -> bytes:
    call = tool_call("echo", text="here I am")
    call["params"]["_meta"] = MODERN_META
    status, _, body = proxy.post(call, {**token, **STATELESS_HEADERS})
    assert status == 200, body
    return body


def wait_for_answer(proxy: Proxy, token: dict[str, str]) -> None:
    until = time.monotonic() + WAIT_TIMEOUT_SECONDS
    while proxy.post(rpc("ping"), {**token, "Mcp-Session-Id": "unknown"})[0] != 404:
        assert time.monotonic() < until
        time.sleep(0.1)


def test_requests_reach_a_server_that_can_answer_them(proxy: Proxy, tmp_path: Path) -> None:
    tokens = [bearer(create_token(tmp_path, Level.READ)) for _ in range(TOKENS)]
    sessions = [proxy.open_session(token) for token in tokens]
    for n in range(4 * TOKENS):
        status, headers, _ = proxy.post(rpc("ping", request_id=n), sessions[n % TOKENS])
        assert (status, headers["content-type"].split(";")[0]) == (200, "text/event-stream")
        assert b"here I am" in modern_echo(proxy, tokens[n % TOKENS])
    assert proxy.post(rpc("ping"), {})[0] == 401
    proxy.servers[0].process.send_signal(signal.SIGKILL)
    proxy.servers[0].process.wait()
    for token in tokens:  # a proxy may answer 502 on connections that it kept to the killed server
        wait_for_answer(proxy, token)
    statuses = [proxy.post(rpc("ping"), session)[0] for session in sessions]
    assert set(statuses) <= {200, 404}  # sessions of the killed server are unknown to the other one
    for token in tokens:
        assert b"here I am" in modern_echo(proxy, token)
        proxy.open_session(token)


def test_a_user_signs_in_to_the_page_through_the_proxy(proxy: Proxy, tmp_path: Path) -> None:
    token = create_token(tmp_path, Level.READ)
    form = {"Content-Type": "application/x-www-form-urlencoded", "Origin": f"https://{HOST}:{proxy.port}"}
    status, headers, _ = proxy.send_request("POST", "/enter", f"token={token}".encode(), form)
    assert status == 200
    assert "; secure" in headers["set-cookie"].lower()
    cookie = {"Cookie": headers["set-cookie"].partition(";")[0]}
    assert [proxy.send_request("GET", "/", b"", cookie)[0] for _ in range(4)] == [200] * 4
    foreign = {**form, "Origin": "https://evil.example"}
    assert proxy.send_request("POST", "/enter", f"token={token}".encode(), foreign)[0] == 403
