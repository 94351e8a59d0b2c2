"""Parsing of OpenAPI 3 and Swagger 2.0 as found in practice, including invalid documents."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from deltos.domains.apis.description import read_description
from deltos.domains.apis.document import ApiDocument
from deltos.domains.apis.endpoints import Filter, show_endpoints
from deltos.domains.apis.model import Api, ApiDescription, Operation

if TYPE_CHECKING:
    from deltos.domains.apis.domain import Apis

Add = Callable[..., Api]


def parse_description(text: str) -> ApiDescription:
    return read_description(ApiDocument(text.encode(), "api.yaml"))


def parse_single_operation(text: str) -> Operation:
    (operation,) = parse_description(text).operations
    return operation


def show_operation(apis: Apis, name: str, path: str, method: str = "") -> str:
    return show_endpoints(apis.library, name, Filter(path=path, method=method), page=1, token_budget=5_000).text


def test_counts_operations_schemas_and_webhooks_separately(add: Add, shop: dict[str, Any]) -> None:
    api = add(shop)
    assert (api.name, api.operation_count, api.schema_count, api.webhook_count) == ("shop", 5, 3, 1)
    assert api.overview.kind == "OpenAPI 3.1.0"
    assert api.overview.servers == ("https://eu.shop.example/v1",)
    assert api.warnings == ()


def test_shows_operation_with_inputs_and_outputs(apis: Apis, add: Add, shop: dict[str, Any]) -> None:
    add(shop)
    shown = show_operation(apis, "shop", "/orders", "GET")
    assert "| X-Trace* | header | string |" in shown
    assert "| limit | query | integer = 10 | How many |" in shown
    assert "Response 200 — The orders (application/json): array of Order" in shown
    assert "id*: string" in shown
    assert "state: open | paid | shipped" in shown
    assert "born: string(date)" in shown
    assert "name: string|null" in shown
    assert "Also: 404 No such thing" in shown
    assert "Auth: token (http bearer)" in shown


def test_recursive_schema_is_named_instead_of_expanded(apis: Apis, add: Add, shop: dict[str, Any]) -> None:
    add(shop)
    shown = show_operation(apis, "shop", "/orders", "GET")
    assert "parent: Order" in shown
    assert shown.count("parent: Order") <= 2


def test_removes_html_from_descriptions(apis: Apis, add: Add, shop: dict[str, Any]) -> None:
    add(shop)
    assert "Buys something & ships it." in show_operation(apis, "shop", "/orders", "POST")


def test_operation_may_override_security_with_an_empty_list(apis: Apis, add: Add, shop: dict[str, Any]) -> None:
    add(shop)
    shown = show_operation(apis, "shop", "/orders/{id}", "DELETE")
    assert "Auth: not specified" in shown
    assert "(deprecated)" in shown
    assert "| id* | path | string |" in shown


def test_derives_missing_names_from_the_path() -> None:
    operation = parse_single_operation("openapi: 3.0.0\npaths:\n  /v1/users/{userId}/pull-requests/{id}: {get: {}}\n")
    assert operation.name == "get_v1_users_userId_pull_requests_id"
    assert operation.summary == "Get pull requests of users by id"
    assert parse_single_operation("openapi: 3.0.0\npaths:\n  /v1/refunds: {post: {}}\n").summary == "Create refunds"
    assert parse_single_operation("openapi: 3.0.0\npaths:\n  /: {get: {}}\n").summary == "List /"


def test_missing_summary_is_the_first_sentence_of_the_description() -> None:
    operation = parse_single_operation(
        "openapi: 3.0.0\npaths:\n  /a: {get: {description: '<p>Gets e.g. a thing. Then more.</p>'}}\n"
    )
    assert operation.summary == "Gets e.g. a thing"


def test_operation_settings_override_path_settings() -> None:
    operation = parse_single_operation(
        "openapi: 3.0.0\npaths:\n  /a:\n    servers: [{url: https://two.example}]\n    summary: Path\n    parameters:\n"
        "      - {name: x, in: query, description: old}\n      - {name: y, in: query}\n"
        "    get:\n      parameters: [{name: x, in: query, description: new, required: true}]\n"
    )
    assert [(p.name, p.description, p.required) for p in operation.parameters] == [
        ("x", "new", True),
        ("y", "", False),
    ]
    assert (operation.server, operation.summary) == ("https://two.example", "Path")


def test_parameter_may_have_content_instead_of_a_schema() -> None:
    operation = parse_single_operation(
        "openapi: 3.0.0\npaths:\n  /a:\n    get:\n      parameters:\n"
        "        - {name: f, in: query, content: {application/json: {schema: {type: object}}}}\n"
        "        - {name: g, in: query}\n"
    )
    assert [parameter.schema for parameter in operation.parameters] == [{"type": "object"}, {}]


def test_ignores_invalid_parts_of_a_document() -> None:
    description = parse_description(
        "openapi: 3.0.0\ninfo: text\ntags: [1, {name: t}]\nservers: {}\nsecurity: text\n"
        "components: {schemas: {A: text}}\npaths:\n  /a: text\n  x-internal: {get: {}}\n"
        "  /b: {get: text, post: {tags: text, parameters: [text], responses: [1]}}\n"
    )
    assert [operation.key for operation in description.operations] == ["GET /b", "POST /b"]
    assert description.warnings == ("GET /b is not a mapping.",)
    assert [schema.name for schema in description.schemas] == ["A"]


def test_warns_about_unknown_and_missing_versions() -> None:
    assert (
        "OpenAPI 4.0.0 is not a known version"
        in parse_description("openapi: 4.0.0\npaths: {/a: {get: {}}}\n").warnings[0]
    )
    assert "has no version" in parse_description("paths: {/a: {get: {}}}\n").warnings[0]
    assert (
        "Swagger 1.2 is not a known version" in parse_description("swagger: 1.2\npaths: {/a: {get: {}}}\n").warnings[0]
    )


def test_warns_about_description_without_operations() -> None:
    assert parse_description("openapi: 3.0.0\n").warnings == ("The description has no operations.",)
    assert parse_description("swagger: '2.0'\n").warnings == ("The description has no operations.",)


def test_keeps_equivalent_paths_with_a_warning() -> None:
    description = parse_description("openapi: 3.0.0\npaths:\n  /a/{id}: {get: {}}\n  /a/{name}: {get: {}}\n")
    assert len(description.operations) == 2
    assert description.warnings == ("1 operation with the method and path pattern of another, such as GET /a/{name}.",)


def test_warns_about_undefined_security_schemes() -> None:
    description = parse_description(
        "openapi: 3.0.0\npaths:\n  orders/broken: {get: {security: [{nobody: []}, {key: []}]}}\n"
        "  /orders/{orderId}: {get: {parameters: [{name: id, in: path}]}}\n"
        "  /files/{path*}/{id:[0-9]}: {get: {parameters: [{name: path, in: path}, {name: id, in: path}]}}\n"
        "components: {securitySchemes: {key: {type: apiKey, in: header, name: k}}}\n"
    )
    assert description.warnings == ("Security scheme 'nobody', used by GET orders/broken, is not defined.",)
    old = parse_description("swagger: '2.0'\nsecurity: [{key: []}]\npaths: {a: {get: {}}}\n")
    assert old.warnings == ("Security scheme 'key', used by GET a, is not defined.",)


def test_external_security_schemes_give_no_warning() -> None:
    elsewhere = "openapi: 3.2.0\nsecurity: [{'https://example.org/key': []}]\npaths: {/a: {get: {}}}\n"
    assert parse_description(elsewhere).warnings == ()


def test_keeps_small_examples_of_request_bodies() -> None:
    text = (
        "openapi: 3.0.0\npaths:\n  /a:\n    post:\n      requestBody:\n        content:\n"
        "          a/one: {example: {x: 1}}\n          a/two: {examples: {first: {$ref: '#/components/examples/E'}}}\n"
        "          a/three: {example: " + "y" * 3_000 + "}\ncomponents: {examples: {E: {value: {z: 2}}}}\n"
    )
    assert [content.examples for content in parse_single_operation(text).bodies] == [({"x": "1"},), ({"z": "2"},), ()]


SWAGGER = """
swagger: "2.0"
info: {title: Old, version: "1"}
host: old.example
basePath: /api/
schemes: [http, https]
consumes: [application/json]
produces: [text/csv]
securityDefinitions:
  basic: {type: basic}
  key: {type: apiKey, in: query, name: k}
security: [{basic: []}, {key: []}]
parameters:
  Page: {name: page, in: query, type: integer, default: 1}
paths:
  /things:
    get:
      parameters: [{$ref: '#/parameters/Page'}]
      responses:
        200: {description: ok, schema: {type: array, items: {$ref: '#/definitions/Thing'}}}
        204: {description: none}
    post:
      parameters: [{name: body, in: body, required: true, schema: {$ref: '#/definitions/Thing'}}]
    put:
      parameters:
        - {name: file, in: formData, type: file, required: true, description: The file}
        - {name: note, in: formData, type: string}
    patch:
      consumes: [application/x-www-form-urlencoded]
      parameters: [{name: note, in: formData, type: string}]
definitions:
  Thing: {type: object, properties: {size: {type: integer, format: int64}}}
"""


def test_parses_swagger_bodies_forms_and_types() -> None:
    description = parse_description(SWAGGER)
    get, put, post, patch = description.operations
    assert description.overview.servers == ("https://old.example/api",)
    assert get.parameters[0].schema == {"type": "integer", "default": "1"}
    assert get.responses[0].contents[0].media_type == "text/csv"
    assert get.responses[1].contents == ()
    assert (post.bodies[0].schema, post.body_required) == ({"$ref": "#/definitions/Thing"}, True)
    assert (put.bodies[0].media_type, put.body_required) == ("multipart/form-data", True)
    assert put.bodies[0].schema["required"] == ["file"]
    assert patch.bodies[0].media_type == "application/x-www-form-urlencoded"
    assert put.parameters == ()


def test_converts_swagger_security_to_openapi(apis: Apis, add: Add) -> None:
    add(SWAGGER)
    shown = show_operation(apis, "old", "/things", "get")
    assert "Auth: basic (http basic) or key (apiKey in query 'k')" in shown
    assert "size: integer(int64)" in shown


def test_swagger_without_a_host_keeps_its_base_path() -> None:
    assert parse_description("swagger: '2.0'\nbasePath: /v2\npaths: {}\n").overview.servers == ("/v2",)
    assert parse_description("swagger: '2.0'\nhost: h\npaths: {}\n").overview.servers == ("https://h",)
    assert parse_description("swagger: '2.0'\npaths: {}\n").overview.servers == ()


def test_parses_new_methods_of_openapi_3_2() -> None:
    found = parse_description(
        "openapi: 3.2.0\ninfo: {title: A}\npaths:\n  /docs/{id}:\n    parameters: [{name: id, in: path}]\n"
        "    query: {summary: Ask}\n    additionalOperations:\n      COPY: {summary: Copy a document}\n"
    )
    assert [operation.key for operation in found.operations] == ["QUERY /docs/{id}", "COPY /docs/{id}"]
    copy = found.operations[1]
    assert (copy.summary, copy.pointer) == ("Copy a document", "#/paths/~1docs~1{id}/additionalOperations/COPY")
    assert [parameter.name for parameter in copy.parameters] == ["id"]


def test_streamed_response_becomes_an_array_of_its_items() -> None:
    operation = parse_single_operation(
        "openapi: 3.2.0\ninfo: {title: A}\npaths:\n  /logs:\n    get:\n      responses:\n        '200':\n"
        "          content: {application/jsonl: {itemSchema: {type: object, properties: {line: {type: string}}}}}\n"
    )
    schema = operation.responses[0].contents[0].schema
    assert schema == {"type": "array", "items": {"type": "object", "properties": {"line": {"type": "string"}}}}
