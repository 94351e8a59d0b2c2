"""Tags are words with a leading number sign."""

from __future__ import annotations

import pytest

from deltos.text.tags import has_tag, tag_of, with_tags


@pytest.mark.parametrize(
    ("text", "tag", "is_found"),
    [
        ("Fix login #auth", "auth", True),
        ("Fix login (#123).", "123", True),
        ("Fix login #1234", "123", False),
        ("Fix #auth-tokens", "auth", False),
        ("Fix #auth-tokens", "auth-tokens", True),
        ("Fix #auth - now", "auth", True),
        ("Fix #Auth", "auth", True),
        ("c#auth", "auth", False),
        ("#authority, #auth", "auth", True),
        ("auth", "auth", False),
    ],
)
def test_a_tag_ends_where_its_word_ends(text: str, tag: str, is_found: bool) -> None:
    assert has_tag(text, tag) is is_found


@pytest.mark.parametrize(
    ("given", "tag"), [("#Auth", "auth"), (" two words ", "two-words"), ("a\0b", "ab"), ("##", "")]
)
def test_tags_are_compared_without_the_number_sign(given: str, tag: str) -> None:
    assert tag_of(given) == tag


def test_duplicate_tags_are_added_only_once() -> None:
    assert with_tags("We use #redis", ["redis", "Cache", "cache"]) == "We use #redis\n#cache"
    assert with_tags("plain", []) == "plain"
