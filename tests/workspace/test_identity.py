"""Projects are identified by remote, root commit or path."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from deltos.errors import NotFound
from deltos.workspace.identity import find_root, identify, normalise_remote
from tests.repositories import git, make_repository

if TYPE_CHECKING:
    from pathlib import Path

FILES = {"a.py": "a = 1\n"}


@pytest.mark.parametrize(
    "url",
    [
        "https://github.com/Owner/Repo.git",
        "https://github.com/owner/repo",
        "https://github.com/owner/repo/",
        "https://user:secret-token@github.com/owner/repo.git",
        "https://token@github.com:443/owner/repo.git?x=1",
        "http://GitHub.com/owner/repo.git",
        "ssh://git@github.com/owner/repo.git",
        "ssh://git@github.com:22/owner/repo.git",
        "git://github.com/owner/repo.git",
        "git@github.com:owner/repo.git",
        "git@github.com:/owner/repo.git",
        "github.com:owner/repo",
        "  git@github.com:owner/repo.git  ",
    ],
)
def test_all_forms_of_a_remote_give_the_same_identity_without_credentials(url: str) -> None:
    assert normalise_remote(url) == "github.com/owner/repo"


@pytest.mark.parametrize(
    "url", ["/srv/repo.git", "../repo", "file:///srv/repo.git", "C:\\repos\\a", "https://", "https://[bad/x", "", "x"]
)
def test_a_local_path_is_not_a_remote(url: str) -> None:
    assert normalise_remote(url) is None


def test_the_remote_is_the_identity_of_clones_and_worktrees(tmp_path: Path) -> None:
    main = make_repository(tmp_path / "main", FILES)
    git(main, "remote", "add", "origin", "https://me:secret@example.org/team/tool.git")
    git(main, "worktree", "add", "--quiet", str(tmp_path / "tree"))
    git(tmp_path, "clone", "--quiet", str(main), "copy")
    git(tmp_path / "copy", "remote", "set-url", "origin", "git@example.org:team/tool.git")
    projects = [identify(tmp_path / name) for name in ("main", "tree", "copy")]
    assert {project.project_id for project in projects} == {"example.org/team/tool"}
    assert len({project.root for project in projects}) == 3


def test_origin_takes_precedence_over_other_remotes(tmp_path: Path) -> None:
    root = make_repository(tmp_path, FILES)
    git(root, "remote", "add", "another", "https://example.org/another")
    git(root, "remote", "add", "origin", "https://example.org/origin")
    assert identify(root).project_id == "example.org/origin"


def test_a_local_remote_is_not_an_identity(tmp_path: Path) -> None:
    main = make_repository(tmp_path / "main", FILES)
    git(tmp_path, "clone", "--quiet", str(main), "copy")
    assert identify(tmp_path / "copy").project_id == f"git:{git(main, 'rev-parse', 'HEAD')}"


def test_without_a_remote_the_root_commit_is_the_identity(tmp_path: Path) -> None:
    root = make_repository(tmp_path, FILES)
    first = git(root, "rev-parse", "HEAD")
    git(root, "commit", "--quiet", "--allow-empty", "--message=second")
    assert identify(root).project_id == f"git:{first}"


def test_a_folder_of_a_repository_has_the_project_id_but_a_separate_root(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "repo", {"deep/er/a.py": "a = 1\n"})
    inner = identify(root / "deep" / "er")
    assert inner.project_id == identify(root).project_id
    assert inner.root == root / "deep" / "er"


def test_git_variables_of_another_repository_are_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = make_repository(tmp_path / "mine", FILES)
    other = make_repository(tmp_path / "other", {"b.py": "b = 1\n"})
    expected = identify(mine)
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    assert identify(mine) == expected


def test_without_a_commit_or_without_git_the_path_is_the_identity(tmp_path: Path) -> None:
    for name in ("bare/tool", "other/tool"):
        (tmp_path / name).mkdir(parents=True)
    git(tmp_path / "other" / "tool", "init", "--quiet")
    bare, other = identify(tmp_path / "bare" / "tool"), identify(tmp_path / "other" / "tool")
    assert bare.project_id.startswith("path:")
    assert other.project_id.startswith("path:")
    assert bare.project_id != other.project_id


def test_a_repository_created_locally_is_identified_without_git(tmp_path: Path) -> None:
    root = make_repository(tmp_path, FILES)
    assert identify(root, may_start_git=False) == identify(root)


def test_the_path_is_the_identity_if_git_would_be_needed_but_may_not_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = make_repository(tmp_path, FILES)
    (root / ".git" / "logs" / "HEAD").write_text("no commit was logged first\n")
    assert identify(root, may_start_git=False).project_id.startswith("path:")
    with monkeypatch.context() as without_git:
        without_git.setenv("PATH", str(tmp_path))
        assert identify(root).project_id.startswith("path:")
    assert identify(root).project_id.startswith("git:")


def test_the_root_commit_is_cached_until_a_new_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = make_repository(tmp_path, FILES)
    shutil.rmtree(root / ".git" / "logs")
    first = identify(root)
    with monkeypatch.context() as without_git:
        without_git.setenv("PATH", str(tmp_path))
        assert identify(root) == first
    shutil.rmtree(root)
    again = make_repository(tmp_path, {"other.py": "x = 1\n"})
    shutil.rmtree(again / ".git" / "logs")
    assert again == root
    assert identify(again).project_id == f"git:{git(again, 'rev-parse', 'HEAD')}" != first.project_id


def test_without_a_log_git_finds_the_root_commit(tmp_path: Path) -> None:
    root = make_repository(tmp_path, FILES)
    shutil.rmtree(root / ".git" / "logs")
    assert identify(root).project_id == f"git:{git(root, 'rev-parse', 'HEAD')}"


def test_a_broken_link_to_a_repository_is_ignored(tmp_path: Path) -> None:
    for content in ("", "gitdir: /nowhere/at/all"):
        (tmp_path / ".git").write_text(content)
        assert identify(tmp_path).project_id.startswith("path:")


def test_a_link_to_a_folder_is_the_folder(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    assert identify(tmp_path / "link") == identify(tmp_path / "real")


def test_a_path_that_is_not_a_folder_raises(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(NotFound, match="Not a folder"):
        find_root(tmp_path / "file")
    for missing in ("missing", "x" * 10_000, "loop"):
        with pytest.raises(NotFound, match="No such folder"):
            find_root(tmp_path / missing)
