"""The team view: workspaces, workers, jobs and tokens, each with the required rights."""

from __future__ import annotations

import json
import time
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from deltos.app import App
from deltos.config import Config, Embedding
from deltos.confinement import Confinement, confined
from deltos.errors import NotFound
from deltos.open_stores import open_jobs, open_tokens
from deltos.server.access import Level, Tokens
from deltos.server.conversation import Conversation
from deltos.store.jobs import INDEX, JobRequest
from deltos.ui.views import Views
from tests.postgres_server import empty_database
from tests.repositories import make_repository
from tests.ui.opened import chromium, serve_page

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Team:
    """A database with a workspace of two projects, two tokens and a job."""

    def __init__(self, folder: Path) -> None:
        self.url = empty_database()
        self.home = folder / "home"
        self.roots = [make_repository(folder / name, {f"{name}.py": "x = 1\n"}) for name in ("api", "web")]
        self.app = App(Config(self.home, database=self.url, embedding=Embedding("off")))
        workspaces = self.app.domains.projects.workspaces
        assert workspaces
        workspaces.add("shop", [str(root) for root in self.roots])
        self.jobs = open_jobs(self.url)
        self.jobs.add(JobRequest(INDEX, str(self.roots[1])))
        self.tokens = open_tokens(self.home, self.url)
        issued = Tokens(self.tokens, time.time)
        issued.create("for everything", Level.ADMIN, [], None)
        issued.create("for the api", Level.READ, [str(self.roots[0])], None)

    def show(self, name: str) -> Any:
        return json.loads(Views(self.app).show(name, {}, Conversation(self.roots[0])))


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Team]:
    made = Team(tmp_path_factory.mktemp("team"))
    yield made
    made.app.close()


def test_a_reader_of_all_projects_sees_workspaces_workers_and_jobs(team: Team) -> None:
    shown = team.show("team")
    assert shown["workspaces"] == [{"name": "shop", "projects": sorted(str(root) for root in team.roots)}]
    assert [(job["kind"], job["subject"], job["state"]) for job in shown["jobs"]] == [
        ("index", str(team.roots[1]), "waiting")
    ]
    assert shown["workers"] == []
    assert "p@ss" not in json.dumps(shown)
    assert team.show("state")["is_shared"]


def test_a_reader_of_one_project_sees_its_part_of_workspaces_and_no_job(team: Team) -> None:
    with confined(Confinement((team.roots[0],), {})):
        shown = team.show("team")
    assert [len(each["projects"]) for each in shown["workspaces"]] == [1]
    assert (shown["jobs"], shown["workers"], shown["database"]) == ([], [], "")
    assert str(team.roots[1]) not in json.dumps(shown)


def test_the_team_view_is_missing_without_a_database(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "alone", {"a.py": "x = 1\n"})
    with closing(App(Config(tmp_path / "home", embedding=Embedding("off")))) as app:
        views = Views(app)
        assert not json.loads(views.show("state", {}, Conversation(root)))["is_shared"]
        for name in ("team", "tokens"):
            with pytest.raises(NotFound, match="has no shared database"):
                views.show(name, {}, Conversation(root))


def test_the_page_shows_the_team_and_drops_a_job(team: Team) -> None:
    served = serve_page(team.roots[0], team.home, DELTOS_DATABASE=team.url, DELTOS_EMBED="off")
    try:
        with chromium() as browser:
            page = browser.new_page()
            page.set_default_timeout(40_000)
            page.goto(served.url)
            page.click("nav >> text=Team")
            for part in ("for the api", "shop", "Drop"):  # the parts of the page load in sequence
                page.wait_for_selector(f"#main >> text={part}")
            shown = page.inner_text("#main")
            assert "shop" in shown
            assert str(team.roots[1]) in shown
            assert "for everything" in shown
            page.click("text=Drop")
            page.wait_for_selector(".toast >> text=Dropped")
            page.wait_for_selector("text=No jobs")
        assert team.jobs.all() == []
    finally:
        served.stop()
        served.shut_down()
