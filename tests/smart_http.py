"""A real git server on loopback: `git http-backend` behind a small web server, for repositories of tests."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from tests.repositories import GIT_ENVIRONMENT

if TYPE_CHECKING:
    from pathlib import Path

Intercept = Callable[[str, dict[str, str]], tuple[int, dict[str, str], bytes] | None]


class GitSite:
    """Server of repositories that records requests; `intercept` may answer before git does."""

    def __init__(self, url: str, folder: Path) -> None:
        self.url = url
        self.folder = folder
        self.asked: list[tuple[str, dict[str, str]]] = []
        self.intercept: Intercept = lambda _path, _headers: None


@contextmanager
def serving_git(folder: Path) -> Iterator[GitSite]:
    """Run a git server for all repositories below `folder`."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._answer(b"")

        def do_POST(self) -> None:
            self._answer(self._body())

        def _body(self) -> bytes:
            if self.headers.get("Transfer-Encoding") != "chunked":
                return self.rfile.read(int(self.headers.get("Content-Length") or 0))
            body = b""
            while size := int(self.rfile.readline(), 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return body

        def _answer(self, body: bytes) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            site.asked.append((self.path, headers))
            if answer := site.intercept(self.path, headers):
                self._send(*answer)
                return
            parts = urlsplit(self.path)
            environment = os.environ | GIT_ENVIRONMENT | {
                "GIT_PROJECT_ROOT": str(folder),
                "GIT_HTTP_EXPORT_ALL": "1",
                "REQUEST_METHOD": self.command,
                "PATH_INFO": parts.path,
                "QUERY_STRING": parts.query,
                "CONTENT_TYPE": headers.get("content-type", ""),
                "CONTENT_LENGTH": str(len(body)),
                "HTTP_CONTENT_ENCODING": headers.get("content-encoding", ""),
                "GIT_PROTOCOL": headers.get("git-protocol", ""),
                "REMOTE_ADDR": "127.0.0.1",
            }  # fmt: skip
            done = subprocess.run(["git", "-c", "safe.directory=*", "http-backend"], input=body, capture_output=True,
                                  env=environment, check=False)  # fmt: skip
            head, _, content = done.stdout.partition(b"\r\n\r\n")
            sent = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if ": " in line)
            self._send(int(sent.pop("Status", "200 OK").split()[0]), sent, content)

        def _send(self, status: int, headers: dict[str, str], body: bytes) -> None:
            self.send_response(status)
            for name, value in (headers | {"Content-Length": str(len(body))}).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Suppress the log."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: object) -> None:
            """Ignore disconnects caused by a stopped git process."""

    server = Server(("127.0.0.1", 0), Handler)
    site = GitSite(f"http://127.0.0.1:{server.server_port}", folder)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()
