"""Character references with any number are decoded without errors."""

from __future__ import annotations

import pytest

from deltos.html_entities import unescape_html

TOO_LONG = f"&#{'9' * 5_000};"


@pytest.mark.parametrize(
    ("text", "decoded_text"),
    [("a &amp; b", "a & b"), ("&#39;&#x27;", "''"), ("&quokka", "&quokka"), (TOO_LONG, TOO_LONG)],
    ids=["named", "numbers", "none", "a number of 5,000 digits"],
)
def test_character_references_are_decoded_and_other_text_is_kept(text: str, decoded_text: str) -> None:
    assert unescape_html(text) == decoded_text
