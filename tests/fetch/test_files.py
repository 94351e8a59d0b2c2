"""Local files are read below allowed folders only."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from deltos.errors import AddressRefused, NotFound, SourceError
from deltos.fetch.files import allowed_path, read_file, walk_files

if TYPE_CHECKING:
    from pathlib import Path


def test_a_path_below_a_root_is_allowed(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    assert allowed_path(tmp_path / "docs" / ".." / "docs", [tmp_path]) == (tmp_path / "docs").resolve()


def test_a_path_outside_is_refused_also_through_a_link(tmp_path: Path) -> None:
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


def test_walking_finds_documents_in_order_and_never_leaves_the_folder(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside.md"
    for name in ("b.md", "a.md", "sub/c.md", "node_modules/x.md", ".hidden/y.md", "code.py"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("x")
    outside.write_text("secret")
    (root / "link.md").symlink_to(outside)
    assert [path.relative_to(root).as_posix() for path in walk_files(root.resolve(), {".md"})] == [
        "a.md",
        "b.md",
        "sub/c.md",
    ]
    assert list(walk_files(root / "code.py", {".md"})) == [root / "code.py"]


def test_large_and_vanished_files_are_refused(tmp_path: Path) -> None:
    large = tmp_path / "large.md"
    large.write_text("12345")
    assert read_file(large) == b"12345"
    with pytest.raises(SourceError, match="larger than"):
        read_file(large, 4)
    with pytest.raises(SourceError, match="Cannot read"):
        read_file(tmp_path / "nothing.md")
