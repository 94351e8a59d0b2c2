"""A configuration file is replaced atomically, and its old content is kept."""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING

import pytest

from deltos.clients import config_files
from deltos.errors import BadConfiguration, StoreUnwritable

if TYPE_CHECKING:
    from pathlib import Path


def test_each_replacement_keeps_a_backup_in_the_same_folder(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text("1")
    backups = [config_files.replace(config_files.read(path), content) for content in (b"2", b"3")]
    assert path.read_text() == "3"
    assert [backup.read_text() for backup in backups if backup] == ["1", "2"]


def test_a_new_file_is_made_with_its_folders_and_has_no_backup(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "settings.json"
    assert config_files.replace(config_files.read(path), b"{}") is None
    assert path.read_bytes() == b"{}"
    assert [*path.parent.iterdir()] == [path]


def test_file_mode_and_symbolic_links_are_kept(tmp_path: Path) -> None:
    real = tmp_path / "dotfiles" / "settings.json"
    real.parent.mkdir()
    real.write_text("1")
    real.chmod(0o640)
    link = tmp_path / "settings.json"
    link.symlink_to(real)
    backup = config_files.replace(config_files.read(link), b"2")
    assert link.is_symlink()
    assert real.read_text() == "2"
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert backup is not None
    assert stat.S_IMODE(backup.stat().st_mode) == 0o640


def test_concurrent_changes_by_other_programs_are_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text("1")
    original = config_files.read(path)
    path.write_text("theirs")
    with pytest.raises(StoreUnwritable, match="changed during the edit"):
        config_files.replace(original, b"ours")
    assert path.read_text() == "theirs"
    assert not [*tmp_path.glob(".settings.json.*")]


def test_a_byte_order_mark_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_bytes(b"\xef\xbb\xbf{}")
    original = config_files.read(path)
    assert original.text == "{}"
    assert original.encode("[]") == b"\xef\xbb\xbf[]"


def test_other_encodings_and_folders_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_bytes("{}".encode("utf-16"))
    with pytest.raises(BadConfiguration, match="byte 0 is not UTF-8"):
        _ = config_files.read(path).text
    with pytest.raises(BadConfiguration, match="cannot be read"):
        config_files.read(tmp_path)


def test_an_unwritable_file_is_an_error_with_a_hint(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreUnwritable, match="could not be written"):
        config_files.replace(config_files.Original(tmp_path / "file" / "settings.json", None), b"{}")
