"""Other servers that agents can be given instead of Deltos: how they are started, and how they index a tree."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

INDEX_SECONDS = 600


@dataclass(frozen=True, slots=True)
class Peer:
    """A server of somebody else; the tree's path follows the arguments of both commands."""

    title: str
    example: str
    serving: tuple[str, ...]
    indexing: tuple[str, ...] = ()
    first: tuple[str, ...] = ()  # tools that a started server needs to be called before others answer


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
        first=("build_deep_index",),  # it does not keep its index of symbols
    ),
}


def index(peer: Peer, program: Sequence[str], tree: Path) -> None:
    """Let a peer index a tree, as its own instructions say."""
    if peer.indexing:
        command = [*program, *peer.indexing, str(tree)]
        subprocess.run(command, check=True, timeout=INDEX_SECONDS, cwd=tree, capture_output=True)
