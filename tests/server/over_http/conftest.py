"""HTTP servers of toy tools, as real processes."""

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
    """Starts a server of its own for a test that ends or disturbs it."""
    running: list[Served] = []

    def start(*arguments: str, address: str = "127.0.0.1:0", **environ: str) -> Served:
        command = toy_command(manifest_path, str(tmp_path), "--http", address, *arguments)
        running.append(Served(command, tmp_path, **environ))
        return running[-1]

    yield start
    for server in running:
        server.dismiss()


@pytest.fixture(scope="module")
def server(manifest_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One server for all tests of a module, on loopback and without tokens."""
    home = tmp_path_factory.mktemp("home")
    served = Served(toy_command(manifest_path, str(home), "--http", "127.0.0.1:0"), home)
    yield served
    assert served.stop() == 0
    served.dismiss()
