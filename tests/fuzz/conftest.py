"""The child that all tests of a module share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.fuzz.runner import Runner

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runner]:
    """A child, replaced when it hangs or dies."""
    shared = Runner(tmp_path_factory.mktemp("fuzz"))
    yield shared
    shared.close()
