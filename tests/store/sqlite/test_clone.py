"""A clone of a file is private and has the same content; without copy-on-write, nothing is created."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.store.sqlite.clone import clone_file

if TYPE_CHECKING:
    from pathlib import Path


def test_a_clone_is_a_private_copy_or_does_not_exist(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_bytes(b"x" * 10_000)
    if clone_file(source, target):
        assert target.read_bytes() == source.read_bytes()
        assert target.stat().st_mode & 0o077 == 0
    else:
        assert not target.exists()


def test_a_missing_file_is_not_cloned(tmp_path: Path) -> None:
    assert not clone_file(tmp_path / "missing", tmp_path / "target")
    assert not (tmp_path / "target").exists()
