"""Example calls: they parse as shell, go to the right place and carry no code of the author."""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from deltos.domains.apis.example import example_call, typed
from deltos.domains.apis.model import ApiParameter, Content, Operation, Overview, SecurityScheme

if TYPE_CHECKING:
    from pathlib import Path

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


def words(overview: Overview = OVERVIEW, folder: Path | None = None, **fields: Any) -> list[str]:
    """What a real shell hands to curl when the variables hold their own names."""
    operation = Operation(**{"method": "GET", "path": "/a", "pointer": "#/x", **fields})
    call = example_call(operation, overview, lambda _: None)
    variables = {name: f"<{name}>" for name in re.findall(r"\$([A-Z_]+)", call)}
    script = f"curl() {{ printf '%s\\0' \"$@\"; }}\n{call}"
    done = subprocess.run(["sh", "-c", script], env=variables, cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.split("\0")[:-1]


def test_parameters_are_filled_with_examples_or_variables() -> None:
    parameters = (
        ApiParameter("id", "path", True, {"type": "string"}),
        ApiParameter("kind", "path", True, {"example": "a b"}),
        ApiParameter("limit", "query", True, {"default": 10}),
        ApiParameter("optional", "query", False, {}),
        ApiParameter("X-Trace", "header", True, {}),
    )
    assert words(path="/things/{id}/{kind}", parameters=parameters) == [
        *("https://t.example/v1/things/<ID>/a%20b?limit=10", "-H", "X-Trace: <X_TRACE>")
    ]


@pytest.mark.parametrize(
    ("scheme", "expected"),
    [
        ("bearer", ["-H", "Authorization: Bearer <TOKEN>"]),
        ("basic", ["-u", "<USERNAME>:<PASSWORD>"]),
        ("header", ["-H", "X-Key: <API_KEY>"]),
        ("cookie", ["-b", "sid=<API_KEY>"]),
        ("odd", []),
        ("unknown", []),
    ],
)
def test_the_first_way_to_authenticate_is_used(scheme: str, expected: list[str]) -> None:
    assert words(security=((), (scheme,), ("bearer",)))[1:] == expected


def test_a_key_in_the_query_joins_the_address() -> None:
    assert words(security=(("query",),))[0] == "https://t.example/v1/a?key=<API_KEY>"


def test_json_is_preferred_and_sent_as_such() -> None:
    bodies = (Content("application/xml", {}), Content("application/json", {"properties": {"a": {"type": "string"}}}))
    assert words(method="POST", bodies=bodies)[3:] == ["-H", "Content-Type: application/json", "-d", '{"a": "string"}']


def test_a_written_example_is_used_unless_it_is_too_long() -> None:
    schema = {"properties": {"a": {"type": "integer"}}}
    assert words(bodies=(Content("application/json", schema, {"b": 2}),))[-1] == '{"b": 2}'
    assert words(bodies=(Content("application/json", schema, {"b": "x" * 900}),))[-1] == '{"a": 1}'
    long = {"properties": {"a": {"example": "y" * 900}}}
    assert words(bodies=(Content("application/json", long),))[-1] == "@body.json"


def test_forms_are_sent_field_by_field() -> None:
    schema = {"properties": {"a": {"type": "string"}, "b": {"type": "array", "items": {"type": "integer"}}}}
    assert words(bodies=(Content("multipart/form-data", schema),))[1:] == ["-F", "a=string", "-F", "b=[1]"]
    assert words(bodies=(Content("application/x-www-form-urlencoded", schema),))[1] == "--data-urlencode"


def test_a_server_that_is_no_address_becomes_a_variable() -> None:
    assert words(Overview("T", "1", "OpenAPI 3.0.0", servers=("/v2",)))[0] == "<BASE_URL>/v2/a"
    assert words(server="https://own.example")[0] == "https://own.example/a"


def test_nothing_in_a_description_can_run_in_the_shell(tmp_path: Path) -> None:
    evil = "`touch a`$(touch b)\";touch c;'\n&& touch d\\"
    given = words(
        folder=tmp_path,
        method=f"GET{evil}",
        path=f"/{evil}",
        server=f"https://{evil}",
        parameters=(ApiParameter(evil, "query", True, {"example": evil}), ApiParameter(evil, "header", True, {})),
        bodies=(Content("application/json", {"example": {evil: evil}}),),
    )
    assert list(tmp_path.iterdir()) == []
    assert len(given) == 9


def test_webhooks_have_no_call() -> None:
    assert words(webhook=True) == []


def test_an_example_that_only_begins_like_a_list_stays_text() -> None:
    nested = "[" * 5_000
    assert typed(nested, {"type": "array"}) == nested
