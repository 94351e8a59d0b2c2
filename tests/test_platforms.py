"""Tests that need POSIX are marked, and none is skipped on Linux."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.platforms import lacks, posix_names


def test_posix_names_are_detected_anywhere_in_a_test() -> None:
    def plain() -> None:
        assert os.environ

    def piped() -> None:
        os.mkfifo("pipe")

    def nested() -> None:
        subprocess.run(["true"], preexec_fn=lambda: print(os.geteuid()))

    assert [posix_names(test) for test in (plain, piped, nested)] == [[], ["mkfifo"], ["geteuid", "preexec_fn"]]


@pytest.mark.skipif(sys.platform != "linux", reason="Linux has everything")
def test_nothing_may_be_lacking_on_linux() -> None:
    assert not lacks("no-such-program")
