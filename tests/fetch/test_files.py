"""Local files are read below the allowed folders only."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from deltos.confinement import Confinement, confined
from deltos.errors import AddressRefused, BadArgument, FileRefused, NotFound, SourceError
from deltos.fetch.files import allowed_path, check_unmoved, read_file, walk_files
from deltos.files import FileTree


def test_a_path_below_a_root_is_allowed(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    assert allowed_path(tmp_path / "docs" / ".." / "docs", [tmp_path]) == (tmp_path / "docs").resolve()


def test_a_path_outside_is_refused_even_through_a_link(tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    (inside / "link").symlink_to(outside)
    for path in (outside, inside / "link", inside / ".." / "outside"):
        with pytest.raises(AddressRefused, match="DELTOS_DOCS_ROOTS"):
            allowed_path(path, [inside])


def test_a_missing_path_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        allowed_path(tmp_path / "nothing", [tmp_path])


def test_walking_lists_documents_in_order_and_stays_inside_the_folder(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside.md"
    for name in ("b.md", "a.md", "sub/c.md", "node_modules/x.md", ".hidden/y.md", "code.py"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("x")
    outside.write_text("secret")
    (root / "link.md").symlink_to(outside)
    (root / "folder").symlink_to(tmp_path)
    os.mkfifo(root / "sub" / "pipe.md")
    found = list(walk_files(root.resolve(), {".md"}))
    assert found == ["a.md", "b.md", "folder", "link.md", "sub/c.md", "sub/pipe.md"]
    refused = {path for path in found if not readable_files(root, path)}
    assert refused == {"folder", "link.md", "sub/pipe.md"}  # links are listed so that the reader can report them


def readable_files(root: Path, path: str) -> bool:
    with FileTree(root) as tree:
        return tree.is_file(path)


def test_large_and_missing_files_are_refused(tmp_path: Path) -> None:
    large = tmp_path / "large.md"
    large.write_text("12345")
    assert read_file(large) == b"12345"
    with pytest.raises(SourceError, match="too large"):
        read_file(large, 4)
    with pytest.raises(SourceError, match="missing"):
        read_file(tmp_path / "nothing.md")


@pytest.mark.parametrize("path", ["a\0b", "x" * 5_000, "~nobody-of-that-name/docs", "loop"])
def test_invalid_paths_are_refused_with_a_message(tmp_path: Path, path: str) -> None:
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises((BadArgument, NotFound)):
        allowed_path(tmp_path / path if "~" not in path else Path(path), [tmp_path])


def test_a_path_outside_the_callers_confinement_is_refused(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "other").mkdir()
    with confined(Confinement((tmp_path / "one",))), pytest.raises(AddressRefused):
        allowed_path(tmp_path / "other", [tmp_path])


def test_a_recorded_folder_that_became_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    check_unmoved(tmp_path / "docs")
    (tmp_path / "docs").rename(tmp_path / "moved")
    (tmp_path / "docs").symlink_to("moved")
    with pytest.raises(FileRefused):
        check_unmoved(tmp_path / "docs")
