"""A real web server on loopback whose pages can change during a test."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from deltos.private_hosts import PrivateHosts

LOOPBACK = PrivateHosts.parse("127.0.0.1,localhost")


@dataclass(slots=True)
class Page:
    """Response for one URL path."""

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    cut_after: int | None = None  # close the connection after this number of bytes


Answer = Page | Callable[[dict[str, str]], Page]


class Site:
    """The pages of a server, and the requests that it received."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.pages: dict[str, Answer] = {}
        self.asked: Counter[str] = Counter()
        self.request_headers: dict[str, dict[str, str]] = {}

    def html(self, path: str, body: str, **headers: str) -> None:
        """Serve an HTML page with an ETag derived from its content."""
        self.pages[path] = _revalidated(body.encode(), {"Content-Type": "text/html; charset=utf-8", **headers})

    def text(self, path: str, body: str, media_type: str = "text/plain") -> None:
        """Serve a text with the given media type."""
        self.pages[path] = Page(body.encode(), headers={"Content-Type": media_type})

    def redirect(self, path: str, target: str) -> None:
        """Serve a redirect."""
        self.pages[path] = Page(status=302, headers={"Location": target})

    def answer(self, path: str, headers: dict[str, str]) -> Page:
        """Return the response to a request."""
        self.asked[path] += 1
        self.request_headers[path] = headers
        page = self.pages.get(path, Page(b"no such page", 404, {"Content-Type": "text/plain"}))
        return page if isinstance(page, Page) else page(headers)


def _revalidated(body: bytes, headers: dict[str, str]) -> Callable[[dict[str, str]], Page]:
    etag = f'"{hash(body)}"'

    def answer(request: dict[str, str]) -> Page:
        if request.get("if-none-match") == etag:
            return Page(status=304, headers={"ETag": etag})
        return Page(body, headers={**headers, "ETag": etag})

    return answer


@contextmanager
def serving() -> Iterator[Site]:
    """Run a web server and yield its site."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._answer()

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self._answer()

        def _answer(self) -> None:
            page = site.answer(self.path, {name.lower(): value for name, value in self.headers.items()})
            self.send_response(page.status)
            for name, value in page.headers.items():
                self.send_header(name, value)
            if "Content-Length" not in page.headers:
                self.send_header("Content-Length", str(len(page.body)))
            self.end_headers()
            self.wfile.write(page.body if page.cut_after is None else page.body[: page.cut_after])
            if page.cut_after is not None:
                self.close_connection = True

        def log_message(self, *_: object) -> None:
            """Suppress the log."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: object) -> None:
            """Ignore disconnected clients, which some tests produce."""

    server = Server(("127.0.0.1", 0), Handler)
    site = Site(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()
