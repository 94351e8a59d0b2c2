"""Listing of the files of a project."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import pytest

from deltos.files import FileTree
from deltos.workspace.walk import Stamp, folder_mtime_ns, is_newer, is_racy, stamp, walk
from tests.repositories import git, make_repository, write_files

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    MakeProject = Callable[[Path, dict[str, str | bytes]], Path]

LONG_AGO = 1_600_000_000


@pytest.fixture(params=["git", "no git"])
def make_project(request: pytest.FixtureRequest) -> MakeProject:
    """Return a function that makes a project, once in a git repository and once outside."""
    return make_repository if request.param == "git" else write_files


def names(root: Path) -> set[str]:
    return set(walk(root).files)


def test_all_files_are_found_with_their_stamps(tmp_path: Path, make_project: MakeProject) -> None:
    root = make_project(tmp_path, {"a.py": "12345", "deep/er/b.py": "1"})
    found = walk(root)
    assert set(found.files) == {"a.py", "deep/er/b.py"}
    assert found.files["a.py"] == Stamp(5, (root / "a.py").stat().st_mtime_ns)


def test_nested_gitignore_files_apply_below_their_folder(tmp_path: Path, make_project: MakeProject) -> None:
    root = make_project(
        tmp_path,
        {
            ".gitignore": "*.log\n/build/\n",
            "a.log": "x",
            "build/out.py": "x",
            "deep/.gitignore": "secret.py\n!kept.log\n",
            "deep/secret.py": "x",
            "deep/kept.log": "x",
            "deep/other.log": "x",
            "deep/build/in.py": "x",
            "secret.py": "x",
        },
    )
    assert names(root) == {".gitignore", "deep/.gitignore", "deep/kept.log", "deep/build/in.py", "secret.py"}


def test_untracked_files_are_listed_and_deleted_ones_are_not(tmp_path: Path) -> None:
    root = make_repository(tmp_path, {"tracked.py": "x", "deleted.py": "x"})
    write_files(root, {"new.py": "x"})
    (root / "deleted.py").unlink()
    assert names(root) == {"tracked.py", "new.py"}


def test_deltosignore_excludes_tracked_files_too(tmp_path: Path, make_project: MakeProject) -> None:
    root = make_project(
        tmp_path,
        {
            ".deltosignore": "# fixtures are no code\nfixtures/\n*.gen.py\n!kept.gen.py\n",
            "fixtures/a.py": "x",
            "deep/fixtures/b.py": "x",
            "a.gen.py": "x",
            "kept.gen.py": "x",
            "a.py": "x",
        },
    )
    assert names(root) == {".deltosignore", "a.py", "kept.gen.py"}


def test_a_nested_deltosignore_overrides_outer_ones(tmp_path: Path, make_project: MakeProject) -> None:
    root = make_project(
        tmp_path,
        {
            ".deltosignore": "*.sql\n",
            "[id]/.deltosignore": "# a folder named like a pattern\n!kept.sql\n/top.py\nany.py\nsub/x.py\n/\n\n",
            "[id]/kept.sql": "x",
            "[id]/lost.sql": "x",
            "[id]/top.py": "x",
            "[id]/deep/top.py": "x",
            "[id]/deep/any.py": "x",
            "[id]/sub/x.py": "x",
            "i/top.py": "x",
            "any.py": "x",
        },
    )
    assert {name for name in names(root) if "ignore" not in name} == {
        "[id]/kept.sql",
        "[id]/deep/top.py",
        "i/top.py",
        "any.py",
    }


def test_a_deltosignore_that_git_ignores_still_applies(tmp_path: Path) -> None:
    root = make_repository(tmp_path, {".gitignore": ".deltosignore\n", "a.py": "x", "b.py": "x"})
    write_files(root, {".deltosignore": "b.py\n"})
    assert names(root) == {".gitignore", "a.py"}


def test_links_are_refused_and_counted(tmp_path: Path, make_project: MakeProject) -> None:
    outside = write_files(tmp_path / "outside", {"secret.py": "x"})
    root = write_files(tmp_path / "root", {"a.py": "x", "deep/b.py": "x"})
    (root / "to-file.py").symlink_to(outside / "secret.py")
    (root / "to-folder").symlink_to(outside)
    (root / "deep" / "loop").symlink_to("..")
    (root / "dangling.py").symlink_to("nowhere")
    make_project(root, {})
    found = walk(root)
    assert set(found.files) == {"a.py", "deep/b.py"}
    assert found.refused == {"symlink": 4}


def test_pipes_are_refused_and_counted(tmp_path: Path) -> None:
    write_files(tmp_path, {"a.py": "x"})
    os.mkfifo(tmp_path / "pipe.py")
    found = walk(tmp_path)
    assert set(found.files) == {"a.py"}
    assert found.refused == {"not a file": 1}


def test_names_that_are_not_unicode_are_refused_and_counted(tmp_path: Path, make_project: MakeProject) -> None:
    write_files(tmp_path, {"a.py": "x", "größe/日本.py": "x"})
    folder = os.fsdecode(b"caf\xe9")
    root = make_project(tmp_path, {f"{folder}/b.py": "x", os.fsdecode(b"\xff.py"): "x"})
    found = walk(root)
    assert set(found.files) == {"a.py", "größe/日本.py"}
    assert found.refused == {"name is not unicode": 2}
    assert set(found.folders) == {"", "größe"}


@pytest.mark.parametrize("folder", ["node_modules", ".venv", "__pycache__", "web/node_modules"])
def test_third_party_folders_are_skipped_without_an_ignore_rule(
    tmp_path: Path, make_project: MakeProject, folder: str
) -> None:
    root = make_project(tmp_path, {"a.py": "x", f"{folder}/b.py": "x", "node_modules.py": "x"})
    assert names(root) == {"a.py", "node_modules.py"}


def test_a_virtual_environment_of_any_name_is_skipped(tmp_path: Path, make_project: MakeProject) -> None:
    root = make_project(tmp_path, {"a.py": "x", "env/pyvenv.cfg": "x", "env/lib/b.py": "x", "pyvenv.cfg": "x"})
    assert names(root) == {"a.py", "pyvenv.cfg"}


def test_submodules_and_nested_repositories_are_listed(tmp_path: Path) -> None:
    library = make_repository(tmp_path / "library", {"lib.py": "x", ".gitignore": "*.tmp\n"})
    root = make_repository(tmp_path / "root", {"a.py": "x"})
    for place in ("vendor/lib.js", "plain"):
        git(root, "submodule", "--quiet", "add", str(library), place)
    git(root, "commit", "--quiet", "--message=submodules")
    nested = make_repository(root / "nested", {"n.py": "x", ".gitignore": "ignored.py\n"})
    write_files(nested, {"ignored.py": "x", "new.py": "x"})
    expected = {f"{place}/{name}" for place in ("vendor/lib.js", "plain") for name in ("lib.py", ".gitignore")}
    assert names(root) == {"a.py", ".gitmodules", "nested/n.py", "nested/new.py", "nested/.gitignore"} | expected


def test_a_submodule_that_is_not_checked_out_is_skipped(tmp_path: Path) -> None:
    library = make_repository(tmp_path / "library", {"lib.py": "x"})
    root = make_repository(tmp_path / "root", {"a.py": "x"})
    git(root, "submodule", "--quiet", "add", str(library), "lib")
    git(root, "commit", "--quiet", "--message=submodule")
    git(tmp_path, "clone", "--quiet", str(root), "copy")
    assert names(tmp_path / "copy") == {"a.py", ".gitmodules"}


def test_a_folder_that_its_repository_ignores_is_scanned(tmp_path: Path) -> None:
    make_repository(tmp_path, {".gitignore": "scratch/\n", "a.py": "x"})
    root = write_files(tmp_path / "scratch", {"b.py": "x", "deep/c.py": "x"})
    assert names(root) == {"b.py", "deep/c.py"}


def test_listing_a_repository_runs_none_of_its_programs(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "root", {"a.py": "x"})
    program = write_files(tmp_path, {"spy": f"#!/bin/sh\ntouch {tmp_path}/ran\n"}) / "spy"
    program.chmod(0o755)
    git(root, "config", "core.fsmonitor", str(program))
    assert names(root) == {"a.py"}
    assert not (tmp_path / "ran").exists()


def test_git_variables_of_another_repository_are_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = make_repository(tmp_path / "mine", {"mine.py": "x"})
    other = make_repository(tmp_path / "other", {"other.py": "x"})
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other / ".git" / "index"))
    assert names(mine) == {"mine.py"}


def test_a_file_in_conflict_is_listed_once(tmp_path: Path) -> None:
    root = make_repository(tmp_path, {"a.py": "1\n"})
    git(root, "checkout", "--quiet", "-b", "other")
    for branch, text in (("other", "2\n"), ("main", "3\n")):
        git(root, "checkout", "--quiet", branch)
        write_files(root, {"a.py": text})
        git(root, "commit", "--quiet", "--all", f"--message={branch}")
    with pytest.raises(Exception, match="merge"):
        git(root, "merge", "other")
    assert list(walk(root).files) == ["a.py"]


def make_old(root: Path) -> None:
    """Set timestamps of several years ago on every folder."""
    for folder, _, _ in os.walk(root, topdown=False):
        os.utime(folder, (LONG_AGO, LONG_AGO + 0.5))


def test_all_folders_that_may_get_files_are_recorded(tmp_path: Path, make_project: MakeProject) -> None:
    root = make_project(tmp_path, {"a.py": "x", "src/b.py": "x", ".gitignore": "*.log\n/out/\n"})
    for folder in ("empty/inside", "src/empty", "logs", "out/deep", "node_modules/x"):
        (root / folder).mkdir(parents=True)
    write_files(root, {"logs/a.log": "x"})
    make_old(root)
    folders = walk(root).folders
    assert set(folders) == {"", "src", "empty", "empty/inside", "src/empty", "logs"}
    assert all(folder_mtime_ns(f"{root}/{folder}") == mtime_ns for folder, mtime_ns in folders.items())


def test_the_stamp_of_a_recently_changed_folder_is_not_trusted(tmp_path: Path, make_project: MakeProject) -> None:
    root = make_project(tmp_path, {"old/a.py": "x", "new/b.py": "x"})
    make_old(root)
    write_files(root, {"new/c.py": "x"})
    folders = walk(root).folders
    assert folders["old"] != 0
    assert folders["new"] == 0


def test_the_stamp_of_a_folder_in_the_future_is_trusted(tmp_path: Path) -> None:
    write_files(tmp_path, {"a.py": "x"})
    future = time.time() + 10_000
    os.utime(tmp_path, (future, future))
    assert walk(tmp_path).folders[""] == tmp_path.stat().st_mtime_ns


def test_a_missing_folder_has_no_timestamp() -> None:
    assert folder_mtime_ns("/nowhere/at/all") == -1


def test_only_regular_files_have_a_stamp(tmp_path: Path) -> None:
    write_files(tmp_path, {"a.py": "abc"})
    (tmp_path / "link").symlink_to("a.py")
    with FileTree(tmp_path) as tree:
        assert stamp(tree, "a.py") == Stamp(3, (tmp_path / "a.py").stat().st_mtime_ns)
        assert [stamp(tree, name) for name in ("link", "missing", "", "zero\0byte")] == [None] * 4


@pytest.mark.parametrize(
    ("mtime_ns", "seen_at_ns", "is_too_recent"),
    [
        (1_000_000_001, 1_000_000_001, True),
        (1_000_000_001, 1_040_000_000, True),
        (1_000_000_001, 1_060_000_000, False),
        (1_000_000_000, 2_900_000_000, True),
        (1_000_000_000, 3_100_000_000, False),
    ],
)
def test_a_stamp_within_the_clock_resolution_is_not_reliable(
    mtime_ns: int, seen_at_ns: int, is_too_recent: bool
) -> None:
    assert is_racy(mtime_ns, seen_at_ns) is is_too_recent


def test_an_unreadable_folder_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_files(tmp_path, {"a.py": "x", "locked/b.py": "x"})
    scandir = os.scandir

    def refuse(folder: int) -> object:
        if os.path.realpath(f"/proc/self/fd/{folder}").endswith("locked"):
            raise PermissionError
        return scandir(folder)

    monkeypatch.setattr(os, "scandir", refuse)  # root ignores permissions, so the error is simulated
    found = walk(tmp_path)
    assert set(found.files) == {"a.py"}
    assert found.refused == {"unreadable": 1}


def test_a_change_time_in_the_future_is_not_treated_as_newer() -> None:
    now = time.time_ns()
    assert is_newer(now - 10, seen_at_ns=now - 20)
    assert not is_newer(now - 20, seen_at_ns=now - 10)
    assert not is_newer(now + 10**12, seen_at_ns=now)  # the clock of another machine
    assert not is_newer(now, seen_at_ns=0)  # the time could not be read
