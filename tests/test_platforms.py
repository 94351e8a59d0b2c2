"""Tests that need POSIX features are detected, and no test is skipped on Linux."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.platforms import is_missing, posix_names


def test_posix_names_are_detected_anywhere_in_a_test() -> None:
    def without_posix_names() -> None:
        assert os.environ

    def with_named_pipe() -> None:
        os.mkfifo("pipe")

    def with_nested_posix_names() -> None:
        subprocess.run(["true"], preexec_fn=lambda: print(os.geteuid()))

    assert [posix_names(test) for test in (without_posix_names, with_named_pipe, with_nested_posix_names)] == [
        [],
        ["mkfifo"],
        ["geteuid", "preexec_fn"],
    ]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux requires all programs")
def test_a_missing_program_is_never_optional_on_linux() -> None:
    assert not is_missing("no-such-program")
