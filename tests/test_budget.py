"""Answers stay within their token budget."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from deltos.budget import MAX_ANSWER_CHARACTERS, Fitted, characters_for, estimate_tokens, fit, truncate


def test_four_characters_count_as_one_token() -> None:
    assert [estimate_tokens("x" * length) for length in (0, 1, 4, 5)] == [0, 1, 1, 2]


def test_a_budget_never_exceeds_the_hard_cap() -> None:
    assert characters_for(5_000) == 20_000
    assert characters_for(10**9) == MAX_ANSWER_CHARACTERS


def test_results_that_fit_are_not_truncated() -> None:
    assert fit(["aa", "bb"], characters=5) == Fitted(("aa", "bb"), 5, truncated=False)


def test_truncation_happens_between_results() -> None:
    assert fit(["aaa", "bbb", "c"], characters=7) == Fitted(("aaa", "bbb"), 9, truncated=True)


def test_the_first_result_is_truncated_only_if_it_exceeds_the_budget() -> None:
    fitted = fit(["a" * 100, "b"], characters=50)
    assert fitted.truncated
    assert fitted.pieces == ("a" * 36 + "\n… (truncated)",)


def test_fitting_no_results_gives_an_empty_answer() -> None:
    assert fit([], characters=10) == Fitted((), 0, truncated=False)


def test_text_is_truncated_at_a_nearby_line_end() -> None:
    assert truncate("one line\nanother longer line", characters=25) == "one line\n… (truncated)"
    assert truncate("a\n" + "b" * 40, characters=20) == "a\n" + "b" * 4 + "\n… (truncated)"
    assert truncate("short", characters=5) == "short"
    assert truncate("a longer line of text", characters=10) == "\n… (trunca", (
        "the truncation marker must count towards the limit"
    )


@given(st.lists(st.text(max_size=30), max_size=10), st.integers(10, 200), st.sampled_from(["", "\n", "\n---\n"]))
def test_fitted_text_is_within_the_limit_and_truncation_is_always_reported(
    pieces: list[str], characters: int, separator: str
) -> None:
    fitted = fit(pieces, characters=characters, separator=separator)
    whole, shown = separator.join(pieces), separator.join(fitted.pieces)
    assert len(shown) <= characters
    assert fitted.original_characters == len(whole)
    assert fitted.truncated == (len(shown) < len(whole))
    if len(fitted.pieces) > 1 or not fitted.truncated:
        assert list(fitted.pieces) == pieces[: len(fitted.pieces)]
