"""Answers a client's first requests from the manifest. The SDK answers all unusual requests."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deltos.server.manifest import Manifest
    from deltos.tool import JsonObject

_VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
_CLIENT_KEY = "io.modelcontextprotocol/clientInfo"
_CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
_FREE_FORM_CAPABILITIES = {"experimental", "extensions"}
_META_KEYS = {_VERSION_KEY, _CLIENT_KEY, _CAPABILITIES_KEY, "progressToken"}


class Handshake:
    """Protocol state of a connection before the SDK takes over: new, after the handshake, or modern.

    A "modern" client sends no `initialize` request. Instead, each request contains the protocol version.
    """

    def __init__(self, manifest: Manifest) -> None:
        self._manifest = manifest
        self._modern = False
        self._client_name = ""
        self.opening: bytes | None = None

    def answer(self, line: bytes, message: JsonObject) -> bytes | None:
        """Return the reply to `message`, which was received as `line`, or None if the SDK must answer it."""
        request_id = message.get("id")
        if message.get("jsonrpc") != "2.0" or not _is_request_id(request_id):
            return None
        result = self._result_for(message.get("method"), message.get("params") or {})
        if result is None:
            return None
        if self.opening is None:
            self.opening = line
        reply = {"jsonrpc": "2.0", "id": request_id, "result": result}
        return json.dumps(reply, separators=(",", ":")).encode()

    def _result_for(self, method: object, params: object) -> JsonObject | None:
        if not isinstance(params, dict):
            return None
        meta = params.get("_meta", {})
        if not isinstance(meta, dict) or not _is_request_id(meta.get("progressToken", 0)):
            return None
        if method == "initialize":
            return self._complete_handshake(params)
        if params.keys() - {"_meta"}:
            return None
        return self._modern_result(method, meta) if _VERSION_KEY in meta else self._handshake_result(method)

    def _complete_handshake(self, params: JsonObject) -> JsonObject | None:
        version = params.get("protocolVersion")
        known = isinstance(version, str) and _is_client_info(params.get("clientInfo"))
        if self.opening or not known or not _are_capabilities(params.get("capabilities")):
            return None
        self._client_name = params["clientInfo"]["name"]
        return self._manifest.initialize_result(str(version))

    def _handshake_result(self, method: object) -> JsonObject | None:
        if self.opening is None or self._modern:
            return None
        if method == "ping":
            return {}
        return self._manifest.tools_result(self._client_name) if method == "tools/list" else None

    def _modern_result(self, method: object, meta: JsonObject) -> JsonObject | None:
        if (self.opening and not self._modern) or not self._is_valid_meta(meta):
            return None
        if method == "server/discover":
            result = self._manifest.discover_result()
        elif method == "tools/list":
            result = self._manifest.modern_tools_result(meta.get(_CLIENT_KEY, {}).get("name", ""))
        else:
            return None
        self._modern = True
        return result

    def _is_valid_meta(self, meta: JsonObject) -> bool:
        return (
            meta.keys() <= _META_KEYS
            and meta[_VERSION_KEY] in self._manifest.modern_versions
            and (_CLIENT_KEY not in meta or _is_client_info(meta[_CLIENT_KEY]))
            and _are_capabilities(meta.get(_CAPABILITIES_KEY))
        )


def _is_request_id(value: object) -> bool:
    """Whether `value` is a valid request id or progress token."""
    return isinstance(value, int | str) and not isinstance(value, bool)


def _is_client_info(value: Any) -> bool:
    """Whether `value` is a plain `clientInfo` with a name, a version and optionally a title."""
    return (
        isinstance(value, dict)
        and {"name", "version"} <= value.keys() <= {"name", "version", "title"}
        and all(isinstance(text, str) for text in value.values())
    )


def _are_capabilities(value: Any) -> bool:
    """Whether `value` contains only client capabilities without nested settings, which only the SDK can validate."""
    return isinstance(value, dict) and all(
        isinstance(settings, dict) and all(_is_valid_setting(name, setting) for setting in settings.values())
        for name, settings in value.items()
    )


def _is_valid_setting(capability: str, value: object) -> bool:
    if capability == "roots":
        return isinstance(value, bool)
    return isinstance(value, dict) and (capability in _FREE_FORM_CAPABILITIES or not value)
