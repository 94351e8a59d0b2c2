"""Selection of the files that a search covers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from deltos.domains.code.scope import scope_of
from deltos.errors import BadArgument, NotFound
from deltos.store.code import FileScope
from tests.repositories import write_files

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_files(tmp_path / "root", {"src/deep/a.py": "x", "docs/b.md": "x", ".hidden/c": "x"})


@pytest.mark.parametrize("directory", ["", ".", "./", "src/..", " "])
def test_the_project_root_selects_all_files(root: Path, directory: str) -> None:
    assert scope_of(root, directory, "") == FileScope()


@pytest.mark.parametrize("directory", ["src/deep", "src/deep/", "./src/deep", "docs/../src/deep", " src/deep "])
def test_a_folder_can_be_specified_in_several_notations(root: Path, directory: str) -> None:
    assert scope_of(root, directory, "").folder == "src/deep"


def test_an_absolute_path_inside_the_project_is_accepted(root: Path) -> None:
    assert scope_of(root, str(root / "src"), "").folder == "src"


def test_a_folder_outside_the_project_is_refused(root: Path) -> None:
    (root / "link").symlink_to(root.parent)
    for directory in ("..", "../..", "/etc", "src/../../x", "link"):
        with pytest.raises(BadArgument, match="outside the project"):
            scope_of(root, directory, "")


def test_a_missing_folder_is_an_error_that_lists_folders(root: Path) -> None:
    with pytest.raises(NotFound, match=r"missing, not a folder.*Top-level folders: docs, src\."):
        scope_of(root, "lib", "")
    with pytest.raises(NotFound, match="is a file, not a folder"):
        scope_of(root, "src/deep/a.py", "")
    (root.parent / "empty").mkdir()
    with pytest.raises(NotFound):
        scope_of(root.parent / "empty", "lib", "")


@pytest.mark.parametrize("directory", ["zero\0byte", "x" * 10_000])
def test_an_invalid_path_is_rejected(root: Path, directory: str) -> None:
    with pytest.raises(BadArgument, match="is not a valid path"):
        scope_of(root, directory, "")


@pytest.mark.parametrize(
    ("file_type", "suffixes"),
    [
        ("", ()),
        ("py", (".py",)),
        (".py", (".py",)),
        ("*.py", (".py",)),
        (" PY ", (".py",)),
        ("ts,tsx", (".ts", ".tsx")),
        ("go; rs | kt", (".go", ".rs", ".kt")),
        ("py py", (".py",)),
        ("test.ts", (".test.ts",)),
        ("nonsense", (".nonsense",)),
        ("*", ()),
    ],
)
def test_a_file_type_can_be_specified_in_several_notations(
    root: Path, file_type: str, suffixes: tuple[str, ...]
) -> None:
    assert scope_of(root, "", file_type).suffixes == suffixes


@pytest.mark.parametrize(
    ("file_type", "suffix"),
    [("python", ".pyi"), ("C++", ".hpp"), ("c#", ".cs"), ("golang", ".go"), ("dockerfile", "Dockerfile")],
)
def test_a_language_selects_all_its_file_types(root: Path, file_type: str, suffix: str) -> None:
    assert suffix in scope_of(root, "", file_type).suffixes


@pytest.mark.parametrize("file_type", ["x" * 10_000, "py," * 0 + ",".join(f"t{n}" for n in range(1_000))])
def test_too_many_file_types_are_rejected(root: Path, file_type: str) -> None:
    with pytest.raises(BadArgument, match="file types"):
        scope_of(root, "", file_type)
