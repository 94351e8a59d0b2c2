"""Parse the fields of tsconfig.json and package.json that affect imports. Invalid files are ignored."""

from __future__ import annotations

import json
from posixpath import basename
from typing import TYPE_CHECKING

from deltos.clients.jsonc import read
from deltos.domains.graph.typescript.facts import ConfigManifest, PackageManifest
from deltos.errors import BadConfiguration

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deltos.clients.jsonc import Json

_MAX_BYTES = 1_000_000
_ENTRY_FIELDS = ("source", "types", "typings", "module", "main")


def is_manifest(path: str) -> bool:
    """Whether a file may affect imports: a package.json, a tsconfig.json or a configuration that may be extended."""
    name = basename(path)
    return name.endswith(".json") and (name == "package.json" or "config" in name or "tsconfig" in path)


def manifest_facts(path: str, data: bytes) -> PackageManifest | ConfigManifest | None:
    """Return the facts of a manifest, or None if it is invalid."""
    if len(data) > _MAX_BYTES:
        return None
    try:
        content = read(data.decode("utf-8-sig", "replace"))
    except BadConfiguration:
        return None
    if not isinstance(content, dict):
        return None
    return _package_manifest(content) if basename(path) == "package.json" else _config_manifest(content)


def _package_manifest(content: Mapping[str, Json]) -> PackageManifest:
    name, exports, imports = content.get("name"), content.get("exports"), content.get("imports")
    return PackageManifest(
        name if isinstance(name, str) else "",
        tuple([value for field in _ENTRY_FIELDS if isinstance(value := content.get(field), str)]),
        json.dumps(exports),
        json.dumps(imports if isinstance(imports, dict) else None),
    )


def _config_manifest(content: Mapping[str, Json]) -> ConfigManifest:
    options = content.get("compilerOptions")
    options = options if isinstance(options, dict) else {}
    extended, references = content.get("extends"), content.get("references")
    paths, base = options.get("paths"), options.get("baseUrl")
    listed = references if isinstance(references, list) else []
    return ConfigManifest(
        _string_items(extended if isinstance(extended, list) else [extended]),
        base if isinstance(base, str) else None,
        {key: _string_items(value) for key, value in paths.items()} if isinstance(paths, dict) else {},
        _string_items([part.get("path") for part in listed if isinstance(part, dict)]),
    )


def _string_items(values: Json) -> tuple[str, ...]:
    return tuple([value for value in values if isinstance(value, str)]) if isinstance(values, list) else ()
