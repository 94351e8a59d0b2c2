"""The web UI checks the rights of its token at each request, so reduced, extended or revoked rights apply at once."""

from __future__ import annotations

import http.client
import json
import sys
import time
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from deltos.app import App
from deltos.config import Config
from deltos.domains.docs.library import NewSource
from deltos.open_stores import open_tokens, open_workspaces
from deltos.server.access import Level
from tests.postgres_server import empty_database, role_url
from tests.repositories import make_repository
from tests.server.over_http.served import Served
from tests.server.over_http.test_access import create_token
from tests.server.raw import WAIT_TIMEOUT_SECONDS
from tests.ui.test_shared_page import FORM

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LIB = {"lib.py": "def of_lib():\n    return 1\n", "docs/guide.md": "# Guide\n\nLibraries are open on Mondays.\n"}
API = {"api.py": "def of_api():\n    return 1\n", "docs/secret.md": "# Roadmap\n\nThe zeppelin launches in May.\n"}


class Team:
    """A server for two projects in one workspace, and a UI session with a token for the workspace."""

    def __init__(self, folder: Path, database: str) -> None:
        self.home, self.database = folder / "home", database
        self.roots = {
            name: make_repository(folder / "served" / name, files).resolve()
            for name, files in (("lib", LIB), ("api", API))
        }
        with closing(App(Config(self.home, database=database))) as app:
            for name, root in self.roots.items():
                app.domains.projects.index_of(root).freshen()
                (source,) = app.domains.docs.library.add(NewSource(str(root / "docs"), name, root, (root,))).sources
                app.domains.docs.library.crawls.run(source.id)
        self.workspaces = open_workspaces(self.home, database)
        self.workspaces.add("shop", [str(root) for root in self.roots.values()])
        self.token = create_token(self.home, Level.ADMIN, "workspace:shop", database=database)
        command = [sys.executable, "-P", "-m", "deltos", "mcp", str(self.roots["lib"]), "--http", "127.0.0.1:0"]
        options = ["--require-token", "--root", str(folder / "served")]
        self.server = Served([*command, *options], self.home, DELTOS_DATABASE=database)
        came = self.server.request("POST", "/enter", f"token={self.token}".encode(), FORM)
        self.headers = {"Cookie": came.headers["set-cookie"].partition(";")[0]}
        self.headers["X-Deltos-CSRF"] = self.get_view("state")["csrf"]

    def get_view(self, view: str) -> Any:
        return json.loads(self.server.request("GET", f"/api/view/{view}", headers=self.headers).body)

    def projects(self) -> set[str]:
        return {project["name"] for project in self.get_view("state")["projects"]}

    def call(self, tool: str, **given: str) -> str:
        reply = self.server.request("POST", f"/api/tool/{tool}", json.dumps(given).encode(), self.headers)
        text: str = json.loads(reply.body)["text"]
        return text

    def shut_down(self) -> None:
        self.server.shut_down()
        self.workspaces.close()


@pytest.fixture(params=["sqlite", "postgres"])
def team(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Team]:
    if request.param == "postgres":
        empty_database()
    made = Team(tmp_path, role_url() if request.param == "postgres" else "")
    yield made
    made.shut_down()


def test_reduced_rights_of_a_token_apply_at_the_next_request(team: Team) -> None:
    assert team.projects() == {"lib", "api"}
    assert "api.py" in team.call("search_code", query="of_api", project_id="*")
    assert "zeppelin" in json.dumps(team.get_view("search?q=zeppelin&project=api"))

    team.workspaces.remove("shop", [str(team.roots["api"])])
    assert team.projects() == {"lib"}
    assert team.get_view("state")["project"]["name"] == "lib"
    assert "api.py" not in team.call("search_code", query="of_api", project_id="*")
    assert "lib.py" in team.call("search_code", query="of_lib")
    for address in ("search?q=zeppelin", "search?q=zeppelin&project=*", "search?q=zeppelin&project=api"):
        assert "launches" not in json.dumps(team.get_view(address))
    assert "secret" not in json.dumps(team.get_view("sources"))

    team.workspaces.add("shop", [str(team.roots["api"])])
    assert team.projects() == {"lib", "api"}

    team.workspaces.remove("shop", [str(root) for root in team.roots.values()])
    assert "The workspace 'shop' of this token no longer exists" in json.dumps(team.get_view("state"))


def test_the_event_stream_follows_the_current_rights_and_ends_on_revocation(team: Team) -> None:
    connection = http.client.HTTPConnection(
        team.server.address.hostname or "", team.server.address.port or 0, timeout=WAIT_TIMEOUT_SECONDS
    )
    with closing(connection):
        connection.request("GET", "/api/events", headers=team.headers)
        events = connection.getresponse()
        assert {"lib", "api"} <= source_names(next_event(events))
        team.workspaces.remove("shop", [str(team.roots["api"])])
        narrowed = source_names(next_event(events))
        assert "lib" in narrowed
        assert "api" not in narrowed
        with closing(open_tokens(team.home, team.database)) as tokens:
            tokens.revoke(team.token.split("_")[1], int(time.time()))
        assert events.read() == b""  # the stream was closed
    assert team.server.request("GET", "/api/view/state", headers=team.headers).status == 401


def next_event(events: http.client.HTTPResponse) -> bytes:
    """Return the data of the next event."""
    while not (line := events.readline()).startswith(b"data: "):
        assert line, "the event stream ended unexpectedly"
    assert events.readline() == b"\n"
    return line


def source_names(event: bytes) -> set[str]:
    """Return the names of the sources in an event."""
    return {source["name"] for source in json.loads(event.removeprefix(b"data: "))["sources"]}
