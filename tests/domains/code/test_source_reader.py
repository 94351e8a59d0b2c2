"""Answers show the current lines of a file, even if the index is older."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.repositories import write_files

if TYPE_CHECKING:
    from pathlib import Path

    from deltos.app import App
    from deltos.domains.code.model import CodeHit

FIRST = "def increment_amount(value):\n    result = value + 1\n    return result\n"
FILLER = "".join(f"remark_{n} = {n}\n" for n in range(30))
SECOND = "async def double_omega(value):\n    omega = value * 2\n    return omega\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_files(tmp_path / "root", {"a.py": FIRST + FILLER + SECOND, "other.py": "unrelated = 1\n"})


def search_after_changes(app: App, root: Path, query: str, **changes: str) -> list[CodeHit]:
    """Return the hits of a search in files that were changed after they were indexed."""
    index = app.domains.projects.index_of(root)
    index.index()
    write_files(root, {f"{name}.py": text for name, text in changes.items()})
    return list(app.code_search(index).search(query).hits)


def test_a_function_that_moved_is_shown_where_it_is_now(app: App, root: Path) -> None:
    [hit] = search_after_changes(app, root, "double_omega", a="# new\n" * 7 + FIRST + FILLER + SECOND)
    assert (hit.start_line, hit.end_line) == (41, 43)
    assert hit.content == SECOND.rstrip()


def test_a_function_that_changed_is_shown_as_it_is_now_without_its_old_header(app: App, root: Path) -> None:
    changed = "def double_omega(value, other):\n    return other\n"
    [hit] = search_after_changes(app, root, "double_omega", a=FIRST + FILLER + changed)
    assert hit.content == changed.rstrip()
    assert "async" not in hit.content


def test_the_nearest_of_several_chunks_with_the_same_name_is_shown(app: App, root: Path) -> None:
    long = "def double_omega(value):\n" + "".join(f"    omega_{n} = value\n" for n in range(120))
    write_files(root, {"a.py": long})
    hits = search_after_changes(app, root, "omega_99", a="# new\n" + long)
    assert "    omega_99 = value" in hits[0].content
    assert hits[0].content.startswith("def double_omega(value)\n…\n")


def test_deleted_definitions_are_not_shown(app: App, root: Path) -> None:
    assert search_after_changes(app, root, "double_omega", a=FIRST + FILLER) == []


def test_a_file_that_is_deleted_or_no_longer_source_is_not_shown(app: App, root: Path) -> None:
    index = app.domains.projects.index_of(root)
    index.index()
    search = app.code_search(index)
    (root / "a.py").write_bytes(b"\0\0\0")
    assert search.search("double_omega").hits == ()
    (root / "a.py").unlink()
    assert search.search("double_omega").hits == ()


def test_a_file_that_became_a_link_out_of_the_project_is_not_shown(app: App, root: Path, tmp_path: Path) -> None:
    index = app.domains.projects.index_of(root)
    index.index()
    write_files(tmp_path, {"outside.py": SECOND})
    (root / "a.py").unlink()
    (root / "a.py").symlink_to(tmp_path / "outside.py")
    search = app.code_search(index)
    assert search.search("double_omega").hits == ()
    assert search.search('"omega = value"').hits == ()


def test_a_touched_file_is_shown_unchanged(app: App, root: Path) -> None:
    [hit] = search_after_changes(app, root, "double_omega", a=FIRST + FILLER + SECOND)
    assert (hit.start_line, hit.content) == (34, SECOND.rstrip())


def test_long_context_lines_are_truncated(app: App, root: Path) -> None:
    text = FIRST + "WIDE = '" + "x" * 5_000 + "'\n" + FILLER * 2 + SECOND
    hit = search_after_changes(app, root, "increment_amount", a=text)[0]
    assert all(len(line) <= 200 for line in hit.context_after.splitlines())
