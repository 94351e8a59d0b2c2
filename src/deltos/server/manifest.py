"""How the server introduces itself: kept in `manifest.json`, so that first answers need no tools and no SDK.

`server/describe.py` writes it from the tool definitions; tests hold it to them and the SDK.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from deltos.config import LEAN_TOOLS
from deltos.server.audience import gets_data
from deltos.server.instructions import instructions

if TYPE_CHECKING:
    from collections.abc import Collection

    from deltos.tool import JsonObject

MANIFEST_PATH = Path(__file__).with_name("manifest.json")
SERVER_NAME = "deltos"
SERVER_TITLE = "Deltos"
SERVER_INFO_KEY = "io.modelcontextprotocol/serverInfo"


class Manifest:
    """What a server that offers `toolsets` says about itself, for every protocol version."""

    def __init__(self, document: JsonObject, toolsets: Collection[str], *, lean: bool = False) -> None:
        self._document = document
        self._toolsets = toolsets
        self._lean = lean

    @classmethod
    def load(cls, toolsets: Collection[str], path: Path = MANIFEST_PATH, *, lean: bool = False) -> Manifest:
        """Read the generated file."""
        return cls(json.loads(path.read_text(encoding="utf-8")), toolsets, lean=lean)

    def offer(self, toolsets: Collection[str]) -> None:
        """Offer other toolsets from now on."""
        self._toolsets = toolsets

    @property
    def instructions(self) -> str:
        """What an agent is told about the tools on offer."""
        return instructions(self._toolsets, lean=self._lean)

    @property
    def version(self) -> str:
        """The version that the server reports."""
        return str(self._document["server_info"]["version"])

    @property
    def modern_versions(self) -> list[str]:
        """Protocol versions without a handshake: each request carries its own."""
        return list(self._document["modern_versions"])

    def listings(self, client_name: str = "") -> list[JsonObject]:
        """The tools on offer, as `tools/list` shows them to a client."""
        offered = [tool["listing"] for tool in self._document["tools"] if tool["toolset"] in self._toolsets]
        if self._lean:
            offered = [listing for listing in offered if listing["name"] in LEAN_TOOLS]
        if gets_data(client_name):
            return offered
        return [{key: value for key, value in listing.items() if key != "outputSchema"} for listing in offered]

    def input_schema(self, name: str) -> JsonObject | None:
        """The schema of a tool's arguments; None for a tool that is not on offer."""
        return next((listing["inputSchema"] for listing in self.listings() if listing["name"] == name), None)

    def initialize_result(self, requested_version: str) -> JsonObject:
        """The answer to `initialize`, in the requested version if we speak it, else in the newest."""
        versions = self._document["handshake_versions"]
        return {
            "protocolVersion": requested_version if requested_version in versions else versions[-1],
            "capabilities": self._document["capabilities"],
            "serverInfo": self._document["server_info"],
            "instructions": self.instructions,
        }

    def tools_result(self, client_name: str = "") -> JsonObject:
        """The answer to `tools/list` after a handshake."""
        return {"tools": self.listings(client_name)}

    def modern_tools_result(self, client_name: str = "") -> JsonObject:
        """The answer to `tools/list` without a handshake."""
        return self._modern({"tools": self.listings(client_name)})

    def discover_result(self) -> JsonObject:
        """The answer to `server/discover`."""
        return self._modern(
            {
                "supportedVersions": self.modern_versions,
                "capabilities": self._document["modern_capabilities"],
                "instructions": self.instructions,
            }
        )

    def _modern(self, result: JsonObject) -> JsonObject:
        envelope: JsonObject = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
        return {**result, **envelope, "_meta": {SERVER_INFO_KEY: self._document["server_info"]}}
