"""Other servers that agents can use instead of Deltos: commands to start them and to index a tree."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

INDEX_TIMEOUT_SECONDS = 600


@dataclass(frozen=True, slots=True)
class Peer:
    """Another server. The path of the source tree is the last argument of its two commands."""

    title: str
    example: str
    serving: tuple[str, ...]
    indexing: tuple[str, ...] = ()
    first: tuple[str, ...] = ()  # tools that are called once after the server starts


PEERS = {
    "codegraph": Peer(
        title="CodeGraph",
        example='codegraph_search \'{"query": "Session"}\'',
        serving=("serve", "--mcp", "--path"),
        indexing=("init", "-i"),
    ),
    "codeindex": Peer(
        title="Code Index",
        example='search_code_advanced \'{"pattern": "class Session"}\'',
        serving=("--project-path",),
        first=("build_deep_index",),  # The server does not store the index of symbols on disk.
    ),
}


def index(peer: Peer, program: Sequence[str], tree: Path) -> None:
    """Index a source tree with another server, as its documentation instructs."""
    if peer.indexing:
        command = [*program, *peer.indexing, str(tree)]
        subprocess.run(command, check=True, timeout=INDEX_TIMEOUT_SECONDS, cwd=tree, capture_output=True)
