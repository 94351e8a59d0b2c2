"""A listing that reuses the previous one equals a new listing after any change."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from deltos.workspace.listing import list_files
from deltos.workspace.walk import walk
from tests.repositories import git, make_repository, write_files
from tests.workspace.indexers import open_index

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from deltos.workspace.project_index import ProjectIndex

FILES: dict[str, str | bytes] = {
    "a.py": "a = 1\n",
    "deep/b.py": "b = 1\n",
    "deep/down/c.py": "c = 1\n",
    ".gitignore": "*.log\n",
}
LONG_AGO_NS = 1_600_000_000_123_456_789


def make_old(root: Path) -> None:
    """Set old timestamps on all files and folders, because recent stamps are not trusted."""
    for folder, _, names in os.walk(root, topdown=False):
        for path in (*(Path(folder, name) for name in names), Path(folder)):
            os.utime(path, ns=(LONG_AGO_NS, LONG_AGO_NS), follow_symlinks=False)


@pytest.fixture
def index(tmp_path: Path) -> Iterator[ProjectIndex]:
    root = make_repository(tmp_path / "root", FILES)
    write_files(root, {"x.log": "ignored\n", "untracked.py": ""})
    make_old(root)
    index = open_index(tmp_path / "home", root)
    index.index()
    yield index
    index.close()


def test_unchanged_folders_are_not_listed_again(index: ProjectIndex) -> None:
    root = index.project.root
    write_files(root, {"deep/unseen.py": "", "a.py": "a = 2\n"})
    os.utime(root / "deep", ns=(LONG_AGO_NS, LONG_AGO_NS))
    found = list_files(root, index.store)
    assert set(found.files) == {*FILES, "untracked.py"}
    assert found.files["a.py"] == walk(root).files["a.py"]  # files are checked in any case
    assert "deep/unseen.py" in walk(root).files


def folder_replaced_by_link(root: Path) -> None:
    shutil.move(root / "deep", root.parent / "moved")
    (root / "deep").symlink_to(root.parent / "moved")


def file_replaced_by_link(root: Path) -> None:
    (root / "a.py").unlink()
    (root / "a.py").symlink_to("deep/b.py")


CHANGES: dict[str, Callable[[Path], object]] = {
    "nothing": lambda root: root,
    "an edit": lambda root: write_files(root, {"deep/b.py": "b = 2\n"}),
    "a new file": lambda root: write_files(root, {"deep/new.py": ""}),
    "a new folder": lambda root: write_files(root, {"new/new.py": ""}),
    "a file went": lambda root: (root / "deep" / "b.py").unlink(),
    "a folder went": lambda root: shutil.rmtree(root / "deep" / "down"),
    "a folder became a link": folder_replaced_by_link,
    "a file became a link": file_replaced_by_link,
    "another .gitignore": lambda root: write_files(root, {".gitignore": "untracked.py\n*.log\n"}),
    "a .gitignore further down": lambda root: write_files(root, {"deep/.gitignore": "*.py\n", "deep/ignored.py": ""}),
    "a .deltosignore": lambda root: write_files(root, {".deltosignore": "a.py\n"}),
    "an exclude file": lambda root: write_files(root, {".git/info/exclude": "untracked.py\n"}),
    "an ignored file is tracked": lambda root: git(root, "add", "--force", "x.log"),
    "a nested repository": lambda root: make_repository(root / "deep" / "down", {"inner.py": "", ".gitignore": "c.py"}),
}


@pytest.mark.parametrize("change_files", CHANGES.values(), ids=CHANGES.keys())
def test_a_cached_listing_equals_a_new_one(index: ProjectIndex, change_files: Callable[[Path], object]) -> None:
    root = index.project.root
    change_files(root)
    found, anew = list_files(root, index.store), walk(root)
    assert (found.files, found.refused, found.notes) == (anew.files, anew.refused, anew.notes)
    index.index()
    found = list_files(root, index.store)
    assert (found.files, found.repositories) == (anew.files, anew.repositories)


def test_the_users_exclude_file_affects_the_listing(
    index: ProjectIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_files(tmp_path, {"settings/git/ignore": "untracked.py\n"})
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "settings"))
    assert "untracked.py" not in list_files(index.project.root, index.store).files


def test_a_forced_index_lists_everything_again(index: ProjectIndex) -> None:
    root = index.project.root
    write_files(root, {"deep/unseen.py": "u = 1\n"})
    os.utime(root / "deep", ns=(LONG_AGO_NS, LONG_AGO_NS))
    index.index()
    assert "deep/unseen.py" not in index.store.files()
    index.index(force=True)
    assert "deep/unseen.py" in index.store.files()
