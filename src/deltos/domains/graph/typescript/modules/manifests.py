"""Parse the fields of tsconfig.json and package.json that affect imports. Invalid files are ignored."""

from __future__ import annotations

import json
import re
from posixpath import basename
from typing import TYPE_CHECKING, TypeAlias

from deltos.domains.graph.typescript.facts import ConfigManifest, PackageManifest

if TYPE_CHECKING:
    from collections.abc import Iterator

_MAX_BYTES = 1_000_000
_QUOTE_OR_SLASH = re.compile(r'["/]')
_QUOTE_OR_COMMA = re.compile(r'[",]')
_QUOTE_OR_ESCAPE = re.compile(r'["\\]')
_NOT_BLANK = re.compile(r"\S")
_ENTRY_FIELDS = ("source", "types", "typings", "module", "main")

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"


def is_manifest(path: str) -> bool:
    """Whether a file may affect imports: package.json, tsconfig.json and the configurations that they extend."""
    name = basename(path)
    return name.endswith(".json") and (name == "package.json" or "config" in name or "tsconfig" in path)


def manifest_facts(path: str, data: bytes) -> PackageManifest | ConfigManifest | None:
    """Return the facts of a manifest, or None if it is invalid."""
    if len(data) > _MAX_BYTES:
        return None
    content = parse_json(data.decode("utf-8", "replace"))
    if not isinstance(content, dict):
        return None
    return _package_manifest(content) if basename(path) == "package.json" else _config_manifest(content)


def parse_json(text: str) -> Json:
    """Parse JSON with comments and trailing commas, or return None if it is invalid."""
    bare = "".join(_without_comments(text.lstrip("\ufeff")))
    try:
        found: Json = json.loads("".join(_without_trailing_commas(bare)))
    except (ValueError, RecursionError):
        return None
    return found


def _without_comments(text: str) -> Iterator[str]:
    """Yield the segments of a JSON text, with a blank instead of each comment."""
    at = 0
    while mark := _QUOTE_OR_SLASH.search(text, at):
        start = mark.start()
        yield text[at:start]
        if mark[0] == '"':
            at = _string_end(text, start)
            yield text[start:at]
        elif text.startswith(("//", "/*"), start):
            closing = "\n" if text[start + 1] == "/" else "*/"
            end = text.find(closing, start + 2)
            at = len(text) if end < 0 else end + (len(closing) if closing == "*/" else 0)
            yield " "
        else:
            at = start + 1
            yield "/"
    yield text[at:]


def _without_trailing_commas(text: str) -> Iterator[str]:
    """Yield the segments of a JSON text, without commas before closing brackets."""
    at = 0
    while mark := _QUOTE_OR_COMMA.search(text, at):
        start = mark.start()
        at, end = (_string_end(text, start) if mark[0] == '"' else start + 1), at
        following = _NOT_BLANK.search(text, at) if mark[0] == "," else None
        yield text[end:start] if following and following[0] in "}]" else text[end:at]
    yield text[at:]


def _string_end(text: str, start: int) -> int:
    """Return the end of the string literal that starts at `start`."""
    at = start + 1
    while mark := _QUOTE_OR_ESCAPE.search(text, at):
        at = mark.end()
        if mark[0] == '"':
            return at
        at += 1
    return len(text)


def _package_manifest(content: dict[str, Json]) -> PackageManifest:
    name, exports, imports = content.get("name"), content.get("exports"), content.get("imports")
    return PackageManifest(
        name if isinstance(name, str) else "",
        tuple([value for field in _ENTRY_FIELDS if isinstance(value := content.get(field), str)]),
        json.dumps(exports),
        json.dumps(imports if isinstance(imports, dict) else None),
    )


def _config_manifest(content: dict[str, Json]) -> ConfigManifest:
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
