"""Count operations and schemas of API descriptions, independently of Deltos."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import yaml

METHODS = {"get", "put", "post", "delete", "options", "head", "patch", "trace"}


def count(path: Path) -> tuple[int, int]:
    """Return the numbers of operations and of named schemas or types in a file."""
    text = path.read_text("utf-8")
    if path.suffix == ".proto":
        return count_proto(text)
    if path.suffix in (".graphql", ".graphqls", ".gql"):
        return count_graphql(text)
    root = json.loads(text) if path.suffix == ".json" else yaml.load(text, yaml.CBaseLoader)
    return count_asyncapi(root) if "asyncapi" in root else count_openapi(root)


def count_openapi(root: dict[str, Any]) -> tuple[int, int]:
    """Count the methods under `paths`, and the entries of `components.schemas` or `definitions`."""
    operations = sum(1 for item in (root.get("paths") or {}).values() for method in item if method.lower() in METHODS)
    schemas = (root.get("components") or {}).get("schemas") or root.get("definitions") or {}
    return operations, len(schemas)


def count_asyncapi(root: dict[str, Any]) -> tuple[int, int]:
    """Count operations of version 3, or publish and subscribe of version 2, and `components.schemas`."""
    operations = len(root.get("operations") or {})
    if root["asyncapi"].startswith("2"):
        operations = sum(("publish" in item) + ("subscribe" in item) for item in root["channels"].values())
    return operations, len((root.get("components") or {}).get("schemas") or {})


def count_graphql(text: str) -> tuple[int, int]:
    """Count the fields of the root types, and all types, inputs, enums, interfaces, unions and scalars."""
    plain = re.sub(r'"""(?:[^"\\]|\\.|"(?!""))*"""', "", text)
    plain = re.sub(r'#[^\n]*|"(?:[^"\\\n]|\\.)*"', "", plain)
    types = len(re.findall(r"^(?:type|input|enum|interface|union|scalar)\s+\w+", plain, re.MULTILINE))
    bodies = re.findall(r"^type (?:Query|Mutation|Subscription)\b[^{]*\{(.*?)^\}", plain, re.MULTILINE | re.DOTALL)
    fields = [re.sub(r"\([^)]*\)", "", body, flags=re.DOTALL) for body in bodies]
    return sum(len(re.findall(r"^\s*\w+\s*:", body, re.MULTILINE)) for body in fields), types


def count_proto(text: str) -> tuple[int, int]:
    """Count the methods of services, and the messages and enums, including nested ones."""
    plain = re.sub(r'//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"', "", text, flags=re.DOTALL)
    return len(re.findall(r"\brpc\s+\w+", plain)), len(re.findall(r"\b(?:message|enum)\s+\w+\s*\{", plain))


if __name__ == "__main__":
    for name in sys.argv[1:]:
        print(name, *count(Path(name)))
