"""Line ranges are traced back through the commits of their file, as by `git log -L`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from deltos.domains.history.line_history import Hunk, LineRange, commits_of_lines, lines_before_commit, touches
from tests.domains.history.repositories import commit, create_repository, open_store, read_history
from tests.repositories import git

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from deltos.store.project import ProjectStore


@pytest.mark.parametrize(
    ("hunk", "is_touched", "previous_lines"),
    [
        (Hunk(2, 1, 2, 1), False, (5, 8)),  # a changed line above
        (Hunk(1, 0, 2, 3), False, (2, 5)),  # three new lines above
        (Hunk(2, 2, 1, 0), False, (7, 10)),  # two lines removed above
        (Hunk(9, 1, 9, 1), False, (5, 8)),  # a changed line below
        (Hunk(6, 1, 6, 1), True, (5, 8)),  # a changed line inside
        (Hunk(5, 0, 6, 1), True, (5, 7)),  # a new line inside
        (Hunk(6, 1, 5, 0), True, (5, 9)),  # a line removed inside
        (Hunk(3, 2, 3, 4), True, (3, 6)),  # a change that overlaps the first lines
        (Hunk(4, 0, 5, 4), True, None),  # all lines are new
        (Hunk(0, 0, 1, 20), True, None),  # the file is new
    ],
)
def test_a_hunk_maps_lines_to_the_previous_version_and_detects_changed_lines(
    hunk: Hunk, is_touched: bool, previous_lines: tuple[int, int] | None
) -> None:
    assert touches(LineRange(5, 8), [hunk]) is is_touched
    assert lines_before_commit(LineRange(5, 8), [hunk]) == previous_lines


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = create_repository(tmp_path / "shop")
    commit(root, "one", {"old.py": "a\nb\nc\nd\ne\nf\n"})
    commit(root, "above", {"old.py": "new\na\nb\nc\nd\ne\nf\n"}, day=1)
    commit(root, "inside", {"old.py": "new\na\nb\nC\nd\ne\nf\n"}, day=2)
    git(root, "mv", "old.py", "a.py")
    commit(root, "moved", day=3)
    commit(root, "below", {"a.py": "new\na\nb\nC\nd\ne\nF\n"}, day=4)
    return root


@pytest.fixture
def store(tmp_path: Path, root: Path) -> Iterator[ProjectStore]:
    with open_store(tmp_path / "home", root) as store:
        read_history(store, root)
        yield store


def subjects_of_lines(store: ProjectStore, root: Path, first: int, last: int) -> list[str]:
    """Return the subjects of the commits that changed lines of the file."""
    found = commits_of_lines(store.history, root, "a.py", LineRange(first, last), limit=5)
    assert not found.is_whole_file
    return [row.subject for row in found.commits]


def test_lists_only_commits_that_changed_the_lines_across_renames(root: Path, store: ProjectStore) -> None:
    assert subjects_of_lines(store, root, 3, 5) == ["inside", "one"]
    assert subjects_of_lines(store, root, 7, 7) == ["below", "one"]
    assert subjects_of_lines(store, root, 1, 1) == ["above"]


def test_uncommitted_edits_do_not_affect_line_history(root: Path, store: ProjectStore) -> None:
    (root / "a.py").write_text("1\n2\n3\nnew\na\nb\nC\nd\ne\nF\n")
    assert subjects_of_lines(store, root, 6, 8) == ["inside", "one"]
    (root / "a.py").write_text("1\nnew\na\nb\nedited\nd\ne\nF\nmore\n")
    assert "inside" in subjects_of_lines(store, root, 4, 6)


def test_falls_back_to_commits_of_the_file_without_git(
    root: Path, store: ProjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    found = commits_of_lines(store.history, root, "a.py", LineRange(1, 2), limit=2)
    assert (found.is_whole_file, [row.subject for row in found.commits]) == (True, ["below", "moved"])


def function_source(name: str, lines: int = 8) -> str:
    return "".join([f"def {name}():\n", *(f"    {name}_{number}()\n" for number in range(lines))])


def subjects_of_line_changes(tmp_path: Path, root: Path, path: str, lines: tuple[int, int]) -> list[str]:
    """Return the subjects of commits that changed the lines; fail if only commits of the whole file are known."""
    with open_store(tmp_path / "home", root) as store:
        read_history(store, root)
        found = commits_of_lines(store.history, root, path, LineRange(*lines), limit=5)
    assert not found.is_whole_file
    return [row.subject for row in found.commits]


def test_new_file_with_the_former_name_is_not_confused(tmp_path: Path) -> None:
    root = create_repository(tmp_path / "shop")
    one, two = function_source("one"), function_source("two")
    commit(root, "first", {"old.py": one + two})
    git(root, "mv", "old.py", "a.py")
    commit(root, "moved", day=1)
    commit(root, "another old one", {"old.py": "x = 1\n" * 12}, day=2)
    commit(root, "both", {"old.py": "x = 1\n" * 4 + "y = 2\n" * 4 + "x = 1\n" * 4, "a.py": one + two + "z()\n"}, day=3)
    assert subjects_of_line_changes(tmp_path, root, "a.py", (1, 9)) == ["first"]
    assert subjects_of_line_changes(tmp_path, root, "a.py", (19, 19)) == ["both"]


def test_lines_moved_unchanged_with_their_file_are_not_reported(tmp_path: Path) -> None:
    root = create_repository(tmp_path / "shop")
    one, two = function_source("one"), function_source("two")
    commit(root, "first", {"old.py": one + two})
    commit(root, "inside", {"old.py": one + two.replace("two_3", "three")}, day=1)
    git(root, "mv", "old.py", "a.py")
    commit(root, "moved and edited", {"a.py": "import os\n" + one + two.replace("two_3", "three")}, day=2)
    commit(root, "below", {"a.py": "import os\n" + one + two.replace("two_3", "three") + "z()\n"}, day=3)
    assert subjects_of_line_changes(tmp_path, root, "a.py", (2, 10)) == ["first"]
    assert subjects_of_line_changes(tmp_path, root, "a.py", (11, 19)) == ["inside", "first"]
    assert subjects_of_line_changes(tmp_path, root, "a.py", (1, 1)) == ["moved and edited"]
