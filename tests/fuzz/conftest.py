"""Fixture: a child process that all tests of a module share."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.fuzz.runner import Runner

# The harness limits its children's memory, which Windows does not support.
collect_ignore_glob = [] if find_spec("resource") else ["test_*.py"]


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runner]:
    """A child process that is replaced when it hangs or dies."""
    from tests.fuzz.runner import Runner  # imported here because it cannot be imported where no tests are collected

    shared = Runner(tmp_path_factory.mktemp("fuzz"))
    yield shared
    shared.close()
