"""Fixtures for the graph tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.domains.graph.small_project import SmallProject

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from deltos.isolated.process_pool import ProcessPool


@pytest.fixture
def project(tmp_path: Path, workers: ProcessPool) -> Iterator[SmallProject]:
    """Yield an empty project."""
    project = SmallProject(tmp_path, workers)
    yield project
    project.close()
