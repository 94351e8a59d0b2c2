"""Rename the definitions of an API description: path segments, parameters, properties, schemas, operation ids.

The description stays valid and keeps its meaning, but an agent cannot answer from its training data.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import yaml

from benchmarks.agents.rename import Survey, make_renaming

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from benchmarks.agents.rename import Renaming

# Keywords of OpenAPI and JSON Schema. They are never renamed, even if a property has such a name.
KEYWORDS = set(
    "openapi swagger info title version description summary tags name in required schema type format items "
    "properties enum default "
    "example examples paths get put post delete patch head options trace parameters responses requestBody content "
    "components schemas "
    "definitions securityDefinitions security schemes host basePath consumes produces operationId deprecated "
    "nullable readOnly allOf "
    "oneOf anyOf not additionalProperties minimum maximum minLength maxLength pattern externalDocs url servers "
    "headers links callbacks "
    "discriminator mapping propertyName xml style explode value contact license email scopes flows flow "
    "authorizationUrl tokenUrl "
    "refreshUrl bearerFormat scheme path query header cookie body formData application json string integer number "
    "boolean object array "
    "multipleOf minItems maxItems uniqueItems collectionFormat variables const id".split()
)
_VARIABLE = re.compile(r"\{([^{}]*)\}")


def load(path: Path) -> dict[str, Any]:
    """Parse a description."""
    text = path.read_text("utf-8")
    loaded = json.loads(text) if path.suffix == ".json" else yaml.load(text, Loader=_TextLoader)
    assert isinstance(loaded, dict)
    return loaded


class _TextLoader(yaml.SafeLoader):
    """YAML loader that reads dates and a bare `=` as text."""


_TextLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith((":timestamp", ":value"))]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def rename_spec(description: dict[str, Any], seed: int, brands: Iterable[str]) -> tuple[dict[str, Any], Renaming]:
    """Return the renamed API description, and the map of renamed names."""
    names = set(_defined_names(description)) - KEYWORDS
    found = Survey(defined=names, used=names)
    renaming = make_renaming(found, seed, brands)
    renamed = _Renamer(renaming).value(description)
    assert isinstance(renamed, dict)
    return renamed, renaming


def dump(description: dict[str, Any]) -> str:
    """Format a description as YAML."""
    return yaml.safe_dump(description, sort_keys=False, allow_unicode=True, width=120)


def _defined_names(value: Any, under: str = "") -> Iterator[str]:
    """Yield every name that the description defines."""
    if isinstance(value, dict):
        if under in ("properties", "schemas", "definitions", "parameters", "responses"):
            yield from (key for key in value if not key[:1].isdigit())
        if isinstance(value.get("in"), str) and isinstance(value.get("name"), str):
            yield value["name"]
        if isinstance(value.get("operationId"), str):
            yield value["operationId"]
        for key, inner in value.items():
            if key.startswith("/"):
                yield from _path_segments(key)
            yield from _defined_names(inner, key)
    elif isinstance(value, list):
        for inner in value:
            yield from _defined_names(inner)


def _path_segments(path: str) -> Iterator[str]:
    yield from _VARIABLE.findall(path)
    yield from filter(None, _VARIABLE.sub("", path).split("/"))


class _Renamer:
    """Applies a renaming to an API description."""

    def __init__(self, renaming: Renaming) -> None:
        self._renaming = renaming

    def value(self, value: Any, under: str = "") -> Any:
        if isinstance(value, dict):
            return {self._rename_key(key): self.value(inner, key) for key, inner in value.items()}
        if isinstance(value, list):
            named = under in ("required", "enum_names")
            return [
                self._rename_name(inner) if named and isinstance(inner, str) else self.value(inner, under)
                for inner in value
            ]
        return self._rename_text(value, under) if isinstance(value, str) else value

    def _rename_key(self, key: Any) -> Any:
        if not isinstance(key, str):
            return key
        return self.path(key) if key.startswith("/") else self._rename_name(key)

    def _rename_text(self, text: str, under: str) -> str:
        if under in ("name", "operationId", "propertyName"):
            return self._rename_name(text)
        if under == "$ref":
            return "/".join(self._rename_name(part) for part in text.split("/"))
        if under in ("enum", "default", "format", "type", "pattern", "in"):
            return text
        return self._renaming.prose(text)

    def path(self, path: str) -> str:
        """Rename the segments and variables of a path template."""
        parts = re.split(r"(\{[^{}]*\}|/)", path)
        return "".join(
            "{" + self._rename_name(part[1:-1]) + "}" if part.startswith("{") else self._rename_name(part)
            for part in parts
        )

    def _rename_name(self, name: str) -> str:
        return self._renaming.name(name) if name not in KEYWORDS else name
