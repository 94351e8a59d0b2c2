"""Example calls are valid shell commands with the right URL and run no code from descriptions."""

from __future__ import annotations

import json
import re
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from deltos.domains.apis.example import example_call
from deltos.domains.apis.model import ApiParameter, Content, Operation, Overview, SecurityScheme
from deltos.domains.apis.sample import Sampler, coerce_to_type

if TYPE_CHECKING:
    from pathlib import Path

FORM = "application/x-www-form-urlencoded"
OVERVIEW = Overview(
    "T",
    "1",
    "OpenAPI 3.0.0",
    servers=("https://t.example/v1/",),
    security_schemes=(
        SecurityScheme("bearer", "http", "bearer"),
        SecurityScheme("basic", "http", "basic"),
        SecurityScheme("header", "apiKey", location="header", parameter="X-Key"),
        SecurityScheme("query", "apiKey", location="query", parameter="key"),
        SecurityScheme("cookie", "apiKey", location="cookie", parameter="sid"),
        SecurityScheme("odd", "mutualTLS"),
    ),
)


def curl_words(overview: Overview = OVERVIEW, folder: Path | None = None, **fields: Any) -> list[str]:
    """Return the words that a real shell passes to curl if each variable contains its own name."""
    operation = Operation(**{"method": "GET", "path": "/a", "pointer": "#/x", **fields})
    call = example_call(operation, overview, lambda _: None)
    variables = {name: f"<{name}>" for name in re.findall(r"\$\{?([A-Z_0-9]+)", call)}
    script = f"curl() {{ printf '%s\\0' \"$@\"; }}\n{call}"
    done = subprocess.run(["sh", "-c", script], env=variables, cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.split("\0")[:-1]


def test_a_missing_slash_before_the_path_is_added() -> None:
    assert curl_words(path="orders/broken") == ["https://t.example/v1/orders/broken"]


def test_fills_parameters_with_examples_or_variables() -> None:
    parameters = (
        ApiParameter("id", "path", True, {"type": "string"}),
        ApiParameter("kind", "path", True, {"example": "a b"}),
        ApiParameter("limit", "query", True, {"default": 10}),
        ApiParameter("optional", "query", False, {}),
        ApiParameter("X-Trace", "header", True, {}),
    )
    assert curl_words(path="/things/{id}/{kind}", parameters=parameters) == [
        *("https://t.example/v1/things/<MY_ID>/a%20b?limit=10", "-H", "X-Trace: <MY_X_TRACE>")
    ]


def test_names_of_variables_differ_from_names_that_shells_reserve() -> None:
    assert curl_words(path="/repos/{owner}/contents/{path}", method="PUT")[2:] == [
        "https://t.example/v1/repos/<MY_OWNER>/contents/<MY_PATH>"
    ]
    assert curl_words(path="/jobs/{id}:cancel/{a}{b}_x/{2fa}/{größe}/{id}.json") == [
        "https://t.example/v1/jobs/<MY_ID>:cancel/<MY_A><MY_B>_x/<MY_2FA>/<MY_GR_E>/<MY_ID>.json"
    ]


@pytest.mark.parametrize("given", ["{{PAGE_ID}}", "{id}", "<your-id>"])
def test_placeholders_become_variables(given: str) -> None:
    id_ = ApiParameter("id", "path", True, {"type": "string", "example": given})
    assert curl_words(path="/pages/{id}", parameters=(id_,)) == ["https://t.example/v1/pages/<MY_ID>"]


def test_sends_json_example_of_a_parameter() -> None:
    where = ApiParameter("where", "query", True, {"type": "string", "example": '{"a": 1}'})
    assert curl_words(path="/rows", parameters=(where,)) == ["https://t.example/v1/rows?where=%7B%22a%22%3A%201%7D"]


@pytest.mark.parametrize(
    ("scheme", "expected"),
    [
        ("bearer", ["-H", "Authorization: Bearer <TOKEN>"]),
        ("basic", ["-u", "<API_USER>:<API_PASSWORD>"]),
        ("header", ["-H", "X-Key: <API_KEY>"]),
        ("cookie", ["-b", "sid=<API_KEY>"]),
        ("odd", []),
        ("unknown", []),
    ],
)
def test_uses_the_first_authentication_scheme(scheme: str, expected: list[str]) -> None:
    assert curl_words(security=((), (scheme,), ("bearer",)))[1:] == expected


def test_adds_api_key_to_the_query_string() -> None:
    assert curl_words(security=(("query",),))[0] == "https://t.example/v1/a?key=<API_KEY>"


def test_prefers_json_bodies() -> None:
    bodies = (Content("application/xml", {}), Content("application/json", {"properties": {"a": {"type": "string"}}}))
    assert curl_words(method="POST", bodies=bodies)[3:] == [
        "-H",
        "Content-Type: application/json",
        "-d",
        '{"a": "string"}',
    ]


def post_arguments(*bodies: Content) -> list[str]:
    """Return the curl arguments after the method and the URL of a POST example."""
    return curl_words(method="POST", bodies=bodies)[3:]


def example_body(media_type: str, schema: Any, example: Any = None) -> Any:
    """Return the JSON body of an example call."""
    return json.loads(post_arguments(Content(media_type, schema, (example,)))[-1])


def test_uses_example_of_the_description_unless_it_is_too_long() -> None:
    names = [f"field_number_{number}" for number in range(400)]
    schema = {"properties": {"a": {"type": "integer"}}}
    assert example_body("application/json", schema, {"b": 2}) == {"b": 2}
    assert example_body("application/json", schema, {"b": "x" * 900}) == {"a": 1}
    assert example_body("application/json", {"properties": {"a": {"type": "string", "example": "y" * 900}}}) == {
        "a": "string"
    }
    wide = {"required": names, "properties": {key: {"type": "string"} for key in names}}
    assert post_arguments(Content("application/json", wide))[-1] == "@body.json"


def test_sends_forms_field_by_field() -> None:
    fields = {"a": {"type": "string"}, "b": {"type": "array", "items": {"type": "integer"}}}
    schema = {"required": ["a", "b"], "properties": fields}
    assert post_arguments(Content("multipart/form-data", schema)) == ["-F", "a=string", "-F", "b=1"]
    assert post_arguments(Content(FORM, schema)) == ["--data-urlencode", "a=string", "--data-urlencode", "b=1"]


def test_form_repeats_fields_for_lists_and_uses_brackets_for_inner_keys() -> None:
    items = {"type": "array", "minItems": 2, "items": {"type": "integer"}}
    inner = {"properties": {"city": {"type": "string"}}}
    schema = {"required": ["n", "to", "o"], "properties": {"n": items, "to": inner, "o": inner}}
    fields = ["n=1", "n=1", "to[city]=string", "o[city]=string"]
    assert post_arguments(Content(FORM, schema))[1::2] == fields
    lines = {"type": "array", "items": {"required": ["price"], "properties": {"price": {"type": "string"}}}}
    deep = {"required": ["lines", "expand"], "properties": {"lines": lines, "expand": items}}
    content = Content(FORM, deep, deep=("lines", "expand"))
    assert post_arguments(content)[1::2] == ["lines[0][price]=string", "expand[0]=1", "expand[1]=1"]


def test_sends_every_required_form_field() -> None:
    schema = {"required": list("abcdefgh"), "properties": {key: {"type": "string"} for key in "abcdefgh"}}
    assert len(post_arguments(Content(FORM, schema))[1::2]) == 8


def test_only_file_fields_upload_files() -> None:
    schema = {
        "required": ["file", "name"],
        "properties": {"file": {"type": "string", "format": "binary"}, "name": {"example": "@/etc/passwd"}},
    }
    assert post_arguments(Content("multipart/form-data", schema)) == [
        "-F",
        "file=@file",
        "--form-string",
        "name=@/etc/passwd",
    ]
    assert post_arguments(Content("application/octet-stream", {"type": "string", "format": "binary"}))[2:] == [
        *("--data-binary", "@file")
    ]
    assert post_arguments(Content("text/plain", {"type": "string", "example": "@x"}))[2:] == ["--data-raw", "@x"]


@pytest.mark.parametrize(
    ("method", "offered", "sent"),
    [
        ("POST", ["*/*"], "application/json"),
        ("PATCH", ["*/*"], "application/merge-patch+json"),
        ("PATCH", ["application/json-patch+json", "application/merge-patch+json"], "application/merge-patch+json"),
        ("POST", ["text/*"], "text/plain"),
        ("POST", ["application/xml", "application/vnd.a+json"], "application/vnd.a+json"),
    ],
)
def test_sends_a_media_type_that_the_server_accepts(method: str, offered: list[str], sent: str) -> None:
    bodies = tuple(Content(media_type, {"type": "object"}) for media_type in offered)
    assert curl_words(method=method, bodies=bodies)[3:5] == ["-H", f"Content-Type: {sent}"]


@pytest.mark.parametrize(
    ("schema", "body"),
    [
        ({"type": "object"}, {}),
        ({}, {}),
        ({"$ref": "#/gone"}, {}),
        ({"properties": {"n": {"type": "integer", "example": "7"}}}, {"n": 7}),
        ({"properties": {"ok": {"type": "boolean", "example": "false"}}}, {"ok": False}),
        ({"type": "array", "minItems": 2, "items": {"enum": ["a", "b"]}}, ["a", "a"]),
        ({"properties": {"id": {"type": "string", "readOnly": True}, "a": {"type": "string"}}}, {"a": "string"}),
        ({"required": ["n"], "properties": {"n": {"type": "integer", "minimum": 5}}}, {"n": 5}),
        ({"required": ["n"], "properties": {"n": {"type": "number", "exclusiveMinimum": 2}}}, {"n": 3}),
        ({"required": ["t"], "properties": {"t": {"type": "string", "pattern": "^x-\\d{7}$"}}}, {"t": "<^x-\\d{7}$>"}),
        ({"required": ["t"], "properties": {"t": {"type": "string", "minLength": 8}}}, {"t": "stringxx"}),
        ({"required": ["t"], "properties": {"t": {"type": "string", "maxLength": 3}}}, {"t": "str"}),
        ({"required": ["a", "b"], "allOf": [{"properties": {"a": {"type": "integer"}}}]}, {"a": 1, "b": "string"}),
        (
            {"allOf": [{"required": ["a"], "properties": {"a": {}}}, {"properties": {"a": {"type": "boolean"}}}]},
            {"a": True},
        ),
        (
            {
                "oneOf": [
                    {"properties": {"a": {"type": "integer"}}},
                    {"required": ["b"], "properties": {"b": {"type": "integer"}, "a": {"type": "string"}}},
                ]
            },
            {"a": 1},
        ),
        ({"anyOf": [{"type": "null"}, {"type": "object", "properties": {"a": {"type": "integer"}}}]}, {"a": 1}),
    ],
)
def test_generates_body_with_required_fields(schema: Any, body: Any) -> None:
    assert example_body("application/json", schema) == body


def test_sets_discriminator_to_the_chosen_alternative() -> None:
    targets = {
        "#/Cat": {"required": ["kind"], "properties": {"kind": {"type": "string"}, "lives": {"type": "integer"}}},
        "#/Dog": {"required": ["kind"], "properties": {"kind": {"type": "string"}}},
    }
    schema = {
        "oneOf": [{"$ref": "#/Cat"}, {"$ref": "#/Dog"}],
        "discriminator": {"propertyName": "kind", "mapping": {"cat": "#/Cat", "dog": "#/Dog"}},
    }
    assert Sampler(targets.get).value(schema)["kind"] == "cat"


def test_ignores_example_of_the_description_that_does_not_match_the_schema() -> None:
    schema = {"required": ["a"], "properties": {"a": {"type": "integer"}}}
    assert example_body("application/json", schema, {"b": 1}) == {"a": 1}
    assert example_body("application/json", schema, {"a": "12"}) == {"a": 12}


def test_omits_optional_body_for_methods_without_one() -> None:
    assert curl_words(method="DELETE", bodies=(Content("application/json", {}),))[2:] == ["https://t.example/v1/a"]


def test_fills_cookies_and_enum_parameters() -> None:
    parameters = (
        ApiParameter("state", "query", True, {"enum": ["open", "closed"]}),
        ApiParameter("all", "query", True, {"type": "boolean", "default": False}),
        ApiParameter("sid", "cookie", True, {"type": "string"}),
    )
    assert curl_words(parameters=parameters) == ["https://t.example/v1/a?state=open&all=false", "-b", "sid=<MY_SID>"]


def test_relative_server_becomes_a_variable() -> None:
    assert curl_words(Overview("T", "1", "OpenAPI 3.0.0", servers=("/v2",)))[0] == "<BASE_URL>/v2/a"
    assert curl_words(server="https://own.example")[0] == "https://own.example/a"


def test_description_cannot_inject_shell_commands(tmp_path: Path) -> None:
    evil = "`touch a`$(touch b)\";touch c;'\n&& touch d\\"
    given = curl_words(
        folder=tmp_path,
        method=f"GET{evil}",
        path=f"/{evil}",
        server=f"https://{evil}",
        parameters=(ApiParameter(evil, "query", True, {"example": evil}), ApiParameter(evil, "header", True, {})),
        bodies=(Content("application/json", {"example": {evil: evil}}),),
        body_required=True,
    )
    assert list(tmp_path.iterdir()) == []
    assert len(given) == 9


def test_webhooks_have_no_example_call() -> None:
    assert curl_words(webhook=True) == []


def test_invalid_json_example_stays_text() -> None:
    nested = "[" * 5_000
    assert coerce_to_type(nested, {"type": "array"}) == nested


def test_fragment_of_a_path_is_not_sent() -> None:
    parameters = (ApiParameter("fields", "query", True, {}),)
    assert curl_words(path="/files/{id}#add_link", parameters=parameters) == [
        "https://t.example/v1/files/<MY_ID>?fields=<MY_FIELDS>"
    ]


MACHINE: dict[str, Any] = {
    "type": "object",
    "required": ["size"],
    "properties": {"size": {"type": "string", "example": "small"}, "backups": {"type": "boolean"}},
}
ALL_OF_ALTERNATIVES: dict[str, Any] = {
    "allOf": [{"properties": {"name": {"type": "string"}}, "required": ["name"]}, MACHINE]
}


def test_shows_the_first_alternative_and_the_first_matching_example_of_the_description() -> None:
    other = {"required": ["names"], "properties": {"names": {"type": "array"}}}
    assert example_body("application/json", {"anyOf": [ALL_OF_ALTERNATIVES, other]}) == {
        "name": "string",
        "size": "small",
    }
    written = ({"size": 1}, {"name": "a", "size": "l"}, {"name": "b", "size": "m"})
    shown = post_arguments(Content("application/json", {"anyOf": [ALL_OF_ALTERNATIVES, other]}, written))[-1]
    assert json.loads(shown) == written[1]


def test_keeps_alternative_that_is_not_an_object() -> None:
    inner = {"required": ["tax"], "properties": {"tax": {"anyOf": [ALL_OF_ALTERNATIVES, {"enum": [""]}]}}}
    assert example_body("application/json", inner) == {"tax": {"name": "string", "size": "small"}}
