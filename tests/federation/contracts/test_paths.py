"""Path templates of different frameworks."""

from __future__ import annotations

import pytest

from deltos.federation.contracts.paths import from_regex, is_public_host, match_paths, template, url_host, url_path


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/users/:id", "/users/{id}"),
        ("users/<int:id>/", "/users/{id}"),
        ("/users/<id>", "/users/{id}"),
        ("/users/{id:int}", "/users/{id}"),
        ("/users/{id?}", "/users/{id}"),
        ("/users/:id(\\d+)", "/users/{id}"),
        ("/u/{id:[0-9]{2}}", "/u/{id}"),
        ("/files/{path:path}", "/files/{path*}"),
        ("/files/*", "/files/{path*}"),
        ("/files/{*rest}", "/files/{rest*}"),
        ("/files/{rest...}", "/files/{rest*}"),
        ("/v1/books:cancel", "/v1/books:cancel"),
        ("/a/:name.:format", "/a/{name}.{format}"),
        ("", "/"),
    ],
)
def test_parameters_of_path_templates_are_converted_to_braces(path: str, expected: str) -> None:
    assert template(path) == expected


def test_regular_expressions_become_templates() -> None:
    assert from_regex(r"^users/(?P<pk>[0-9]+)/x\.json$") == "users/{pk}/x.json"


def test_base_and_query_string_are_removed_from_urls() -> None:
    assert url_path("{?base}/users/{id}?full=1") == ("/users/{id}", True)
    assert url_path("http://orders:8000/users") == ("/users", True)
    assert url_path("/users#top") == ("/users", False)
    assert url_host("https://user@api.shop.com:80/x") == "api.shop.com"
    assert [is_public_host(host) for host in ("api.shop.com", "orders", "10.0.0.1", "a.svc", "")] == [
        True,
        False,
        False,
        False,
        False,
    ]


@pytest.mark.parametrize(
    ("operation", "code", "bases", "certain"),
    [
        ("/orders/{id}", "/orders/{order_id}", (), True),
        ("/orders/{id}", "/api/v1/orders/{id}", ("/api/v1",), True),
        ("/orders/{id}", "/api/orders/{id}", (), False),
        ("/orders/{id}", "/orders/me", (), False),
        ("/orders/{id}", "/users/{id}", (), None),
        ("/{a}/{b}", "/{c}/x", (), None),
        ("/orders", "/{tenant}/orders", (), None),
    ],
)
def test_path_templates_match_across_frameworks(
    operation: str, code: str, bases: tuple[str, ...], certain: bool | None
) -> None:
    found = match_paths(operation, code, bases)
    assert (found.certain if found else None) is certain
