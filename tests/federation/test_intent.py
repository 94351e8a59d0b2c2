"""The wording of a query suggests the kind of result it asks for."""

from __future__ import annotations

import pytest

from deltos.federation.intent import intent_of


@pytest.mark.parametrize(
    ("query", "kind"),
    [
        ("GET /v1/pets", "api"),
        ("/pets/{id}", "api"),
        ("delete a pet", "api"),
        ("request body of the payment endpoint", "api"),
        ("parse_header", "code"),
        ("Parser.feed()", "code"),
        ("which function parses the header", "code"),
        ("where is the cache cleared", "code"),
        ("how do I enable caching", "doc"),
        ("how to deploy", "doc"),
        ("tutorial for beginners", "doc"),
        ("what did we decide about caching", "obs"),
        ("why do we avoid threads", "obs"),
        ("lessons of the outage last month", "obs"),
    ],
)
def test_query_wording_suggests_a_kind_of_result(query: str, kind: str) -> None:
    leanings = intent_of(query).leanings
    assert max(leanings, key=lambda each: leanings[each]) == kind


def test_query_that_is_a_name_is_recognised() -> None:
    assert intent_of("Parser.feed()").name == "Parser.feed"
    assert intent_of("rate limits").name == ""


def test_plain_words_suggest_no_kind_of_result() -> None:
    assert intent_of("rate limits").leanings == {}
    assert intent_of("rate limits").leaning_to("doc") == 0
