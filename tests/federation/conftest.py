"""Fixture: the shipping service of the relevance queries, opened once for all tests that only read it."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

import pytest

from deltos.app import App
from deltos.config import Config
from tests.calling import ToolClient
from tests.relevance.parcels import build_parcels

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from deltos.isolated.process_pool import ProcessPool


class Parcels(NamedTuple):
    """The application, the project, and a session in the project."""

    app: App
    root: Path
    client: ToolClient


@pytest.fixture(scope="session")
def parcels(tmp_path_factory: pytest.TempPathFactory, workers: ProcessPool) -> Iterator[Parcels]:
    """The shipping service with all its documents, APIs and observations."""
    folder = tmp_path_factory.mktemp("federation")
    with closing(App(Config(folder / "home"), workers=workers)) as app:
        root = build_parcels(app, folder / "parcels")
        yield Parcels(app, root, ToolClient(app.tools(), root))
