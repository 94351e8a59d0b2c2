"""Descriptions with wrong values anywhere are parsed, listed, shown and searched without an exception."""

from __future__ import annotations

import copy
import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deltos.domains.apis.endpoints import Filter, show_endpoints
from deltos.errors import DeltosError

if TYPE_CHECKING:
    from pathlib import Path

    from deltos.domains.apis.domain import Apis

_WRONG_VALUES: list[Any] = [
    None,
    True,
    7,
    1.5,
    "",
    "text",
    [],
    {},
    [None],
    [[1]],
    {"a": None},
    {"$ref": 3},
    {"$ref": "#"},
    {"$ref": "x#/y"},
]

_ASYNC: dict[str, Any] = {
    "asyncapi": "3.0.0",
    "info": {"title": "A", "version": "1"},
    "servers": {"s": {"host": "h", "protocol": "p"}},
    "channels": {
        "c": {"address": "x", "parameters": {"p": {"enum": ["a"]}}, "messages": {"m": {"payload": {"type": "string"}}}}
    },
    "operations": {
        "o": {
            "action": "send",
            "channel": {"$ref": "#/channels/c"},
            "reply": {"messages": [{"$ref": "#/channels/c/messages/m"}]},
        }
    },
    "components": {
        "messages": {"m": {"payload": {"schemaFormat": "x", "schema": {}}}},
        "schemas": {"s": {}},
        "securitySchemes": {"k": {}},
    },
}
_SWAGGER: dict[str, Any] = {
    "swagger": "2.0",
    "info": {"title": "S", "version": "1"},
    "host": "h",
    "schemes": ["https"],
    "consumes": ["a/b"],
    "paths": {
        "/a": {
            "post": {
                "parameters": [
                    {"name": "f", "in": "formData", "type": "file"},
                    {"name": "b", "in": "body", "schema": {}},
                ],
                "responses": {"200": {"schema": {"$ref": "#/definitions/D"}}},
            }
        }
    },
    "definitions": {"D": {"type": "object", "properties": {"d": {"$ref": "#/definitions/D"}}}},
    "securityDefinitions": {"k": {"type": "apiKey"}},
}
_POSTMAN: dict[str, Any] = {
    "info": {"name": "P", "version": {"major": 1}},
    "auth": {"type": "bearer"},
    "item": [
        {
            "name": "i",
            "request": {
                "method": "GET",
                "url": {"raw": "h/p", "path": ["p"], "query": [{"key": "q"}]},
                "body": {"mode": "raw", "raw": "{}"},
            },
            "response": [{"code": 200, "body": "{}"}],
        }
    ],
}
_INTROSPECTION: dict[str, Any] = {
    "__schema": {
        "queryType": {"name": "Q"},
        "types": [
            {
                "kind": "OBJECT",
                "name": "Q",
                "fields": [{"name": "f", "args": [{"name": "a", "type": {"kind": "LIST"}}], "type": {}}],
            }
        ],
    }
}


def _paths_to_values(value: Any, prefix: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [prefix] if prefix else []
    if isinstance(value, dict):
        return found + [place for key, inner in value.items() for place in _paths_to_values(inner, (*prefix, key))]
    if isinstance(value, list):
        return found + [
            place for index, inner in enumerate(value) for place in _paths_to_values(inner, (*prefix, index))
        ]
    return found


def _replace_value(root: dict[str, Any], path: tuple[Any, ...], wrong_value: Any) -> dict[str, Any]:
    changed = copy.deepcopy(root)
    holder: Any = changed
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = wrong_value
    return changed


def _use_every_operation(apis: Apis, path: Path) -> None:
    for api in apis.indexer.add(str(path), "m").apis:
        show_endpoints(apis.library, api.name, Filter(), page=1, token_budget=5_000)
        for unit in apis.library.store.units(apis.library.row(api.name).id, ("operation", "webhook")):
            show_endpoints(
                apis.library, api.name, Filter(path=unit.path, method=unit.method), page=1, token_budget=5_000
            )
        for hit in apis.searcher.search("order pet text list", api_name=api.name, limit=50):
            apis.searcher.fetch(hit.id)
    apis.indexer.refresh("m")


@pytest.mark.parametrize("kind", ["openapi", "swagger", "asyncapi", "postman", "introspection"])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40, deadline=None)
@given(data=st.data())
def test_wrong_values_anywhere_cause_no_exception(
    apis: Apis, tmp_path: Path, shop: dict[str, Any], kind: str, data: st.DataObject
) -> None:
    roots = {
        "openapi": shop,
        "swagger": _SWAGGER,
        "asyncapi": _ASYNC,
        "postman": _POSTMAN,
        "introspection": _INTROSPECTION,
    }
    root = roots[kind]
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.sampled_from(_paths_to_values(root)))
        root = _replace_value(root, place, data.draw(st.sampled_from(_WRONG_VALUES)))
    path = tmp_path / "mutated.json"
    path.write_text(json.dumps(root))
    with suppress(DeltosError):
        _use_every_operation(apis, path)
