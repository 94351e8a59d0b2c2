"""A token confined to one folder of a repository sees only the observations of that folder."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from benchmarks.hook_capture import capture

from deltos.app import App
from deltos.config import Config
from deltos.confinement import Confinement, confined, is_inside
from deltos.domains.memory.core.memory import Memory
from deltos.domains.memory.core.transfer import export, import_lines
from deltos.errors import Forbidden, NotFound
from deltos.store.sqlite.database import split_statements
from deltos.store.sqlite.memory.reader import SqliteObservations
from deltos.store.sqlite.memory.schema import MIGRATIONS
from deltos.workspace.identity import identify, memory_scopes, path_in_checkout
from tests.calling import ToolClient
from tests.repositories import make_repository

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from deltos.isolated.process_pool import ProcessPool

FILES = {
    "a/one.py": "def of_a(): ...\n",
    "a/deep/two.py": "x = 1\n",
    "b/three.py": "def of_b(): ...\n",
    "r.md": "# r\n",
}


@dataclass(slots=True)
class Monorepo:
    """A repository with two folders, and tools called from inside them."""

    app: App
    root: Path

    def client(self, folder: str) -> ToolClient:
        return ToolClient(self.app.tools(), self.root / folder)

    def confined_to(self, *folders: str) -> Confinement:
        roots = tuple((self.root / folder).resolve() for folder in folders)
        return Confinement(roots, memory_scopes(roots))

    def remember(self, folder: str, text: str) -> str:
        identifier: str = self.client(folder).data("remember", text=text)["id"]
        return identifier

    def hook(self, folder: str, prompt: str, session_id: str = "s1") -> None:
        payload = {"session_id": session_id, "cwd": str(self.root / folder), "prompt": prompt}
        capture(
            self.app.domains.memory,
            "UserPromptSubmit",
            json.dumps(payload).encode(),
            folder=self.root,
            identify=lambda root: identify(root, may_start_git=False).project_id,
        )


@pytest.fixture
def monorepo(tmp_path: Path, workers: ProcessPool) -> Iterator[Monorepo]:
    app = App(Config(tmp_path / "home"), workers=workers)
    yield Monorepo(app, make_repository(tmp_path / "mono", FILES))
    app.close()


def search_ids(client: ToolClient, query: str, **arguments: str) -> set[str]:
    return {hit["id"] for hit in client.data("search", query=query, scope=["memory"], **arguments)["results"]}


def test_a_token_for_one_folder_finds_no_observations_of_other_folders(monorepo: Monorepo) -> None:
    own, deep = (
        monorepo.remember("a", "Folder a uses PostgreSQL"),
        monorepo.remember("a/deep", "Deep below PostgreSQL too"),
    )
    hidden = [
        monorepo.remember("b", "Folder b uses PostgreSQL 15"),
        monorepo.remember("", "The repository chose PostgreSQL"),
    ]
    identity = identify(monorepo.root).project_id
    client = monorepo.client("a")
    assert search_ids(client, "PostgreSQL") == {own, deep, *hidden}  # a call without confinement
    with confined(monorepo.confined_to("a")):
        for project_id in ("", "all", identity):
            assert search_ids(client, "PostgreSQL", project_id=project_id) == {own, deep}
        for identifier in hidden:
            for tool, arguments in (
                ("fetch", {"id": identifier}),
                ("get_observations", {"ids": [identifier]}),
                ("timeline", {"around": identifier}),
                ("forget", {"ids": [identifier]}),
                ("forget", {"ids": [identifier], "restore": True}),
            ):
                with pytest.raises(NotFound):
                    client.call(tool, **arguments)
        assert "b uses" not in client.call("timeline", around=own, before=50, after=50).text
        assert "repository chose" not in client.call("timeline", around="2999-01-01", before=50).text
    with confined(monorepo.confined_to("a", "b")):
        assert search_ids(client, "PostgreSQL") == {own, deep, hidden[0]}
    with confined(monorepo.confined_to("")):
        assert search_ids(client, "PostgreSQL") == {own, deep, *hidden}


def test_counts_and_hints_reveal_nothing_about_other_folders(monorepo: Monorepo) -> None:
    monorepo.remember("a", "Apples are stored in crates")
    for number in range(7):
        monorepo.remember("b", f"Bananas number {number} are stored in boxes of {number * 11}")
    client = monorepo.client("a")
    with confined(monorepo.confined_to("a")):
        answer = client.call("search", query="zebra", scope=["memory"]).text
        assert "1 observation" in answer
        assert "belong to other projects" not in answer
        assert "Bananas" not in client.call("get_context", symbol="of_a").text


def test_a_confined_token_does_not_merge_with_other_folders(monorepo: Monorepo) -> None:
    text = "Deploys go through the staging cluster first, then to production on Mondays"
    theirs = monorepo.remember("b", text)
    with confined(monorepo.confined_to("a")):
        kept = monorepo.client("a").data("remember", text=text)
        assert list(kept) == ["id"]
        assert monorepo.client("a").data("remember", text=text) == {**kept, "merged": True}
    assert kept["id"] != theirs
    assert search_ids(monorepo.client("b"), "staging cluster") == {kept["id"], theirs}


def test_a_token_cannot_write_into_another_folder(monorepo: Monorepo) -> None:
    with confined(monorepo.confined_to("a")):
        for folder in ("", "b"):
            with pytest.raises(Forbidden):
                monorepo.client(folder).call("remember", text="planted")


def test_captured_observations_belong_to_the_folder_of_the_agent(monorepo: Monorepo) -> None:
    monorepo.hook("a", "please add a retry to the uploader in folder a", "s1")
    monorepo.hook("a/deep", "now the same retry in the deep folder please", "s1")
    monorepo.hook("b", "please add a retry to the downloader in folder b", "s2")
    monorepo.hook("", "please add a retry everywhere in this repository", "s3")
    monorepo.hook("b", "and while at it a retry for the scheduler as well", "s3")
    client = monorepo.client("a")
    assert len(search_ids(client, "retry")) == 5
    with confined(monorepo.confined_to("a")):
        texts = [client.data("fetch", id=identifier)["text"] for identifier in search_ids(client, "retry")]
        assert sorted("deep" in text for text in texts) == [False, True]
        assert "uploader" in client.call("timeline", session_id="s1").text
        for session_id in ("s2", "s3"):
            with pytest.raises(NotFound):
                client.call("timeline", session_id=session_id)
    sessions = {(session.session_id, session.folder) for session in monorepo.app.domains.memory.store.sessions()}
    assert sessions == {
        ("s1", "a"),
        ("s2", "b"),
        ("s3", ""),
    }  # entering a subfolder does not change the folder of the session


def test_a_session_in_two_folders_does_not_mix_their_observations(monorepo: Monorepo) -> None:
    monorepo.hook("a", "please rename the uploader class in this folder", "s1")
    monorepo.hook("b", "please rename the downloader class in this folder", "s1")
    with confined(monorepo.confined_to("a")):
        assert "downloader" not in monorepo.client("a").call("timeline", session_id="s1").text


def test_the_session_context_covers_the_whole_repository(monorepo: Monorepo) -> None:
    monorepo.remember("b", "Folder b is written in Rust")
    payload = json.dumps({"session_id": "new", "cwd": str(monorepo.root / "a"), "source": "startup"}).encode()
    shown = capture(
        monorepo.app.domains.memory,
        "SessionStart",
        payload,
        folder=monorepo.root,
        identify=lambda root: identify(root).project_id,
    )
    assert "written in Rust" in shown


def test_observations_older_than_folder_support_belong_to_the_whole_repository(
    tmp_path: Path, monorepo: Monorepo
) -> None:
    path, identity = tmp_path / "old.db", identify(monorepo.root).project_id
    with closing(sqlite3.connect(path)) as old:
        old.execute("CREATE TABLE migration (position INTEGER PRIMARY KEY, name TEXT, applied_at REAL)")
        old.execute("INSERT INTO migration VALUES (0, ?, 0)", (MIGRATIONS[0].name,))
        for statement in split_statements(MIGRATIONS[0].sql):
            old.execute(statement)
        old.execute("INSERT INTO project VALUES (1, ?, ?, 0)", (identity, str(monorepo.root / "a")))
        old.execute("INSERT INTO session VALUES (1, 1, NULL, '', 0, NULL)")
        old.execute(
            "INSERT INTO observation (place, id, project, kind, source, created_at, files, symbols, names, text)"
            " VALUES (16777216, 'old1', 1, 'finding', '', 5, '', '', '', 'Kept before: PostgreSQL of folder b')"
        )
        old.commit()
    memory = Memory(SqliteObservations(path))
    assert [hit.observation.id for hit in memory.search("PostgreSQL", identity, limit=5).hits] == ["old1"]
    with confined(monorepo.confined_to("a")):
        assert memory.search("PostgreSQL", identity, limit=5).hits == ()
        assert memory.look_up(["old1"]).found == ()
    memory.store.close()


def test_exported_and_imported_observations_keep_their_folders(tmp_path: Path, monorepo: Monorepo) -> None:
    kept = monorepo.remember("a", "Folder a uses PostgreSQL").removeprefix("obs:")
    copy = Memory(SqliteObservations(tmp_path / "copy.db"))
    lines = list(export(monorepo.app.domains.memory))
    import_lines(copy, lines, project_id="")
    with confined(monorepo.confined_to("a")):
        assert [row.id for row in copy.look_up([kept]).found] == [kept]
    with confined(monorepo.confined_to("b")):
        assert copy.look_up([kept]).found == ()
    assert list(export(copy)) == lines
    copy.store.close()


def test_a_repository_that_gets_a_remote_keeps_its_folders_separate(monorepo: Monorepo) -> None:
    monorepo.remember("a", "Folder a uses PostgreSQL")
    monorepo.remember("b", "Folder b uses MySQL")
    config = monorepo.root / ".git" / "config"
    config.write_text(config.read_text() + '[remote "origin"]\n\turl = https://git.example/team/mono.git\n')
    monorepo.remember("a", "Folder a now has a remote")
    assert {project.project_id for project in monorepo.app.domains.memory.store.projects()} == {"git.example/team/mono"}
    with confined(monorepo.confined_to("b")):
        assert len(search_ids(monorepo.client("b"), "uses MySQL PostgreSQL remote")) == 1


def test_folders_are_compared_by_complete_path_segments(tmp_path: Path) -> None:
    assert is_inside("a/x", "a")
    assert is_inside("a", "")
    assert not is_inside("ab", "a")
    assert not is_inside("", "a")
    assert path_in_checkout(tmp_path) == ""
