"""Matching of globs given by callers."""

from __future__ import annotations

from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltos.errors import BadArgument
from deltos.globs import MAX_GLOB_CHARACTERS, matches_glob

TEXTS = st.text(st.sampled_from("ab-]/[!.ä\n"), max_size=6)


@given(TEXTS, st.text(st.sampled_from("ab*?[]!-./ä\n\\"), max_size=9))
def test_a_glob_matches_like_the_standard_library(text: str, glob: str) -> None:
    assert matches_glob(text, glob) == fnmatchcase(text, glob)


@pytest.mark.parametrize("fragment", ["[", "*a", "a*", "[a-", "?*", "[!", "*[ab]", "[]"])
def test_every_glob_is_matched_quickly(fragment: str) -> None:
    glob = (fragment * MAX_GLOB_CHARACTERS)[: MAX_GLOB_CHARACTERS - 1] + "c"
    assert not matches_glob("a" * 100_000 + "b", glob)


def test_a_glob_that_is_too_long_is_refused_with_a_message() -> None:
    with pytest.raises(BadArgument, match="characters"):
        matches_glob("a", "[" * 40_000)


def test_names_that_are_not_unicode_match_only_wildcards() -> None:
    assert matches_glob("caf\udce9.md", "*.md")
    assert not matches_glob("caf\udce9.md", "café.md")
