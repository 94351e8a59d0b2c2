"""The web UI with several processes and servers that share a database: a sign-in is valid on all of them."""

from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING

import pytest

from deltos.open_stores import open_tokens
from deltos.server.access import Level
from tests.postgres_server import empty_database, role_url
from tests.repositories import make_repository
from tests.server.over_http.served import Reply, Served
from tests.server.over_http.test_access import create_token

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FORM = {"Content-Type": "application/x-www-form-urlencoded"}


class Visitor:
    """A signed-in browser whose cookie is sent to every server."""

    def __init__(self, served: Served, token: str) -> None:
        came = served.request("POST", "/enter", f"token={token}".encode(), FORM)
        assert came.status == 200, came.body
        self._cookie = came.headers["set-cookie"].partition(";")[0].partition("=")[2]
        self.csrf = json.loads(self.get_view(served, "state").body)["csrf"]

    def _headers(self, served: Served) -> dict[str, str]:
        return {"Cookie": f"deltos_page_{served.address.port}={self._cookie}"}

    def get_view(self, served: Served, view: str) -> Reply:
        return served.request("GET", f"/api/view/{view}", headers=self._headers(served))

    def change(self, served: Served, path: str, **given: str) -> Reply:
        headers = {**self._headers(served), "X-Deltos-CSRF": self.csrf}
        return served.request("POST", f"/api/{path}", json.dumps(given).encode(), headers)


@pytest.fixture
def database() -> str:
    empty_database()
    return role_url()


@pytest.fixture
def token(tmp_path: Path, database: str) -> str:
    return create_token(tmp_path, Level.ADMIN, database=database)


@pytest.fixture
def servers(tmp_path: Path, database: str, token: str) -> Iterator[list[Served]]:
    """Two servers that share a database."""
    root = make_repository(tmp_path / "shop", {"shop.py": "def order(): ...\n"})
    make_repository(tmp_path / "shop" / "inner", {"inner.py": "def inner(): ...\n"})
    running = []
    for n in range(2):
        command = [sys.executable, "-P", "-m", "deltos", "mcp", str(root), "--http", "127.0.0.1:0", "--require-token"]
        running.append(Served(command, tmp_path / f"home{n}", DELTOS_DATABASE=database))
    yield running
    for each in running:
        each.shut_down()


def test_a_sign_in_is_valid_on_every_process(servers: list[Served], token: str) -> None:
    visitor = Visitor(servers[0], token)
    for served in servers:
        assert visitor.get_view(served, "state").status == 200
    answer = visitor.change(servers[0], "tool/search_code", query="order")
    assert "shop.py:1-1 order" in json.loads(answer.body)["text"]
    assert token not in visitor.csrf
    left = visitor.change(servers[1], "leave")
    assert left.status == 200
    assert "max-age=0" in left.headers["set-cookie"].lower()


def test_guessed_cookies_foreign_csrf_tokens_and_revoked_tokens_are_rejected_everywhere(
    servers: list[Served], tmp_path: Path, database: str, token: str
) -> None:
    other_token = create_token(tmp_path, Level.ADMIN, database=database)
    visitor, other = Visitor(servers[0], token), Visitor(servers[1], other_token)
    assert servers[0].request("POST", "/enter", b"token=deltos_guess", FORM).status == 401
    visitor.csrf, other.csrf = other.csrf, visitor.csrf
    assert [visitor.change(served, "tool/get_stats").status for served in servers] == [403, 403]
    headers = {"Cookie": f"deltos_page_{servers[0].address.port}=guess"}
    assert servers[0].request("GET", "/api/view/state", headers=headers).status == 401
    last = Visitor(servers[0], token)
    open_tokens(tmp_path, database).revoke(token.split("_")[1], int(time.time()))
    assert [last.get_view(served, "state").status for served in servers] == [401, 401]
