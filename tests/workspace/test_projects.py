"""The projects of a process, found by folder or by identity."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from deltos.errors import BadArgument, NotFound
from deltos.store.sqlite.database import move_aside
from deltos.store.sqlite.project import PROJECT_001, PROJECT_002, PROJECT_003
from deltos.store.sqlite.projects import SqliteProjects
from deltos.workspace.projects import Projects
from tests.files_of import project_database
from tests.repositories import git, make_repository, write_files
from tests.workspace.indexers import TEXTS, TextIndexer, indexed_texts

if TYPE_CHECKING:
    from collections.abc import Iterator

FILES = {"a.py": "a = 1\n"}


@pytest.fixture
def projects(tmp_path: Path) -> Iterator[Projects]:
    # the folder name contains characters that are special in URLs
    stores = SqliteProjects(tmp_path / "ho?me #1%41", [PROJECT_001, PROJECT_002, PROJECT_003, TEXTS])
    projects = Projects(stores, [TextIndexer()])
    yield projects
    projects.close()


def make_project(root: Path, remote: str) -> Path:
    make_repository(root, FILES)
    git(root, "remote", "add", "origin", remote)
    return root


def test_a_project_is_opened_once(projects: Projects, tmp_path: Path) -> None:
    root = write_files(tmp_path / "root", FILES)
    (tmp_path / "link").symlink_to("root")
    assert projects.index_of(root) is projects.index_of(tmp_path / "link") is projects.index_of(root / ".." / "root")


def test_folders_with_the_same_name_have_separate_indexes(projects: Projects, tmp_path: Path) -> None:
    one = write_files(tmp_path / "one" / "tool", {"a.py": "one = 1\n"})
    two = write_files(tmp_path / "two" / "tool", {"a.py": "two = 2\n"})
    for root in (one, two):
        projects.index_of(root).index()
    assert indexed_texts(projects.index_of(one)) == {"a.py": "one = 1\n"}
    assert indexed_texts(projects.index_of(two)) == {"a.py": "two = 2\n"}
    assert project_database(projects.index_of(one)).path.name.startswith("tool-")


def test_each_worktree_has_its_own_index(projects: Projects, tmp_path: Path) -> None:
    main = make_project(tmp_path / "main", "https://example.org/team/tool")
    git(main, "worktree", "add", "--quiet", str(tmp_path / "tree"))
    write_files(tmp_path / "tree", {"a.py": "a = 'in the worktree'\n"})
    for root in (main, tmp_path / "tree"):
        projects.index_of(root).index()
    assert indexed_texts(projects.index_of(main)) == FILES
    assert indexed_texts(projects.index_of(tmp_path / "tree"))["a.py"] == "a = 'in the worktree'\n"
    assert {index.project_id for index in projects.stores.indexed_projects()} == {"example.org/team/tool"}


def test_a_project_is_found_by_its_id_from_anywhere(projects: Projects, tmp_path: Path) -> None:
    root = make_project(tmp_path / "root", "https://example.org/team/tool")
    elsewhere = write_files(tmp_path / "elsewhere", FILES)
    projects.index_of(root).index()
    assert projects.find("example.org/team/tool", elsewhere) is projects.index_of(root)
    assert projects.find("example.org/team/tool", tmp_path / "missing") is projects.index_of(root)
    assert projects.find("", elsewhere) is projects.index_of(elsewhere)


def test_the_sessions_project_takes_precedence_over_others_with_the_same_id(projects: Projects, tmp_path: Path) -> None:
    roots = [make_project(tmp_path / name, "https://example.org/team/tool") for name in ("one", "two")]
    projects.index_of(roots[0]).index()
    assert projects.find("example.org/team/tool", roots[1]) is projects.index_of(
        roots[1]
    )  # the project of the session is found although it is not indexed yet
    projects.index_of(roots[1]).index()
    assert projects.find("example.org/team/tool", roots[0]) is projects.index_of(roots[0])
    assert projects.find("example.org/team/tool", tmp_path) is projects.index_of(
        roots[1]
    )  # the most recently indexed project


def test_an_unknown_id_is_an_error_that_lists_known_projects(projects: Projects, tmp_path: Path) -> None:
    root = make_project(tmp_path / "root", "https://example.org/team/tool")
    with pytest.raises(NotFound, match="index_repository first"):
        projects.find("example.org/other", tmp_path)
    projects.index_of(root).index()
    with pytest.raises(NotFound, match=r"Known: root\."):
        projects.find("example.org/other", tmp_path)


def test_a_project_whose_folder_was_deleted_is_not_found(projects: Projects, tmp_path: Path) -> None:
    root = make_project(tmp_path / "root", "https://example.org/team/tool")
    projects.index_of(root).index()
    root.rename(tmp_path / "moved")
    with pytest.raises(NotFound):
        projects.find("example.org/team/tool", tmp_path)


@pytest.mark.parametrize("folder", [Path("/"), Path.home()])
def test_the_home_folder_and_the_root_folder_are_not_projects(projects: Projects, folder: Path) -> None:
    with pytest.raises(BadArgument, match="is not a project"):
        projects.index_of(folder)


def test_known_indexes_are_listed_with_their_projects(projects: Projects, tmp_path: Path) -> None:
    roots = [write_files(tmp_path / name, FILES) for name in ("one", "two")]
    for root in roots:
        projects.index_of(root).index()
    known = projects.stores.indexed_projects()
    assert [index.root for index in known] == [roots[1], roots[0]]
    assert [index.files for index in known] == [1, 1]
    assert known[0].location == str(project_database(projects.index_of(roots[1])).path)


def test_unfinished_and_damaged_indexes_are_left_out_of_the_list(projects: Projects, tmp_path: Path) -> None:
    projects.index_of(write_files(tmp_path / "unfinished", FILES))
    (tmp_path / "ho?me #1%41" / "projects" / "damaged.db").write_bytes(b"garbage" * 999)
    assert projects.stores.indexed_projects() == []
    assert SqliteProjects(tmp_path / "nowhere").indexed_projects() == []


def test_an_index_is_named_after_its_folder_and_never_escapes_the_data_folder() -> None:
    path = SqliteProjects(Path("/home")).path
    assert path(Path("/src/my tool")).name.startswith("my-tool-")
    assert path(Path("/")).name.startswith("root-")
    assert len(path(Path("/" + "x" * 300)).name) < 70
    assert path(Path("/src/tool")) != path(Path("/lib/tool"))


def test_an_open_index_that_is_removed_is_rebuilt_by_the_next_answer(projects: Projects, tmp_path: Path) -> None:
    index = projects.index_of(write_files(tmp_path / "root", FILES))
    path = project_database(index).path

    def read_texts() -> dict[str, str]:
        return index.answer(lambda _: indexed_texts(index))

    with ThreadPoolExecutor(1) as elsewhere:
        assert read_texts() == elsewhere.submit(read_texts).result() == FILES
        for take_away in (lambda: projects.stores.remove(index.project.root), lambda: move_aside(path)):
            take_away()
            assert elsewhere.submit(read_texts).result() == read_texts() == FILES
        assert path.exists()
        projects.stores.remove(index.project.root)
    with ThreadPoolExecutor(1) as newcomer:  # the first connection would create an empty file
        assert newcomer.submit(index.store.file_count).result() == 0
    assert read_texts() == FILES
    assert path.with_suffix(".lock").exists()  # otherwise two processes could index at once
