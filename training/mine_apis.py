"""Mine pairs from API descriptions in packages: summary → operation, in the formats of AWS, Google and OpenAPI."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from training.pairs import Pair, make_pair

if TYPE_CHECKING:
    from collections.abc import Iterator

    from training.archives import Member

_METHODS = frozenset({"get", "put", "post", "delete", "patch", "head", "options"})


def api_pairs(member: Member) -> Iterator[Pair]:
    """Yield the pairs of a JSON file with an API description, and no pairs for any other file."""
    try:
        tree = json.loads(member.data)
    except (ValueError, RecursionError):
        return
    if not isinstance(tree, dict):
        return
    if isinstance(tree.get("operations"), dict) and "metadata" in tree:
        yield from _aws_pairs(tree)
    elif tree.get("kind") == "discovery#restDescription":
        yield from _google_pairs(tree)
    elif isinstance(tree.get("paths"), dict):
        yield from _openapi_pairs(tree)


def _aws_pairs(tree: dict[str, Any]) -> Iterator[Pair]:
    service = tree["metadata"].get("serviceFullName", "")
    for name, operation in tree["operations"].items():
        http = operation.get("http", {})
        shape = tree.get("shapes", {}).get(operation.get("input", {}).get("shape", ""), {})
        lines = [service, f"{http.get('method', '')} {http.get('requestUri', '')}", name, *shape.get("members", {})]
        if found := make_pair("operation", operation.get("documentation", ""), "\n".join(lines)):
            yield found


def _google_pairs(resource: dict[str, Any], title: str = "") -> Iterator[Pair]:
    title = title or resource.get("title", "")
    for method in resource.get("methods", {}).values():
        lines = [title, f"{method.get('httpMethod', '')} {method.get('path', '')}", method.get("id", "")]
        lines += [*method.get("parameters", {}), str(method.get("response", {}).get("$ref", ""))]
        if found := make_pair("operation", method.get("description", ""), "\n".join(lines)):
            yield found
    for inner in resource.get("resources", {}).values():
        yield from _google_pairs(inner, title)


def _openapi_pairs(tree: dict[str, Any]) -> Iterator[Pair]:
    for path, item in tree["paths"].items():
        for method, operation in item.items() if isinstance(item, dict) else ():
            if method not in _METHODS or not isinstance(operation, dict):
                continue
            names = [p.get("name", "") for p in operation.get("parameters", []) if isinstance(p, dict)]
            lines = [f"{method.upper()} {path}", str(operation.get("operationId", "")), *names]
            asked = operation.get("summary") or operation.get("description") or ""
            if found := make_pair("operation", str(asked), "\n".join(lines)):
                yield found
