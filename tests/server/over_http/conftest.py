"""Real HTTP server processes with toy tools."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.server.over_http.served import Served
from tests.server.raw import toy_command

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Serve = Callable[..., Served]


@pytest.fixture
def serve(manifest_path: Path, tmp_path: Path) -> Iterator[Serve]:
    """Return a function that starts a server for a single test."""
    running: list[Served] = []

    def start(*arguments: str, address: str = "127.0.0.1:0", **environ: str) -> Served:
        command = toy_command(manifest_path, str(tmp_path), "--http", address, *arguments)
        running.append(Served(command, tmp_path, **environ))
        return running[-1]

    yield start
    for server in running:
        server.shut_down()


@pytest.fixture(scope="module")
def server(manifest_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server on loopback without tokens that all tests of a module share."""
    home = tmp_path_factory.mktemp("home")
    served = Served(toy_command(manifest_path, str(home), "--http", "127.0.0.1:0"), home)
    yield served
    assert served.stop() == 0
    served.shut_down()
