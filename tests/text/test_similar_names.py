"""Suggestions of names similar to an unknown one."""

from __future__ import annotations

import pytest

from deltos.text.similar_names import similar_names

KNOWN = [
    "create", "recreate", "createURL", "clear_cache", "Cache", "testFormParamsEncodedProperly", "describeKind",
    "testCanRetryExceptions", "Cart", "TransferStats", "HTTPClient", "ERROR_MUI_INVALID_FILE", "get",
]  # fmt: skip


@pytest.mark.parametrize(
    ("wanted", "suggestions"),
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
def test_only_similar_names_are_suggested(wanted: str, suggestions: list[str]) -> None:
    assert similar_names(wanted, KNOWN, limit=3) == suggestions


def test_the_most_similar_names_come_first_up_to_the_limit() -> None:
    assert similar_names("creat", KNOWN, limit=2) == ["create", "recreate"]
    assert similar_names("x", [], limit=3) == []


@pytest.mark.parametrize(
    ("wanted", "suggestions"),
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
def test_special_names_of_python_are_suggested_only_for_such_names(wanted: str, suggestions: list[str]) -> None:
    assert similar_names(wanted, ["__and__", "Money.__and__", "__hidden"], limit=3) == suggestions
