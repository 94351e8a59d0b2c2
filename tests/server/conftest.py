"""Real server processes with toy tools."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from deltos.server.describe import build_manifest, write_manifest
from tests.server.raw import RawClient, toy_command
from tests.server.toyserver import TOOLS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    StartClient = Callable[..., RawClient]


@pytest.fixture(scope="session")
def manifest_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The manifest of the toy tools."""
    path = tmp_path_factory.mktemp("manifest") / "manifest.json"
    write_manifest(build_manifest(TOOLS, version="1.2.3"), path)
    return path


@pytest.fixture
def start_client(manifest_path: Path, tmp_path: Path) -> Iterator[StartClient]:
    """Return a function that starts a server for a single test."""
    clients: list[RawClient] = []

    def start(*arguments: str, cwd: Path | None = None, **environ: str) -> RawClient:
        client = RawClient(toy_command(manifest_path, *arguments), home=tmp_path, cwd=cwd, **environ)
        clients.append(client)
        return client

    yield start
    for client in clients:
        client.shut_down()


@pytest.fixture(scope="module")
def client(manifest_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RawClient]:
    """A client of a server that all tests of a module share, after its handshake."""
    client = RawClient(toy_command(manifest_path), home=tmp_path_factory.mktemp("home"))
    client.initialize()
    yield client
    assert client.disconnect() == 0
