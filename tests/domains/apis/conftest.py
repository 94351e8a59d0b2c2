"""Fixtures: a real library in a temporary folder, and a function that adds a description to it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest
from fuzz.inline_parser import InlineParser

from deltos.domains.apis.domain import Apis, open_apis
from deltos.domains.apis.model import Api
from deltos.store.sqlite.library import SqliteLibrary

if TYPE_CHECKING:
    from pathlib import Path

Add = Callable[..., Api]


@pytest.fixture
def apis(tmp_path: Path) -> Iterator[Apis]:
    """The API domain, parsing in this process so that coverage is measured; other tests use child processes."""
    database = SqliteLibrary(tmp_path / "home" / "library.db")
    yield open_apis(database, network=None, parser=InlineParser(), clock=lambda: 1_700_000_000.0)
    database.close()


@pytest.fixture
def add(apis: Apis, tmp_path: Path) -> Add:
    """Index a text, bytes or JSON value as the file `file_name`."""

    def add_one(content: Any, name: str = "", file_name: str = "api.yaml") -> Api:
        path = tmp_path / file_name
        path.parent.mkdir(parents=True, exist_ok=True)
        data = content if isinstance(content, (str, bytes)) else json.dumps(content)
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        (api,) = apis.indexer.add(str(path), name).apis
        return api

    return add_one


@pytest.fixture
def shop() -> dict[str, Any]:
    """OpenAPI description of a small shop with most features of real ones."""
    return {
        "openapi": "3.1.0",
        "info": {"title": "The Shop API", "version": "1.2", "description": "Sells things. And ships them."},
        "servers": [{"url": "https://{region}.shop.example/v1", "variables": {"region": {"default": "eu"}}}],
        "security": [{"token": []}],
        "tags": [{"name": "orders", "description": "Everything that was bought"}],
        "paths": {
            "/orders": {
                "get": {
                    "operationId": "listOrders",
                    "summary": "List all orders",
                    "tags": ["orders"],
                    "parameters": [
                        {
                            "name": "limit",
                            "in": "query",
                            "schema": {"type": "integer", "default": 10},
                            "description": "How many",
                        },
                        {"$ref": "#/components/parameters/Trace"},
                    ],
                    "responses": {
                        "200": {
                            "description": "The orders",
                            "content": {
                                "application/json": {
                                    "schema": {
                                        "type": "array",
                                        "items": {"$ref": "#/components/schemas/Order"},
                                    }
                                }
                            },
                        },
                        "404": {"$ref": "#/components/responses/Missing"},
                    },
                },
                "post": {
                    "operationId": "createOrder",
                    "summary": "Create an order",
                    "description": "<p>Buys <b>something</b> &amp; ships it.</p>",
                    "tags": ["orders"],
                    "requestBody": {
                        "required": True,
                        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/NewOrder"}}},
                    },
                    "responses": {"201": {"description": "Made"}},
                },
            },
            "/orders/{id}": {
                "parameters": [{"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}],
                "get": {"operationId": "getOrder", "summary": "Retrieve an order", "tags": ["orders"]},
                "delete": {
                    "operationId": "deleteOrder",
                    "summary": "Delete an order",
                    "tags": ["orders"],
                    "deprecated": True,
                    "security": [],
                },
            },
            "/health": {"get": {"responses": {"default": {"description": "Fine"}}}},
        },
        "webhooks": {"orderShipped": {"post": {"summary": "An order was shipped", "requestBody": {"content": {}}}}},
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "parameters": {
                "Trace": {"name": "X-Trace", "in": "header", "required": True, "schema": {"type": "string"}}
            },
            "responses": {"Missing": {"description": "No such thing"}},
            "schemas": {
                "Order": {
                    "type": "object",
                    "description": "What somebody bought",
                    "required": ["id"],
                    "properties": {
                        "id": {"type": "string"},
                        "state": {"type": "string", "enum": ["open", "paid", "shipped"]},
                        "parent": {"$ref": "#/components/schemas/Order"},
                        "customer": {"$ref": "#/components/schemas/Customer"},
                    },
                },
                "NewOrder": {
                    "allOf": [
                        {
                            "type": "object",
                            "required": ["product"],
                            "properties": {
                                "product": {"type": "string", "example": "shoe"},
                                "gift": {"type": "boolean"},
                            },
                        }
                    ]
                },
                "Customer": {
                    "type": "object",
                    "properties": {
                        "name": {"type": ["string", "null"]},
                        "born": {"type": "string", "format": "date"},
                    },
                },
            },
        },
    }
