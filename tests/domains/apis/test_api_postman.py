"""Parsing of Postman collections: folders, variables, bodies by example."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from deltos.domains.apis.description import read_description
from deltos.domains.apis.document import ApiDocument
from deltos.domains.apis.endpoints import Filter, show_endpoints
from deltos.domains.apis.model import Api, ApiDescription

if TYPE_CHECKING:
    from deltos.domains.apis.domain import Apis

Add = Callable[..., Api]

COLLECTION: dict[str, Any] = {
    "info": {
        "name": "Pets",
        "version": {"major": 1, "minor": 2, "patch": 3},
        "description": {"content": "All about pets"},
        "schema": "https://schema.getpostman.com/json/collection/v2.1.0/collection.json",
    },
    "auth": {"type": "bearer"},
    "item": [
        {
            "name": "Dogs",
            "item": [
                {
                    "name": "Get a dog",
                    "request": {
                        "method": "GET",
                        "description": "Finds it",
                        "url": {
                            "raw": "{{baseUrl}}/dogs/:id?deep=1",
                            "path": ["dogs", ":id"],
                            "query": [{"key": "deep", "value": "1", "disabled": True}],
                            "variable": [{"key": "id", "value": "7", "description": "Which"}],
                        },
                        "header": [{"key": "X-A", "value": "1"}, {"key": "X-Off", "disabled": True}],
                    },
                    "response": [
                        {
                            "name": "Found",
                            "code": 200,
                            "body": '{"name": "Rex", "age": 3, "tags": ["a"], "ok": true}',
                        }
                    ],
                },
                {
                    "name": "Make a dog",
                    "request": {
                        "method": "POST",
                        "auth": {"type": "noauth"},
                        "url": "https://pets.example/dogs",
                        "body": {"mode": "raw", "raw": '{"name": "Rex", "nothing": null}'},
                    },
                    "response": [{"body": "plain words"}],
                },
            ],
        },
        {
            "name": "Form",
            "request": {
                "method": "POST",
                "url": "/form",
                "body": {"mode": "urlencoded", "urlencoded": [{"key": "a", "value": "b"}]},
            },
        },
        {
            "name": "Graph",
            "request": {
                "method": "POST",
                "url": "/graph",
                "body": {"mode": "graphql", "graphql": {"query": "{ a }"}},
            },
        },
        {"name": "Short", "request": "https://pets.example/short?x=1"},
        {"name": "Note without a request"},
    ],
}


def parse_collection(collection: dict[str, Any]) -> ApiDescription:
    return read_description(ApiDocument(json.dumps(collection).encode(), "pets"))


def test_requests_become_operations_grouped_by_folder() -> None:
    description = parse_collection(COLLECTION)
    assert [operation.key for operation in description.operations] == [
        "GET /dogs/:id",
        "POST /dogs",
        "POST /form",
        "POST /graph",
        "GET /short",
    ]
    get = description.operations[0]
    assert (get.tags, get.pointer, get.security) == (("Dogs",), "#/item/0/item/0", (("bearer",),))
    assert [(p.name, p.location) for p in get.parameters] == [
        ("id", "path"),
        ("deep", "query"),
        ("X-A", "header"),
    ]
    assert description.operations[1].security == ()
    assert description.overview.version == "1.2.3"
    assert description.overview.servers == ("{{baseUrl}}", "https://pets.example")


def test_derives_body_schema_from_its_example(apis: Apis, add: Add) -> None:
    add(COLLECTION)
    shown = show_endpoints(apis.library, "pets", Filter(path="/dogs/:id"), page=1, token_budget=5_000).text
    assert "name: string" in shown
    assert "age: number" in shown
    assert "tags: array of string" in shown
    assert 'curl "${MY_BASEURL}/dogs/7" ' in shown
    assert "Authorization: Bearer $TOKEN" in shown
    made = show_endpoints(apis.library, "pets", Filter(path="/dogs", method="post"), page=1, token_budget=5_000).text
    assert '"name": "Rex"' in made
    form = show_endpoints(apis.library, "pets", Filter(path="/form"), page=1, token_budget=5_000).text
    assert "--data-urlencode a=b" in form


def test_parses_flat_version_1_collections() -> None:
    description = parse_collection(
        {
            "name": "Old",
            "order": [],
            "folders": [{"id": "f", "name": "Things"}],
            "requests": [
                {"name": "Get", "method": "GET", "url": "http://old.example/things", "folder": "f"},
                {"name": "Put", "method": "PUT", "url": "things", "dataMode": "raw", "rawModeData": "[1]"},
            ],
        }
    )
    assert [(operation.key, operation.tags) for operation in description.operations] == [
        ("GET /things", ("Things",)),
        ("PUT /things", ()),
    ]
    assert description.operations[1].bodies[0].schema == {"type": "array", "items": {"type": "number"}}


def test_endless_nesting_and_empty_collections_cause_no_exception() -> None:
    item: dict[str, Any] = {"name": "end", "request": {"url": "/deep"}}
    for _ in range(200):
        item = {"name": "folder", "item": [item]}
    assert parse_collection({"info": {}, "item": [item]}).warnings == ("The collection has no requests.",)
