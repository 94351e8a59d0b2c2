"""HTTP answers reveal no folders of the server, and a token for one project learns nothing about others."""

from __future__ import annotations

import json
import sys
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from deltos.app import App
from deltos.config import Config
from deltos.domains.docs.library import NewSource
from deltos.open_stores import open_workspaces
from deltos.server.access import Level
from deltos.workspace.identity import identify
from tests.postgres_server import empty_database, role_url
from tests.repositories import make_repository
from tests.server.over_http.served import Served, rpc, tool_call
from tests.server.over_http.test_access import bearer, create_token

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

API = "openapi: 3.0.0\ninfo: {title: %s, version: '1'}\npaths:\n  /%s:\n    get: {summary: list %s}\n"
OWN_WORDS = {
    "a.py": "def of_mine():\n    return 1\n",
    "pkg/b.py": "from a import of_mine\nof_mine()\n",
    "docs/guide.md": "# Guide\n\nShipping takes two days.\n",
    "api.yaml": API % ("Mine", "parcels", "parcels"),
}
OTHER_WORDS = {
    "zed.py": "def of_theirs():\n    return 2\n",
    "docs/secret.md": "# Roadmap\n\nThe zeppelin launches in May.\n",
    "api.yaml": API % ("Theirs", "zeppelins", "zeppelins"),
}


class ConfinedServer:
    """A server with two projects whose names reveal their parent folder wherever they appear.

    With a database it connects as a role that is subject to row-level security.
    """

    def __init__(self, tmp_path: Path, database: str = "") -> None:
        self.database = database
        self.top = tmp_path / "hush-hush" / "served"
        self.mine, self.theirs = self.top / "mine", self.top / "theirs"
        make_repository(self.mine, OWN_WORDS)
        make_repository(self.theirs, OTHER_WORDS)
        (self.mine / "a.py").write_text("def of_mine():\n    return 3\n")
        home = tmp_path / "home"
        self._fill(home)
        token = create_token(home, Level.ADMIN, self.mine, database=database)
        everywhere = create_token(home, Level.ADMIN, database=database)
        command = [sys.executable, "-P", "-m", "deltos", "mcp", str(self.mine), "--http", "127.0.0.1:0"]
        options = ["--require-token", "--root", str(self.top)]
        self.server = Served([*command, *options], home, DELTOS_DATABASE=database)
        self.narrow = self.server.open_session(bearer(token))
        self.wide = self.server.open_session(bearer(everywhere))

    def _fill(self, home: Path) -> None:
        """Index documentation, APIs and memories of the other project as a user of that project."""
        app = App(Config(home, database=self.database))
        for url in ("docs", "api.yaml"):
            new = NewSource(str(self.theirs / url), f"theirs-{url[:3]}", self.theirs, (self.theirs,))
            for source in app.domains.docs.library.add(new).sources:
                app.domains.docs.library.crawls.run(source.id, lambda: None)
        app.domains.projects.index_of(self.theirs).freshen()
        app.close()

    def ask(self, session: dict[str, str], method: str, params: Any = None) -> str:
        return json.dumps(self.server.post(rpc(method, params), session).message, ensure_ascii=False)

    def call(self, session: dict[str, str], name: str, /, **arguments: Any) -> str:
        return json.dumps(self.server.post(tool_call(name, **arguments), session).message, ensure_ascii=False)


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def confined_server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ConfinedServer]:
    if request.param == "postgres":
        empty_database()
    database = role_url() if request.param == "postgres" else ""
    made = ConfinedServer(tmp_path_factory.mktemp("walls"), database)
    yield made
    made.server.shut_down()


def collect_all_answers(confined_server: ConfinedServer, session: dict[str, str]) -> Iterator[str]:
    """Return the answers to valid and invalid calls of all tools."""
    mine, theirs = str(confined_server.mine), str(confined_server.theirs)
    for name, arguments in (
        ("index_repository", {"repo_path": mine}),
        ("index_repository", {"repo_path": "nope"}),
        ("index_repository", {"repo_path": "a.py"}),
        ("index_repository", {"repo_path": theirs}),
        ("index_repository", {"repo_path": "/"}),
        ("search_code", {"query": "of_mine"}),
        ("search_code", {"query": "nowhere to be found"}),
        ("search_code", {"query": "x", "project_id": "nope"}),
        ("search_code", {"query": "x", "directory": "/nope"}),
        ("get_stats", {}),
        ("get_stats", {"project_path": "docs/none"}),
        ("find_symbol", {"symbol": "of_mine"}),
        ("find_references", {"symbol": "of_mine"}),
        ("get_context", {"symbol": "of_mine"}),
        ("get_context", {"symbol": "nowhere"}),
        ("get_impact", {"symbol": "of_mine"}),
        ("detect_circular", {}),
        ("set_working_directory", {"directory": theirs}),
        ("set_working_directory", {"directory": mine}),
        ("set_working_directory", {"directory": "nope"}),
        ("add_source", {"url": "docs", "name": "guide"}),
        ("add_source", {"url": "docs", "name": "guide"}),
        ("add_source", {"url": "nofile.md", "name": "x"}),
        ("add_source", {"url": "../theirs/docs", "name": "y"}),
        ("add_source", {"url": "/etc/passwd", "name": "x"}),
        ("add_source", {"url": "api.yaml", "name": "mine-api"}),
        ("add_source", {"url": "pypi:nope", "name": "p"}),
        ("list_sources", {}),
        ("crawl_status", {"source_id": "guide"}),
        ("crawl_status", {"source_id": "mine-api"}),
        ("recrawl_source", {"source_id": "guide"}),
        ("recrawl_source", {"source_id": "mine-api"}),
        ("search_docs", {"query": "shipping"}),
        ("search_docs", {"query": "zzzz"}),
        ("list_apis", {}),
        ("get_api_endpoints", {"api_name": "mine-api"}),
        ("get_api_endpoints", {"api_name": "none"}),
        ("remember", {"text": "We ship on Mondays, see a.py", "files": [f"{mine}/a.py"]}),
        ("search", {"query": "shipping parcels of_mine Mondays"}),
        ("fetch", {"id": "doc:1"}),
        ("fetch", {"id": "code:a.py#of_mine"}),
        ("fetch", {"id": "code:../../etc/passwd"}),
        ("fetch", {"id": "api:mine-api:GET /parcels"}),
        ("timeline", {"around": "2999-01-01"}),
        ("remove_source", {"source_id": "guide"}),
        ("remove_source", {"source_id": "nope"}),
    ):
        yield confined_server.call(session, name, **arguments)


def test_no_answer_reveals_folders_of_the_server(confined_server: ConfinedServer) -> None:
    home = str(confined_server.top.parents[1] / "home")
    for session in (confined_server.narrow, confined_server.wide):
        for answer in collect_all_answers(confined_server, session):
            assert "hush-hush" not in answer
            assert home not in answer
            assert "site-packages" not in answer
            assert "internal error" not in answer


def test_documentation_and_apis_of_another_project_are_hidden_from_a_project_token(
    confined_server: ConfinedServer,
) -> None:
    confined_server.call(confined_server.wide, "set_working_directory", directory=str(confined_server.theirs))
    assert "zeppelin" in confined_server.call(confined_server.wide, "search_docs", query="zeppelin launches")
    listed = confined_server.call(confined_server.wide, "list_sources")
    assert "theirs-doc" in listed
    assert "theirs-api" in listed
    shown = confined_server.call(
        confined_server.wide, "search", query="zeppelin", scope=["docs", "apis"], project_id="*"
    )
    ids = {hit["id"] for hit in json.loads(shown)["result"]["structuredContent"]["results"]}
    assert {identifier.partition(":")[0] for identifier in ids} == {"doc", "api"}
    for name, arguments in (
        ("search_docs", {"query": "zeppelin launches"}),
        ("search_docs", {"query": "zeppelin", "source": "theirs-doc"}),
        ("search_docs", {"query": "zeppelin", "api_name": "theirs-api"}),
        ("search", {"query": "zeppelin"}),
        ("search", {"query": "zeppelin", "project_id": "*"}),
        ("list_sources", {}),
        ("list_apis", {}),
        ("get_api_endpoints", {"api_name": "theirs-api"}),
        ("get_api_endpoints", {"api_name": "their"}),
        ("crawl_status", {"source_id": "theirs-doc"}),
        ("recrawl_source", {"source_id": "theirs-api"}),
        ("remove_source", {"source_id": "theirs-doc"}),
        ("remove_source", {"source_id": "theirs-api"}),
        ("get_context", {"symbol": "zeppelin"}),
        *(("fetch", {"id": identifier}) for identifier in ids),
    ):
        answer = confined_server.call(confined_server.narrow, name, **arguments)
        hidden = answer
        for given in arguments.values():  # an error may repeat the given argument
            hidden = hidden.replace(str(given), "")
        assert "launches in May" not in hidden
        assert "Roadmap" not in hidden
        assert "/zeppelins" not in hidden
        assert "list zeppelins" not in hidden
    assert "theirs" not in confined_server.call(confined_server.narrow, "list_sources")
    assert "theirs-doc" in confined_server.call(
        confined_server.wide, "list_sources"
    )  # the other project was not changed


@pytest.mark.parametrize(
    ("name", "hidden_arguments", "missing_arguments"),
    [
        ("fetch", {"id": "doc:1"}, {"id": "doc:987654"}),
        ("fetch", {"id": "api:theirs-api:GET /zeppelins"}, {"id": "api:nothing:GET /zeppelins"}),
        ("crawl_status", {"source_id": "theirs-doc"}, {"source_id": "nobodys-doc"}),
        ("get_api_endpoints", {"api_name": "theirs-api"}, {"api_name": "nobodys-api"}),
        ("search_docs", {"query": "x", "source": "theirs-doc"}, {"query": "x", "source": "nobodys-doc"}),
        ("get_stats", {"project_path": "../theirs"}, {"project_path": "../nobodys"}),
        ("set_working_directory", {"directory": "../theirs"}, {"directory": "../nobodys"}),
        ("add_source", {"url": "../theirs/docs", "name": "n"}, {"url": "../nobodys/docs", "name": "n"}),
        ("find_symbol", {"symbol": "of_theirs"}, {"symbol": "of_nobodys"}),
    ],
)
def test_hidden_and_missing_names_get_the_same_answer(
    confined_server: ConfinedServer, name: str, hidden_arguments: dict[str, Any], missing_arguments: dict[str, Any]
) -> None:
    hidden, missing = (
        confined_server.call(confined_server.narrow, name, **hidden_arguments),
        confined_server.call(confined_server.narrow, name, **missing_arguments),
    )
    for word, other in zip(hidden_arguments.values(), missing_arguments.values(), strict=True):
        missing = missing.replace(other, word)
    for word, other in (("nobodys", "theirs"), ("987654", "1")):
        missing = missing.replace(word, other)
    assert hidden == missing


def test_hidden_and_missing_projects_get_the_same_answer(confined_server: ConfinedServer) -> None:
    known = identify(confined_server.theirs).project_id
    unknown = "git:" + "0" * 40
    hidden = confined_server.call(confined_server.narrow, "search_code", query="x", project_id=known)
    assert hidden == confined_server.call(confined_server.narrow, "search_code", query="x", project_id=unknown).replace(
        unknown, known
    )


def test_a_workspace_token_permits_the_current_projects_of_the_workspace(confined_server: ConfinedServer) -> None:
    home = confined_server.top.parents[1] / "home"
    with closing(open_workspaces(home, confined_server.database)) as workspaces:
        workspaces.add("Both", [str(confined_server.mine), str(confined_server.theirs)])
        token = create_token(home, Level.READ, "workspace:Both", database=confined_server.database)
        session = confined_server.server.open_session(bearer(token))
        assert "of_theirs" in confined_server.call(session, "search_code", query="of_theirs", project_id="*")
        assert "zed.py" in confined_server.call(session, "search_code", query="of_theirs", project_id="theirs")
        workspaces.remove("both", [str(confined_server.theirs)])
        assert "zed.py" not in confined_server.call(session, "search_code", query="of_theirs", project_id="*")
        assert "No indexed project" in confined_server.call(
            session, "search_code", query="of_theirs", project_id="theirs"
        )
        assert "of_mine" in confined_server.call(session, "search_code", query="of_mine", project_id="*")
        workspaces.remove("both", [str(confined_server.mine)])  # an empty workspace must not permit everything
        for name in ("search_code", "search"):
            answer = confined_server.call(session, name, query="of_mine zeppelin", project_id="*")
            assert "a.py" not in answer
            assert "zed.py" not in answer


def test_a_token_and_its_session_follow_a_renamed_workspace(confined_server: ConfinedServer) -> None:
    home = confined_server.top.parents[1] / "home"
    with closing(open_workspaces(home, confined_server.database)) as workspaces:
        workspaces.add("Before", [str(confined_server.mine)])
        session = confined_server.server.open_session(
            bearer(create_token(home, Level.READ, "workspace:Before", database=confined_server.database))
        )
        assert "of_mine" in confined_server.call(session, "search_code", query="of_mine", project_id="before")
        assert workspaces.rename("Before", "After") == 1
        workspaces.add(
            "Before", [str(confined_server.theirs)]
        )  # a new workspace with the old name does not get its tokens
        assert "of_mine" in confined_server.call(session, "search_code", query="of_mine", project_id="after")
        assert "No indexed project" in confined_server.call(
            session, "search_code", query="of_theirs", project_id="before"
        )
        assert "zed.py" not in confined_server.call(session, "search_code", query="of_theirs", project_id="*")
        for name, root in (("After", confined_server.mine), ("Before", confined_server.theirs)):
            workspaces.remove(name, [str(root)])


def test_every_call_with_a_token_for_a_deleted_workspace_is_rejected(confined_server: ConfinedServer) -> None:
    home = confined_server.top.parents[1] / "home"
    error_response = (
        "The workspace 'Gone' of this token no longer exists. Ask the administrator of this server for another token."
    )
    with closing(open_workspaces(home, confined_server.database)) as workspaces:
        workspaces.add("Gone", [str(confined_server.mine)])
        token = create_token(home, Level.ADMIN, "workspace:Gone", database=confined_server.database)
        both = create_token(home, Level.READ, "workspace:Gone", confined_server.mine, database=confined_server.database)
        session = confined_server.server.open_session(bearer(token))
        assert "of_mine" in confined_server.call(session, "find_symbol", symbol="of_mine")
        workspaces.remove("Gone", [str(confined_server.mine)])
    for opened in (session, confined_server.server.open_session(bearer(token))):
        for answer in collect_all_answers(confined_server, opened):
            assert error_response in answer, answer
    # Other projects of the token stay accessible.
    assert "of_mine" in confined_server.call(
        confined_server.server.open_session(bearer(both)), "find_symbol", symbol="of_mine"
    )


def test_a_token_for_a_folder_that_is_not_served_is_rejected(confined_server: ConfinedServer, tmp_path: Path) -> None:
    home = confined_server.top.parents[1] / "home"
    token = create_token(home, Level.READ, tmp_path, database=confined_server.database)
    answer = confined_server.call(confined_server.server.open_session(bearer(token)), "list_sources")
    assert "This server does not serve any folder of this token." in answer


def test_a_token_with_read_access_cannot_add_a_project(confined_server: ConfinedServer) -> None:
    home = confined_server.top.parent.parent / "home"
    reader = confined_server.server.open_session(
        bearer(create_token(home, Level.READ, database=confined_server.database))
    )
    for arguments in ({"repo_path": "pkg"}, {"project_path": str(confined_server.mine / "docs")}):
        assert "a reader cannot add projects" in confined_server.call(
            reader, "search_code", query="of_mine", **arguments
        )
    assert "a.py" in confined_server.call(reader, "search_code", query="of_mine")
    assert "of_theirs" in confined_server.call(
        reader, "search_code", query="of_theirs", project_path=str(confined_server.theirs)
    )
