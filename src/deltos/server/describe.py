"""Generates `manifest.json` from the tool definitions and the SDK: `python -P -m deltos.server.describe`."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from deltos import __version__
from deltos.config import Config
from deltos.server.manifest import MANIFEST_PATH, SERVER_NAME, SERVER_TITLE, Manifest
from deltos.server.protocol import capabilities, protocol_versions
from deltos.server.toolbox import open_toolbox

if TYPE_CHECKING:
    from collections.abc import Iterable

    from deltos.tool import JsonObject, Tool


def build_manifest(tools: Iterable[Tool], *, version: str) -> JsonObject:
    """Return the manifest of `tools`, including the SDK's protocol versions and capabilities."""
    handshake_versions, modern_versions = protocol_versions()
    document: JsonObject = {
        "server_info": {"name": SERVER_NAME, "title": SERVER_TITLE, "version": version},
        "handshake_versions": handshake_versions,
        "modern_versions": modern_versions,
        "tools": [{"toolset": tool.toolset, "listing": tool.listing()} for tool in tools],
    }
    handshake, modern = capabilities(Manifest(document, ()))
    return {**document, "capabilities": handshake, "modern_capabilities": modern}


def write_manifest(document: JsonObject, path: Path = MANIFEST_PATH) -> None:
    """Write a manifest to `path`."""
    path.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def main(path: Path = MANIFEST_PATH) -> None:
    """Write the manifest of all tools."""
    with TemporaryDirectory() as home:
        toolbox = open_toolbox(Config(Path(home)))
        write_manifest(build_manifest(toolbox.tools, version=__version__), path)
        toolbox.close()


if __name__ == "__main__":
    main()
