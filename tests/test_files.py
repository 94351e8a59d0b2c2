"""Safe reading of untrusted files."""

from __future__ import annotations

import os
import socket
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltos.errors import FileRefused
from deltos.files import (
    HAS_DESCRIPTOR_WALK,
    LINK,
    MAX_DEPTH,
    MISSING,
    NOT_A_PATH,
    NOT_REGULAR,
    TOO_DEEP,
    TOO_LARGE,
    FileTree,
    read_below,
    read_own,
)
from tests.repositories import write_files

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(params=[True, False] if HAS_DESCRIPTOR_WALK else [False], ids=lambda on: "walk" if on else "look")
def by_descriptor(request: pytest.FixtureRequest) -> bool:
    """Both implementations: folder descriptors, and a check of each path component as on Windows."""
    return bool(request.param)


@pytest.fixture
def tree(tmp_path: Path, by_descriptor: bool) -> FileTree:
    root = write_files(tmp_path / "root", {"a.txt": "12345", "deep/er/b.txt": "b", "deep/c.txt": "c"})
    write_files(tmp_path / "outside", {"secret.txt": "secret", "er/b.txt": "secret"})
    return FileTree(root, by_descriptor=by_descriptor)


def open_descriptors() -> set[str]:
    return {entry.name for entry in os.scandir("/proc/self/fd")}


def refusal_reason(tree: FileTree, path: str) -> str:
    with pytest.raises(FileRefused) as refused:
        tree.read(path, 100)
    return refused.value.reason


def test_files_at_any_depth_are_read(tree: FileTree) -> None:
    with tree:
        assert [tree.read(path, 5) for path in ("a.txt", "deep/er/b.txt", "deep/c.txt")] == [b"12345", b"b", b"c"]


def test_a_file_above_the_size_limit_is_refused_or_truncated(tree: FileTree) -> None:
    with tree:
        assert tree.read_head("a.txt", 4) == b"1234"
        with pytest.raises(FileRefused, match=TOO_LARGE):
            tree.read("a.txt", 4)


def test_a_sparse_file_of_terabytes_is_refused_quickly(tree: FileTree, tmp_path: Path) -> None:
    with (tmp_path / "root" / "sparse").open("wb") as file:
        file.truncate(1 << 40)
    assert refusal_reason(tree, "sparse") == TOO_LARGE


def test_no_link_in_a_path_is_followed(tree: FileTree, tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    (root / "file").symlink_to(outside / "secret.txt")
    (root / "inside").symlink_to("a.txt")
    (root / "folder").symlink_to(outside)
    (root / "zero").symlink_to("/dev/zero")
    (root / "loop").symlink_to("loop")
    for path in ("file", "inside", "folder/secret.txt", "zero", "loop", "loop/x"):
        assert refusal_reason(tree, path) == LINK
    assert tree.status("file").st_size == len(str(outside / "secret.txt"))  # the size of the link itself
    with pytest.raises(FileRefused, match=LINK):
        tree.entries("folder")
    assert not tree.is_file("folder/secret.txt")
    assert not tree.is_folder("folder")


def test_a_folder_replaced_by_a_link_during_the_walk_is_not_followed(tree: FileTree, tmp_path: Path) -> None:
    root = tmp_path / "root"
    assert tree.read("deep/c.txt", 5) == b"c"
    tree.close()
    (root / "deep").rename(root / "moved")
    (root / "deep").symlink_to(tmp_path / "outside")
    assert refusal_reason(tree, "deep/er/b.txt") == LINK


@pytest.mark.parametrize(
    "path", ["", ".", "..", "../outside/secret.txt", "/etc/passwd", "deep/../a.txt", "deep//c.txt", "a\0b", "deep/"]
)
def test_a_path_that_could_leave_the_root_is_refused(tree: FileTree, path: str) -> None:
    assert refusal_reason(tree, path) == NOT_A_PATH


def test_pipes_sockets_devices_and_folders_are_refused_immediately(tree: FileTree, tmp_path: Path) -> None:
    root = tmp_path / "root"
    os.mkfifo(root / "pipe")
    with closing(socket.socket(socket.AF_UNIX)) as listening:
        folder = os.open(root, os.O_RDONLY)
        listening.bind(f"/proc/self/fd/{folder}/socket")
        os.close(folder)
        assert [refusal_reason(tree, name) for name in ("pipe", "socket", "deep")] == [NOT_REGULAR] * 3
    with pytest.raises(FileRefused, match=NOT_REGULAR):
        read_below("/dev", "zero", 10)


def test_a_nonexistent_path_is_missing(tree: FileTree) -> None:
    assert [refusal_reason(tree, path) for path in ("x", "x/y", "a.txt/x", "n" * 5_000)] == [MISSING] * 4


def test_folders_below_the_maximum_depth_are_not_read(tree: FileTree) -> None:
    assert refusal_reason(tree, "/".join(["d"] * MAX_DEPTH) + "/x") == TOO_DEEP


def test_a_folder_listing_is_sorted_by_name_and_has_types(tree: FileTree, tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "link").symlink_to("deep")
    os.mkfifo(root / "pipe")
    with tree:
        kinds = {e.name: (e.is_folder, e.is_file, e.is_link) for e in tree.entries()}
        assert [entry.name for entry in tree.entries("deep")] == ["c.txt", "er"]
        assert tree.listing("deep")[0].st_mtime_ns == (root / "deep").stat().st_mtime_ns
    assert kinds == {
        "a.txt": (False, True, False),
        "deep": (True, False, False),
        "link": (False, False, True),
        "pipe": (False, False, False),
    }


def test_the_root_or_a_file_named_by_the_user_may_be_a_link(tmp_path: Path) -> None:
    write_files(tmp_path / "real", {"a.txt": "a"})
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "dotfile").symlink_to("real/a.txt")
    assert read_below(tmp_path / "link", "a.txt", 5) == b"a"
    assert read_own(tmp_path / "dotfile", 5) == b"a"
    with pytest.raises(FileRefused, match=MISSING):
        read_own(tmp_path / "nothing", 5)


def test_no_descriptor_stays_open(tmp_path: Path) -> None:
    write_files(tmp_path, {f"d{n}/e/f.txt": "x" for n in range(20)})
    before = open_descriptors()
    with FileTree(tmp_path) as tree:
        for n in range(20):
            tree.read(f"d{n}/e/f.txt", 5)
            with pytest.raises(FileRefused):
                tree.read(f"d{n}/e/missing", 5)
    assert open_descriptors() == before


@given(st.text(st.sampled_from("ab./\0\\~:"), max_size=12))
def test_no_path_leaves_the_root(tmp_path_factory: pytest.TempPathFactory, path: str) -> None:
    folder = tmp_path_factory.getbasetemp() / "leaving"
    root = folder / "a" / "b"
    if not root.exists():
        root.mkdir(parents=True)
        write_files(folder, {"b": "outside", "a/a": "outside"})
    with FileTree(root) as tree:
        assert refusal_reason(tree, path) in (MISSING, NOT_A_PATH, NOT_REGULAR)
