"""Tool listings and server information, read from `manifest.json` so that the first answers need neither tools nor SDK.

`server/describe.py` generates the file; tests compare it with the tool definitions and the SDK.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from deltos.config import LEAN_TOOLS
from deltos.server.instructions import instructions
from deltos.server.structured_output import wants_structured_content

if TYPE_CHECKING:
    from collections.abc import Collection

    from deltos.tool import JsonObject

MANIFEST_PATH = Path(__file__).with_name("manifest.json")
SERVER_NAME = "deltos"
SERVER_TITLE = "Deltos"
SERVER_INFO_KEY = "io.modelcontextprotocol/serverInfo"


class Manifest:
    """Answers to protocol requests about a server that offers `toolsets`, for every protocol version."""

    def __init__(self, document: JsonObject, toolsets: Collection[str], *, lean: bool = False) -> None:
        self._document = document
        self._toolsets = toolsets
        self._lean = lean

    @classmethod
    def load(cls, toolsets: Collection[str], path: Path = MANIFEST_PATH, *, lean: bool = False) -> Manifest:
        """Return the manifest from the generated file at `path`."""
        return cls(json.loads(path.read_text(encoding="utf-8")), toolsets, lean=lean)

    def set_toolsets(self, toolsets: Collection[str]) -> None:
        """Replace the list of offered toolsets."""
        self._toolsets = toolsets

    @property
    def instructions(self) -> str:
        """Instructions for agents about the offered tools."""
        return instructions(self._toolsets, lean=self._lean)

    @property
    def version(self) -> str:
        """Version of the server."""
        return str(self._document["server_info"]["version"])

    @property
    def modern_versions(self) -> list[str]:
        """Protocol versions without a handshake, in which each request contains the version."""
        return list(self._document["modern_versions"])

    def listings(self, client_name: str = "") -> list[JsonObject]:
        """Return the offered tools as `tools/list` shows them to the client `client_name`."""
        offered = [tool["listing"] for tool in self._document["tools"] if tool["toolset"] in self._toolsets]
        if self._lean:
            offered = [listing for listing in offered if listing["name"] in LEAN_TOOLS]
        if wants_structured_content(client_name):
            return offered
        return [{key: value for key, value in listing.items() if key != "outputSchema"} for listing in offered]

    def input_schema(self, name: str) -> JsonObject | None:
        """Return the JSON Schema of a tool's arguments, or None if the tool is not offered."""
        return next((listing["inputSchema"] for listing in self.listings() if listing["name"] == name), None)

    def initialize_result(self, requested_version: str) -> JsonObject:
        """Return the result of `initialize` in the requested version, or in the newest one if it is not supported."""
        versions = self._document["handshake_versions"]
        return {
            "protocolVersion": requested_version if requested_version in versions else versions[-1],
            "capabilities": self._document["capabilities"],
            "serverInfo": self._document["server_info"],
            "instructions": self.instructions,
        }

    def tools_result(self, client_name: str = "") -> JsonObject:
        """Return the result of `tools/list` after a handshake."""
        return {"tools": self.listings(client_name)}

    def modern_tools_result(self, client_name: str = "") -> JsonObject:
        """Return the result of `tools/list` without a handshake."""
        return self._modern_result({"tools": self.listings(client_name)})

    def discover_result(self) -> JsonObject:
        """Return the result of `server/discover`."""
        return self._modern_result(
            {
                "supportedVersions": self.modern_versions,
                "capabilities": self._document["modern_capabilities"],
                "instructions": self.instructions,
            }
        )

    def _modern_result(self, result: JsonObject) -> JsonObject:
        envelope: JsonObject = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
        return {**result, **envelope, "_meta": {SERVER_INFO_KEY: self._document["server_info"]}}
