"""A new worktree reuses the index of another worktree of the same repository, and its index equals a new one."""

from __future__ import annotations

import os
import random
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import deltos
from deltos.app import App
from deltos.config import Config
from deltos.store.sqlite.project import PROJECT_001, PROJECT_002, PROJECT_003
from deltos.store.sqlite.projects import SqliteProjects
from deltos.workspace.projects import Projects
from tests.domains.graph.test_incremental import graph_contents
from tests.repositories import git, make_repository, write_files
from tests.workspace.indexers import TEXTS, TextIndexer, indexed_texts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FILES = {"a.py": "a = 1\n", "folder/b.py": "b = 1\n", "folder/c.py": "c = 1\n"}
PACKAGE = Path(deltos.__file__).parent


@pytest.fixture
def indexer() -> TextIndexer:
    return TextIndexer()


@pytest.fixture
def projects(tmp_path: Path, indexer: TextIndexer) -> Iterator[Projects]:
    stores = SqliteProjects(tmp_path / "home", [PROJECT_001, PROJECT_002, PROJECT_003, TEXTS])
    projects = Projects(stores, [indexer])
    yield projects
    projects.close()


def age_files(root: Path) -> Path:
    """Give the files of a checkout stamps that are older than git's index, as they are seconds after a checkout."""
    for file in root.rglob("*.py"):
        os.utime(file, ns=(0, time.time_ns() - 10**10))
    git(root, "update-index", "--refresh")
    return root


def add_worktree(main: Path, name: str) -> Path:
    """Add a worktree next to the main one."""
    git(main, "worktree", "add", "--quiet", str(main.with_name(name)))
    return age_files(main.with_name(name))


def test_only_files_that_differ_are_read(projects: Projects, indexer: TextIndexer, tmp_path: Path) -> None:
    main = age_files(make_repository(tmp_path / "main", FILES))
    projects.index_of(main).index()
    tree = add_worktree(main, "tree")
    write_files(tree, {"a.py": "a = 'in the worktree'\n", "new.py": "new = 1\n"})
    (tree / "folder/c.py").unlink()
    indexer.extracted.clear()
    projects.index_of(tree).index()
    assert sorted(indexer.extracted) == ["a.py", "new.py"]
    assert indexed_texts(projects.index_of(main)) == FILES
    expected = {"a.py": "a = 'in the worktree'\n", "folder/b.py": "b = 1\n", "new.py": "new = 1\n"}
    assert indexed_texts(projects.index_of(tree)) == expected
    assert projects.index_of(tree).is_complete


def test_a_copied_index_is_not_complete_before_its_files_are_compared(projects: Projects, tmp_path: Path) -> None:
    main = make_repository(tmp_path / "main", FILES)
    projects.index_of(main).index()
    tree = add_worktree(main, "tree")
    assert not projects.index_of(tree).is_complete
    assert [index.root for index in projects.stores.indexed_projects()] == [main]
    assert projects.index_of(tree).freshen().complete
    assert {index.root for index in projects.stores.indexed_projects()} == {main, tree}


def test_an_edit_that_keeps_size_and_time_of_another_worktree_is_read(projects: Projects, tmp_path: Path) -> None:
    main = age_files(make_repository(tmp_path / "main", FILES))
    projects.index_of(main).index()
    tree = add_worktree(main, "tree")
    stamp = (main / "a.py").stat().st_mtime_ns
    (tree / "a.py").write_text("a = 2\n")
    os.utime(tree / "a.py", ns=(0, stamp))
    assert projects.index_of(tree).index().files_written == 1
    assert indexed_texts(projects.index_of(tree))["a.py"] == "a = 2\n"


def test_a_folder_of_a_worktree_reuses_the_index_of_the_same_folder(
    projects: Projects, indexer: TextIndexer, tmp_path: Path
) -> None:
    main = age_files(make_repository(tmp_path / "main", FILES))
    projects.index_of(main / "folder").index()
    tree = add_worktree(main, "tree")
    indexer.extracted.clear()
    projects.index_of(tree / "folder").index()
    assert indexer.extracted == []
    assert indexed_texts(projects.index_of(tree / "folder")) == {"b.py": "b = 1\n", "c.py": "c = 1\n"}


def test_the_index_of_a_removed_worktree_is_deleted(projects: Projects, tmp_path: Path) -> None:
    main = make_repository(tmp_path / "main", FILES)
    removed = add_worktree(main, "removed")
    for root in (main, removed):
        projects.index_of(root).index()
    projects.close()
    git(main, "worktree", "remove", "--force", str(removed))
    projects.index_of(main)
    assert not projects.stores.roots_with_store([removed])


def test_the_index_of_a_worktree_on_a_missing_disk_is_kept(projects: Projects, tmp_path: Path) -> None:
    main = make_repository(tmp_path / "main", FILES)
    unmounted = add_worktree(main, "unmounted")
    for root in (main, unmounted):
        projects.index_of(root).index()
    unmounted.rename(tmp_path / "elsewhere")  # git still lists the worktree
    projects.index_of(add_worktree(main, "next"))
    assert projects.stores.roots_with_store([unmounted])


def create_clone(main: Path) -> Path:
    """Clone the repository and return the clone, which has the same project id."""
    git(main, "clone", "--quiet", str(main), str(main.with_name("clone")))
    return main.with_name("clone")


def create_false_worktree(main: Path) -> Path:
    """Create a folder that looks like a worktree of the repository, but that git does not list, and return it."""
    git(main, "worktree", "add", "--quiet", str(main.with_name("real")))
    false = main.with_name("false")
    shutil.copytree(main.with_name("real"), false)
    return false


@pytest.mark.parametrize("make", [create_clone, create_false_worktree])
def test_folders_without_links_from_git_reuse_nothing(
    projects: Projects, indexer: TextIndexer, tmp_path: Path, make: Callable[[Path], Path]
) -> None:
    main = make_repository(tmp_path / "main", FILES)
    projects.index_of(main).index()
    other = make(main)
    indexer.extracted.clear()
    projects.index_of(other).index()
    assert sorted(indexer.extracted) == sorted(FILES)


@pytest.mark.parametrize("seed", [1, 2])
def test_the_graph_of_a_worktree_equals_a_newly_built_graph(seed: int, tmp_path: Path) -> None:
    source = random.Random(seed)
    files = {
        file.relative_to(PACKAGE).as_posix(): file.read_text() for file in sorted((PACKAGE / "store").glob("*.py"))
    }
    main = age_files(make_repository(tmp_path / "main", {**files, "errors.py": (PACKAGE / "errors.py").read_text()}))
    app = App(Config.from_environment({"DELTOS_HOME": str(tmp_path / "home")}))
    fresh = App(Config.from_environment({"DELTOS_HOME": str(tmp_path / "fresh")}))
    try:
        app.domains.projects.index_of(main).index()
        tree = add_worktree(main, "tree")
        for path in source.sample(sorted(files), 4):
            (tree / path).write_text(files[path].replace("class ", "class Renamed", 1) + "\n\ndef added():\n    pass\n")
        (tree / source.choice(sorted(files))).unlink(missing_ok=True)
        reused, rebuilt = app.domains.projects.index_of(tree), fresh.domains.projects.index_of(tree)
        assert reused.index().files_written <= 4
        rebuilt.index()
        assert graph_contents(reused) == graph_contents(rebuilt)
        git(tree, "commit", "--quiet", "--all", "--message=changed")
        git(tree, "checkout", "--quiet", "--detach", "HEAD~1")
        reused.index()
        assert graph_contents(reused) == graph_contents(app.domains.projects.index_of(main))
    finally:
        app.close()
        fresh.close()
