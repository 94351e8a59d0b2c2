"""Which tests need what only some systems have, and that none is skipped on Linux for it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.platforms import lacks, posix_names


def test_what_only_posix_has_is_seen_wherever_a_test_uses_it() -> None:
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
