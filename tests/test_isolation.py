"""Tests cannot write outside their temporary folder, and default folders are temporary."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from deltos.data_folder import data_folder
from tests.isolation import WroteOutsideTemporaryFolder

CHECKOUT = Path(__file__).resolve().parents[1]


def test_a_write_into_the_checkout_fails_the_test() -> None:
    with pytest.raises(WroteOutsideTemporaryFolder):
        (CHECKOUT / "left-behind.txt").write_text("x")
    with pytest.raises(WroteOutsideTemporaryFolder):
        (CHECKOUT / "left-behind").mkdir()
    assert not (CHECKOUT / "left-behind.txt").exists()


def test_a_write_into_the_temporary_folder_is_allowed(tmp_path: Path) -> None:
    (tmp_path / "file.txt").write_text("x")
    (tmp_path / "file.txt").rename(tmp_path / "renamed.txt")
    assert (tmp_path / "renamed.txt").read_text() == "x"


def test_the_default_data_folder_is_temporary() -> None:
    assert data_folder(os.environ).is_relative_to(tempfile.gettempdir())


def test_child_processes_have_a_temporary_data_folder() -> None:
    code = "import os; from deltos.data_folder import data_folder; print(data_folder(os.environ))"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert Path(printed.strip()).is_relative_to(tempfile.gettempdir())
