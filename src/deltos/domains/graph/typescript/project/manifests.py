"""tsconfig.json and package.json: what they say about imports. Broken ones say nothing."""

from __future__ import annotations

import json
import re
from posixpath import basename
from typing import Any

_MAX_BYTES = 1_000_000
_STRING_OR_COMMENT = re.compile(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_TRAILING_COMMA = re.compile(r'("(?:\\.|[^"\\])*")|,(?=\s*[}\]])')
_ENTRIES = ("source", "types", "typings", "module", "main")

PACKAGE, CONFIG = "package", "config"


def is_manifest(path: str) -> bool:
    """Whether a file may say something about imports: package.json, tsconfig.json and what those extend."""
    name = basename(path)
    return name.endswith(".json") and (name == "package.json" or "config" in name or "tsconfig" in path)


def manifest_facts(path: str, data: bytes) -> dict[str, Any] | None:
    """What a manifest says, as plain values; None where it is broken or says nothing."""
    if len(data) > _MAX_BYTES:
        return None
    content = parse_json(data.decode("utf-8", "replace"))
    if not isinstance(content, dict):
        return None
    return _package(content) if basename(path) == "package.json" else _config(content)


def parse_json(text: str) -> Any:
    """JSON with comments and trailing commas; None where it is broken."""
    bare = _STRING_OR_COMMENT.sub(lambda match: match[1] or " ", text.lstrip("\ufeff"))
    try:
        return json.loads(_TRAILING_COMMA.sub(lambda match: match[1] or "", bare))
    except (ValueError, RecursionError):
        return None


def _package(content: dict[str, Any]) -> dict[str, Any]:
    name = content.get("name")
    return {
        "kind": PACKAGE,
        "name": name if isinstance(name, str) else "",
        "entries": tuple([value for field in _ENTRIES if isinstance(value := content.get(field), str)]),
        "exports": content.get("exports"),
        "imports": content.get("imports") if isinstance(content.get("imports"), dict) else None,
    }


def _config(content: dict[str, Any]) -> dict[str, Any] | None:
    options = content.get("compilerOptions")
    options = options if isinstance(options, dict) else {}
    extended = content.get("extends")
    references = content.get("references")
    paths = options.get("paths")
    base = options.get("baseUrl")
    return {
        "kind": CONFIG,
        "extends": tuple(_strings(extended if isinstance(extended, list) else [extended])),
        "base": base if isinstance(base, str) else None,
        "paths": {key: tuple(_strings(value)) for key, value in paths.items()} if isinstance(paths, dict) else None,
        "references": tuple(
            _strings(
                [part.get("path") for part in references if isinstance(part, dict)]
                if isinstance(references, list)
                else []
            )
        ),
    }


def _strings(values: Any) -> list[str]:
    return [value for value in values if isinstance(value, str)] if isinstance(values, list) else []
