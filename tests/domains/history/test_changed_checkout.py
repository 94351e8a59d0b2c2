"""A checkout made during indexing is indexed before the next answer, or the answer contains a note."""

from __future__ import annotations

import threading
from contextlib import closing
from typing import TYPE_CHECKING

from deltos.app import App
from deltos.config import Config
from deltos.domains.history.index import HistoryIndexer
from deltos.federation.providers import history as provider
from deltos.model import Project
from deltos.workspace.project_index import ProjectIndex
from tests.calling import ToolClient
from tests.domains.history.repositories import commit, create_repository, open_store, subjects
from tests.repositories import git

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from deltos.isolated.process_pool import ProcessPool
    from deltos.progress import Progress
    from deltos.store.project import ProjectStore


class BlockedIndexer(HistoryIndexer):
    """An indexer whose first run waits for permission to finish."""

    def __init__(self) -> None:
        super().__init__()
        self.has_read, self.may_end = threading.Event(), threading.Event()

    def catch_up(self, project: Project, store: ProjectStore, progress: Progress, *, again: bool = False) -> None:
        super().catch_up(project, store, progress, again=again)
        self.has_read.set()
        self.may_end.wait(30)


def _repository_with_two_releases(root: Path) -> Path:
    create_repository(root)
    commit(root, "First release", {"a.py": "x = 1\n"})
    git(root, "tag", "v1")
    commit(root, "Second release", {"a.py": "x = 2\n"}, day=1)
    return root


def test_checkout_during_indexing_is_indexed_before_the_answer(tmp_path: Path) -> None:
    root = _repository_with_two_releases(tmp_path / "shop")
    with open_store(tmp_path / "home", root) as store:
        follower = BlockedIndexer()
        index = ProjectIndex(Project(root.resolve(), "test"), store, [], follower=follower)
        with closing(index):
            index.index()
            index.catch_up(wait_seconds=0)
            assert follower.has_read.wait(30)
            git(root, "checkout", "--quiet", "v1")
            assert index.follower_is_behind()
            threading.Timer(0.1, follower.may_end.set).start()
            index.catch_up(wait_seconds=30)
            assert subjects(store) == ["First release"]
            assert not index.follower_is_behind()


def test_answer_has_note_while_another_process_indexes_the_checkout(
    tmp_path: Path, workers: ProcessPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provider, "HISTORY_WAIT_SECONDS", 0.3)
    root = _repository_with_two_releases(tmp_path / "shop")
    with closing(App(Config(tmp_path / "home"), workers=workers)) as app:
        client = ToolClient(app.tools(), root)
        index = app.domains.projects.index_of(root)
        index.index()
        index.catch_up()
        assert "notes" not in client.data("search", query="latest commit")
        with open_store(tmp_path / "home", root) as other, other.try_lock(HistoryIndexer.name) as held:
            assert held
            git(root, "checkout", "--quiet", "v1")
            found = client.data("search", query="latest commit")
            assert any("these commits are from an earlier one" in note for note in found["notes"])
        monkeypatch.setattr(provider, "HISTORY_WAIT_SECONDS", 30.0)
        found = client.data("search", query="latest commit")
        assert "First release" in found["results"][0]["title"]
        assert "notes" not in found
