from __future__ import annotations

import pytest
from training.pairs import TEXT_CHARACTERS, make_pair, to_query


@pytest.mark.parametrize(
    ("raw", "query"),
    [
        ("Compute the area. Slow for large shapes.", "Compute the area"),
        ("  # Install `the` *package*  ", "Install the package"),
        ("<b>Draw</b> many circles\n  at once", "Draw many circles at once"),
    ],
)
def test_a_question_is_the_first_sentence_without_markup(raw: str, query: str) -> None:
    assert to_query(raw) == query


@pytest.mark.parametrize(
    "raw", ["", "x", "Notes", "Copyright 2020 by somebody else", "TODO make this fast", "a 1 2 3 4 5 = + - 6 7 8 9 10"]
)
def test_texts_that_are_too_short_or_part_of_a_licence_are_not_questions(raw: str) -> None:
    assert to_query(raw) is None


def test_a_pair_requires_a_text_and_truncates_a_long_one() -> None:
    assert make_pair("doc", "compute the area", "too short") is None
    found = make_pair("doc", "compute the area", "word " * 1000)
    assert found is not None
    assert len(found.text) <= TEXT_CHARACTERS
