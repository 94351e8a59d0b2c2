"""The data of the views: disabled toolsets, agent views and incomplete indexes."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from deltos.app import App
from deltos.config import TOOLSETS, Config, Embedding
from deltos.domains.memory.core.model import Draft, ObservationOrigin
from deltos.errors import BadArgument, NotFound
from deltos.hook_settings import OFF_FILE
from deltos.open_stores import open_projects
from deltos.progress import Silent
from deltos.server.caller import Caller
from deltos.server.conversation import Conversation
from deltos.server.tool_runner import ToolRunner
from deltos.server.toolbox import open_toolbox
from deltos.store.project import FailedFile, KnownIndex
from deltos.ui.views import MAX_FAILURES, Views, known_project
from deltos.workspace.identity import identify
from deltos.workspace.projects import Projects
from tests.repositories import git, make_repository

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FILES = {
    "shop.py": "import cart\n\n\ndef price():\n    return 1\n\n\ndef order():\n    return price()\n",
    "cart.py": "import shop\n\n\ndef check_out():\n    return shop.order()\n",
    "inner/part.py": "def part():\n    return 2\n",
}


def _config(home: Path, toolsets: tuple[str, ...] = TOOLSETS, profile: str = "full") -> Config:
    return Config(home, toolsets=toolsets, profile=profile, embedding=Embedding("off"))


class UiClient:
    """An application and a session of its web UI."""

    def __init__(self, config: Config, root: Path) -> None:
        self.app = App(config)
        self.views = Views(self.app)
        self.session = Conversation(root)

    def show(self, name: str, /, **given: str) -> Any:
        return json.loads(self.views.show(name, given, self.session))


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_repository(tmp_path_factory.mktemp("views") / "shop", FILES)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def ui_client(root: Path, home: Path) -> Iterator[UiClient]:
    """An application with all toolsets and one observation."""
    found = UiClient(_config(home), root)
    origin = ObservationOrigin(identify(root).project_id, root, "session-1")
    found.app.domains.memory.remember(Draft("We order by price, cheapest first", kind="decision"), origin)
    yield found
    found.app.close()


def test_views_and_tabs_of_disabled_toolsets_are_errors(root: Path, home: Path, ui_client: UiClient) -> None:
    needs = {
        "memory": "memory",
        "sources": "docs",
        "apis": "apis",
        "modules": "graph",
        "graph": "graph",
        "symbols": "graph",
    }
    for name in needs:
        ui_client.show(name, symbol="order")
    alone = UiClient(_config(home, toolsets=("code",)), root)
    try:
        for name, toolset in needs.items():
            with pytest.raises(NotFound, match=f"'{toolset}' is off"):
                alone.show(name, symbol="order")
        with pytest.raises(NotFound, match="'memory' is off"):
            alone.views.change("memory", {"change": "pin", "id": "x"}, alone.session)
        with pytest.raises(BadArgument, match="'memory' is off"):
            alone.show("search", q="order", tab="obs")
        ui_client.show("search", q="order", tab="commit")
        kinds = {result["kind"] for result in alone.show("search", q="order price")["results"]}
        assert kinds == {"code"}
        assert alone.show("state")["toolsets"] == ["code"]
    finally:
        alone.app.close()


@pytest.mark.usefixtures("ui_client")
@pytest.mark.parametrize("profile", ["full", "lean"])
def test_the_agent_view_equals_the_answer_of_the_tool(root: Path, home: Path, profile: str) -> None:
    config = _config(home, profile=profile)
    client = UiClient(config, root)
    bench = ToolRunner(lambda: open_toolbox(config))
    try:
        query = "order by price"
        answer = bench.run("search", {"query": query}, Caller(Conversation(root)), Silent())
        shown = client.show("search", q=query)["agent_text"]
        assert _without_scores(shown) == _without_scores(answer.text)
        assert ("timeline(around=" in answer.text) == (profile == "full")
    finally:
        bench.close(0.0)
        client.app.close()


def _without_scores(text: str) -> str:
    """Return an answer without scores, because the scores of observations decrease with time."""
    return re.sub(r'"score":[0-9.]+', '"score":0', text)


def test_a_first_index_notes_that_it_is_incomplete(root: Path, tmp_path: Path) -> None:
    ui_client = UiClient(_config(tmp_path), root)
    projects = ui_client.app.domains.projects
    ui_client.app.domains.projects = Projects(open_projects(tmp_path), (), first_index_seconds=0.0)
    try:
        with ui_client.app.domains.projects.index_of(root).store.try_lock() as held:  # another process is indexing
            assert held
            for view in (ui_client.show("modules"), ui_client.show("graph", mode="files"), ui_client.show("symbols")):
                assert any("indexed for the first time" in note for note in view["notes"])
    finally:
        projects.close()
        ui_client.app.close()


def test_the_next_session_view_follows_the_hook_settings(
    ui_client: UiClient, home: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def context() -> tuple[str, str]:
        page = ui_client.show("memory", show="next")
        return page["context"], page["context_silence"]

    assert "cheapest first" in context()[0]
    monkeypatch.setenv("DELTOS_CONTEXT_TOKENS", "0")
    assert context() == ("", "Sessions start without context because DELTOS_CONTEXT_TOKENS is 0.")
    monkeypatch.delenv("DELTOS_CONTEXT_TOKENS")
    monkeypatch.setenv("DELTOS_TOOLSETS", "code")
    assert context()[1].startswith("Hooks add nothing")
    monkeypatch.delenv("DELTOS_TOOLSETS")
    (home / OFF_FILE).write_text(f"{root}\n")
    try:
        text, silence = context()
        assert (text, silence) == ("", "Memory is off for this project. `deltos memory on` enables it.")
    finally:
        (home / OFF_FILE).unlink()


def test_superseded_or_forgotten_observations_cannot_be_pinned(ui_client: UiClient, root: Path) -> None:
    origin = ObservationOrigin(identify(root).project_id, root, "session-2")
    remember = ui_client.app.domains.memory.remember
    older, newer = (
        remember(Draft(text), origin).id for text in ("The till has four drawers", "Carts are blue and large")
    )

    def change(wanted: str, given: str, by: str = "") -> None:
        ui_client.views.change("memory", {"change": wanted, "id": given, "by": by}, ui_client.session)

    change("supersede", older, newer)
    with pytest.raises(BadArgument, match="was superseded by"):
        change("pin", older)
    change("restore", older)
    change("pin", older)
    for each in (older, newer):
        change("forget", each)
        with pytest.raises(BadArgument, match="was forgotten"):
            change("pin", each)


def test_files_of_the_map_are_drawn_and_their_code_is_found_in_any_project(ui_client: UiClient, root: Path) -> None:
    drawn = ui_client.show("graph", symbol="cart.py")
    assert (drawn["symbol"], "shop.py") == ("cart.py", drawn["nodes"][1]["path"])
    for project in ("", f"{identify(root).project_id}!"):
        assert ui_client.show("fetch", id=f"code:{project}cart.py:1-41")["text"].startswith("import shop")
        assert ui_client.show("fetch", id=f"code:{project}shop.py#order")["line"] == 8


def test_an_impact_graph_has_every_edge_between_its_nodes_and_the_distance_of_tests(tmp_path: Path) -> None:
    files = {
        "limit.py": "class Limit:\n    def wait(self):\n        return 1\n\n    def reset_limit(self):\n        return 2\n",
        "gate.py": "from limit import Limit\n\n\ndef gate():\n    return other_gate(Limit())\n\n\n"
        "def other_gate(limit: Limit):\n    return limit.wait()\n",
        "far.py": "from gate import gate\n\n\ndef far(thing):\n    return gate() + thing.wait()\n\n\ndef guess(thing):\n    thing.reset_limit()\n",
        "tests/test_limit.py": "from limit import Limit\n\n\ndef test_wait():\n    assert Limit().wait()\n",
    }
    ui_client = UiClient(_config(tmp_path / "home"), make_repository(tmp_path / "gates", files))
    try:
        page = ui_client.show("graph", symbol="Limit", mode="impact")
        rings = {node["label"]: node["ring"] for node in page["nodes"]}
        assert rings == {"Limit": 0, "gate": 1, "other_gate": 1, "test_wait": 1, "far": 2}
        linked = {end for edge in page["edges"] for end in (edge["source"], edge["target"])}
        assert linked == {node["id"] for node in page["nodes"]}
        assert ("gate.py#gate", "gate.py#other_gate") in {(each["source"], each["target"]) for each in page["edges"]}
        assert [ring["distance"] for ring in page["rings"]] == [1, 2]
        waits = ui_client.show("graph", symbol="Limit.wait", mode="impact")
        assert {
            (edge["source"], edge["certain"]) for edge in waits["edges"] if edge["target"] == "limit.py#Limit.wait"
        } == {
            ("gate.py#other_gate", True),
            ("tests/test_limit.py#test_wait", True),
            ("far.py#far", False),  # two steps away by certain references, one step by a possible reference
        }
        unsure = ui_client.show("graph", symbol="Limit.reset_limit", mode="impact")
        assert unsure["notes"] == ["1 possible reference not followed; see the neighbourhood."]
    finally:
        ui_client.app.close()


def test_a_folder_inside_an_indexed_project_is_a_separate_project(root: Path, home: Path, ui_client: UiClient) -> None:
    ui_client.show("modules")
    assert ui_client.show("state")["project"]["files"] == len(FILES)
    inside = UiClient(_config(home), root / "inner")
    try:
        state = inside.show("state")
        assert (state["project"]["id"], state["project"]["name"]) == ("", "inner")
        assert [each["name"] for each in state["projects"]] == ["shop"]
    finally:
        inside.app.close()


def test_clones_and_worktrees_of_one_repository_are_separate_projects(tmp_path: Path) -> None:
    first = make_repository(tmp_path / "shop", FILES)
    git(first, "commit", "--quiet", "--allow-empty", "--message=begin")
    (tmp_path / "other").mkdir()
    git(first, "clone", "--quiet", ".", str(tmp_path / "other" / "shop"))
    git(first, "worktree", "add", "--quiet", str(tmp_path / "branch"))
    (tmp_path / "branch" / "only_here.py").write_text("def only_here():\n    return 1\n")
    roots = [first, tmp_path / "other" / "shop", tmp_path / "branch"]
    ui_client = UiClient(_config(tmp_path / "home"), first)
    try:
        for each in roots:
            ui_client.app.domains.projects.index_of(each).index()
        state = ui_client.show("state")
        assert sorted(each["name"] for each in state["projects"]) == ["branch", "other/shop", f"{tmp_path.name}/shop"]
        ids = {each["root"]: each["id"] for each in state["projects"]}
        assert len(set(ids.values())) == len(roots)
        assert state["project"]["id"] == ids[str(first)]
        for each in roots:
            assert ui_client.show("health", project=ids[str(each)])["project"]["root"] == str(each)
        found = ui_client.show("search", q="only_here", project=ids[str(tmp_path / "branch")])
        assert "only_here" in found["results"][0]["title"]
        whole = ui_client.show("fetch", id=found["results"][0]["id"], project=ids[str(tmp_path / "branch")])
        assert "def only_here" in json.dumps(whole)
    finally:
        ui_client.app.close()
    elsewhere = UiClient(_config(tmp_path / "home"), make_clone(first, tmp_path / "unindexed"))
    try:  # a folder that is not indexed also has the id of the repository
        state = elsewhere.show("state")
        for each in state["projects"]:
            assert elsewhere.show("health", project=each["id"])["project"]["root"] == each["root"]
    finally:
        elsewhere.app.close()


def make_clone(root: Path, clone: Path) -> Path:
    git(root, "clone", "--quiet", ".", str(clone))
    return clone


def test_all_failures_are_counted_even_if_only_some_are_listed(root: Path) -> None:
    failures = [FailedFile(f"{number}.py", "code", "a zero byte") for number in range(MAX_FAILURES + 30)]
    shown = known_project(KnownIndex("", 0, root, "shop", 0.0, 200, failures))
    assert (len(shown.failures), shown.failure_count) == (MAX_FAILURES, MAX_FAILURES + 30)


def test_a_review_lists_callers_that_do_not_match_the_new_signature_and_the_symbols_to_draw(
    home: Path, tmp_path: Path
) -> None:
    project = make_repository(tmp_path / "shop", FILES)
    (project / "shop.py").write_text(FILES["shop.py"].replace("def price():", "def price(currency):"), "utf-8")
    client = UiClient(_config(home), project)
    try:
        page = client.show("review")
        assert page["is_breaking"]
        assert page["symbols"] == ["price"]
        callers = next(section for section in page["sections"] if section["title"].startswith("Callers"))
        assert callers["lines"][0].startswith("shop.py:9 order")
        assert page["summary"] in page["agent_text"]
        assert client.show("review", base="HEAD")["summary"] == page["summary"]
    finally:
        client.app.close()


def test_contracts_list_endpoints_and_the_calls_from_one_project_to_another(home: Path, tmp_path: Path) -> None:
    server = "from fastapi import FastAPI\n\napp = FastAPI()\n\n\n@app.get('/orders/{number}')\ndef read_order(number): ...\n"
    caller = "import requests\n\n\ndef fetch(number):\n    return requests.get(f'http://orders/orders/{number}')\n"
    make_repository(tmp_path / "orders", {"main.py": server})
    make_repository(tmp_path / "counter", {"client.py": caller})
    client = UiClient(_config(home), tmp_path / "counter")
    try:
        for name in ("orders", "counter"):
            client.app.domains.projects.index_of(tmp_path / name).index()
        page = client.show("contracts", projects="*")
        (endpoint,) = page["endpoints"]
        assert (endpoint["method"], endpoint["path"]) == ("GET", "/orders/{number}")
        assert "main.py:7 read_order" in endpoint["handlers"][0]
        assert "client.py:5 fetch" in endpoint["calls"][0]
        assert page["services"] == [{"caller": "counter", "handler": "orders", "count": 1}]
    finally:
        client.app.close()
