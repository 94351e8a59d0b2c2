"""Fixtures: an empty store of each kind, for every engine."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.store.engines import ENGINES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deltos.store.library import LibraryStore
    from deltos.store.observations import Observations
    from deltos.store.project import ProjectStore
    from deltos.store.tokens import TokenRecords
    from deltos.store.workspaces import WorkspaceRecords
    from tests.store.engines import Engine


@pytest.fixture(params=list(ENGINES))
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Engine:
    return ENGINES[request.param](tmp_path / "home")


@pytest.fixture
def library(engine: Engine) -> Iterator[LibraryStore]:
    with closing(engine.library()) as opened:
        yield opened


@pytest.fixture
def observations(engine: Engine) -> Iterator[Observations]:
    with closing(engine.observations()) as opened:
        yield opened


@pytest.fixture
def tokens(engine: Engine) -> Iterator[TokenRecords]:
    with closing(engine.tokens()) as opened:
        yield opened


@pytest.fixture
def workspaces(engine: Engine) -> Iterator[WorkspaceRecords]:
    with closing(engine.workspaces()) as opened:
        yield opened


@pytest.fixture
def project(engine: Engine) -> Iterator[ProjectStore]:
    with closing(engine.projects().store_of(Path("/src/tool"))) as opened:
        yield opened
