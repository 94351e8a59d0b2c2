"""Descriptions from a real loopback server: fetching, introspection, and restriction to one host."""

from __future__ import annotations

import threading
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest

from deltos.domains.apis.domain import Apis, open_apis
from deltos.domains.apis.source import FetchedResponse
from deltos.errors import SourceError
from deltos.isolated_parser import IsolatedParser
from deltos.store.sqlite.library import SqliteLibrary

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from deltos.isolated.process_pool import ProcessPool

SPEC = "openapi: 3.0.0\ninfo: {title: Remote}\npaths:\n  /a: {$ref: 'paths/a.yaml'}\n  /b: {$ref: 'moved.yaml'}\n"
SPEC += "  /d: {$ref: '%2F%2F[x/d.yaml'}\n"  # not a URL


FILES = {
    "/spec/openapi.yaml": SPEC,
    "/spec/paths/a.yaml": "get: {summary: From another file}",
}


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path == "/spec/moved.yaml":
            self.send_response(302)
            self.send_header("Location", f"http://localhost:{self.connection.getsockname()[1]}/spec/paths/a.yaml")
            self.end_headers()
        elif self.path in FILES:
            self._answer(FILES[self.path].encode())
        else:
            self.send_error(404)

    def _answer(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Discard log lines."""


class _Loopback:
    """A network client that can contact only this machine."""

    def get(self, url: str) -> FetchedResponse:
        return self._open(urllib.request.Request(url))

    def _open(self, request: urllib.request.Request) -> FetchedResponse:
        try:
            with urllib.request.urlopen(request) as answer:
                return FetchedResponse(answer.read(), answer.url)
        except urllib.error.HTTPError as exc:
            raise SourceError(f"HTTP {exc.code}") from exc


@pytest.fixture
def server() -> Iterator[str]:
    running = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    threading.Thread(target=running.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{running.server_address[1]}"
    running.shutdown()
    running.server_close()


@pytest.fixture
def online(tmp_path: Path, workers: ProcessPool) -> Iterator[Apis]:
    database = SqliteLibrary(tmp_path / "library.db")
    parser = IsolatedParser(workers, database.unreadable_content)
    yield open_apis(database, network=_Loopback(), parser=parser, clock=lambda: 0.0)
    database.close()


def test_fetches_description_with_neighbours_of_the_same_host(online: Apis, server: str) -> None:
    (api,) = online.indexer.add(f"{server}/spec/openapi.yaml").apis
    assert (api.name, api.citation) == ("remote", f"{server}/spec/openapi.yaml")
    assert online.searcher.search("another file")[0].title == "GET /a — From another file"
    assert api.operation_count == 1
    assert "on another host" in api.warnings[0]
    assert "not a valid address" in api.warnings[0]


def test_missing_page_is_an_error(online: Apis, server: str) -> None:
    with pytest.raises(SourceError, match="HTTP 404"):
        online.indexer.add(f"{server}/gone.yaml")


def test_refreshes_a_remote_description(online: Apis, server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    online.indexer.add(f"{server}/spec/openapi.yaml")
    monkeypatch.setitem(FILES, "/spec/openapi.yaml", SPEC.replace("  /a:", "  /c:"))
    (api,) = online.indexer.refresh("remote").apis
    row = online.library.row(api.name)
    assert [unit.key for unit in online.library.store.units(row.id, ("operation",))] == ["GET /c"]
