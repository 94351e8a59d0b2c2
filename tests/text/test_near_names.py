"""Names that another may have meant."""

from __future__ import annotations

import pytest

from deltos.text.near_names import names_like

KNOWN = [
    "create", "recreate", "createURL", "clear_cache", "Cache", "testFormParamsEncodedProperly", "describeKind",
    "testCanRetryExceptions", "Cart", "TransferStats", "HTTPClient", "ERROR_MUI_INVALID_FILE", "get",
]  # fmt: skip


@pytest.mark.parametrize(
    ("wanted", "near"),
    [
        ("claerCacheValue", ["clear_cache"]),
        ("clearCache", ["clear_cache", "Cache"]),
        ("describeType", ["describeKind"]),
        ("Carrt", ["Cart"]),
        ("TransferStat", ["TransferStats"]),
        ("http_client", ["HTTPClient"]),
        ("retry_exceptions", ["testCanRetryExceptions"]),
        ("Nope", []),
        ("Zyx", []),
        ("createTRPCMsgBroker", []),
        ("UV_EINVAL", []),
        ("", []),
    ],
)
def test_only_what_is_really_alike_is_suggested(wanted: str, near: list[str]) -> None:
    assert names_like(wanted, KNOWN, limit=3) == near


def test_the_most_alike_come_first_and_no_more_than_asked_for() -> None:
    assert names_like("creat", KNOWN, limit=2) == ["create", "recreate"]
    assert names_like("x", [], limit=3) == []


@pytest.mark.parametrize(
    ("wanted", "near"),
    [
        ("brand", []),
        ("_and_", []),
        ("Money.and", []),
        ("__nad__", ["__and__"]),
        ("__an", ["__and__"]),
        ("Money.__and_", ["Money.__and__"]),
        ("__hidn", ["__hidden"]),
        ("hidden_", ["__hidden"]),
    ],
)
def test_special_names_of_python_are_suggested_only_for_such_names(wanted: str, near: list[str]) -> None:
    assert names_like(wanted, ["__and__", "Money.__and__", "__hidden"], limit=3) == near
