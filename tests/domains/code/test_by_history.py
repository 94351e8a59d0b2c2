"""Code is found by the messages of commits that touched it, even if it contains few of their words."""

from __future__ import annotations

from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

import pytest

from deltos.app import App
from deltos.config import Config
from tests.calling import ToolClient
from tests.domains.code.code_queries import paths, search
from tests.domains.history.repositories import commit, create_repository
from tests.repositories import git, write_files

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from deltos.isolated.process_pool import ProcessPool

# The contents of the files share no words with the commit messages.
FILES = {
    f"part_{letter}.py": f"def {letter}(n):\n    return n + {number}\n" for number, letter in enumerate("pqrstuvw")
}
MESSAGES = {
    "part_q.py": "Throttle impatient clients of the gateway",
    "part_r.py": "Translate invoices into Portuguese",
    "part_s.py": "Sharpen thumbnails of portraits",
}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository whose files differ only by the commits that touched them."""
    root = create_repository(tmp_path / "parts")
    commit(root, "Begin", FILES)
    for day, (path, message) in enumerate(MESSAGES.items(), 1):
        commit(root, message, {path: f"{FILES[path]}\n\nLIMIT = {day}\n"}, day=day)
    return root


@contextmanager
def session(home: Path, root: Path, workers: ProcessPool) -> Iterator[ToolClient]:
    """Yield a session in a project with indexed files and history."""
    with closing(App(Config(home), workers=workers)) as app:
        app.domains.projects.index_of(root).index()
        app.domains.projects.index_of(root).catch_up()
        yield ToolClient(app.tools(), root)


@pytest.mark.parametrize(
    ("question", "path"),
    [
        ("impatient clients of the gateway", "part_q.py"),
        ("rate limiting of requests", "part_q.py"),  # this query shares no word with the commit message either
        ("Portuguese invoices", "part_r.py"),
        ("portrait thumbnails", "part_s.py"),
    ],
)
def test_a_file_is_found_by_its_commit_messages(
    tmp_path: Path, repository: Path, question: str, path: str, workers: ProcessPool
) -> None:
    with session(tmp_path / "home", repository, workers) as client:
        assert paths(search(client, question))[0] == path


def test_files_found_by_commits_are_marked(tmp_path: Path, repository: Path, workers: ProcessPool) -> None:
    with session(tmp_path / "home", repository, workers) as client:
        answer = client.call("search_code", query="impatient clients of the gateway")
        assert "part_q.py:1-2 q (commit match)" in answer.text
        assert answer.structured is not None
        assert answer.structured["results"][0]["by_commits"] is True
        assert "near_in_meaning" not in answer.structured["results"][0]
        found = client.call("search", query="impatient clients of the gateway", scope="code").structured
        assert found is not None
        titles = [result["title"] for result in found["results"]]
        assert any("part_q.py" in title and title.endswith("(commit match)") for title in titles)


def test_files_that_change_together_with_the_best_file_rank_higher_for_an_issue(
    tmp_path: Path, workers: ProcessPool
) -> None:
    root = create_repository(tmp_path / "ledger")
    ledger = "def round_ledger(sums):\n    return sums\n"
    part = 'def up(sums):\n    """Rounds sums of the ledger."""\n    return sums\n'
    commit(root, "Begin", {"ledger.py": ledger, "p/part.py": part, "q/part.py": part, "r/part.py": part})
    for day in range(1, 25, 3):
        commit(root, "Turn", {"ledger.py": f"{ledger}# {day}\n", "r/part.py": f"{part}# {day}\n"}, day=day)
        # The other files change as often, and later, but always alone.
        commit(root, "Turn", {"p/part.py": f"{part}# {day}\n"}, day=day + 1)
        commit(root, "Turn", {"q/part.py": f"{part}# {day}\n"}, day=day + 2)
    issue = "Rounding of the ledger is wrong\n\n" + "The ledger rounds sums down where it should round up. " * 6
    with session(tmp_path / "home", root, workers) as client:
        assert paths(search(client, issue))[:2] == ["ledger.py", "r/part.py"]


def test_only_files_in_scope_are_found_by_their_commits(tmp_path: Path, repository: Path, workers: ProcessPool) -> None:
    commit(repository, "Throttle impatient clients again", {"inner/part_x.py": "def x(n):\n    return n\n"}, day=9)
    with session(tmp_path / "home", repository, workers) as client:
        assert set(paths(search(client, "impatient clients", directory="inner"))) == {"inner/part_x.py"}


def test_a_new_commit_is_used_after_the_next_history_update(
    tmp_path: Path, repository: Path, workers: ProcessPool
) -> None:
    with closing(App(Config(tmp_path / "home"), workers=workers)) as app:
        index = app.domains.projects.index_of(repository)
        index.index()
        index.catch_up()
        client = ToolClient(app.tools(), repository)
        assert paths(search(client, "Portuguese invoices"))[0] == "part_r.py"
        commit(repository, "Water the orchids", {"part_w.py": "def w(n):\n    return n - 1\n"}, day=20)
        index.catch_up()
        assert paths(search(client, "orchids"))[0] == "part_w.py"
        git(repository, "reset", "--quiet", "--hard", "HEAD~1")
        index.catch_up()
        assert "part_w.py" not in paths(search(client, "orchids"))[:1]


def test_a_shallow_clone_is_searched_by_the_terms_of_its_files(
    tmp_path: Path, repository: Path, workers: ProcessPool
) -> None:
    write_files(repository, {"gateway.py": "def throttle(client):\n    return client.calls > LIMIT\n"})
    commit(repository, "One more", day=30)
    shallow = tmp_path / "shallow"
    git(tmp_path, "clone", "--quiet", "--depth=1", repository.as_uri(), str(shallow))
    with session(tmp_path / "home", shallow, workers) as client:
        assert paths(search(client, "throttle impatient clients"))[0] == "gateway.py"


def test_a_folder_without_git_is_searched_by_its_words(tmp_path: Path, workers: ProcessPool) -> None:
    root = write_files(tmp_path / "plain", {**FILES, "gateway.py": "def throttle(client):\n    return client.calls\n"})
    with session(tmp_path / "home", root, workers) as client:
        assert paths(search(client, "throttle impatient clients"))[0] == "gateway.py"
