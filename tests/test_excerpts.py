"""Excerpts that were already shown in a conversation."""

from __future__ import annotations

from deltos.shown_excerpts import SHOWN_FOR_ANSWERS, SHOWN_FOR_SECONDS, ShownExcerpts


def test_an_excerpt_is_identified_by_its_id_and_its_text() -> None:
    excerpts = ShownExcerpts()
    excerpts.note([("code:a.py#f", "def f(): ...")])
    assert excerpts.has("code:a.py#f", "def f(): ...")
    assert not excerpts.has("code:a.py#f", "def f(x): ...")
    assert not excerpts.has("code:b.py#f", "def f(): ...")


def test_the_oldest_excerpts_are_forgotten_when_there_are_too_many() -> None:
    excerpts = ShownExcerpts()
    excerpts.note([(f"doc:{number}", "text") for number in range(20_001)])
    assert not excerpts.has("doc:0", "text")
    assert excerpts.has("doc:20000", "text")


def test_an_excerpt_counts_as_shown_for_a_limited_time() -> None:
    now = [0.0]
    excerpts = ShownExcerpts(clock=lambda: now[0])
    excerpts.note([("doc:1", "text")])
    now[0] = SHOWN_FOR_SECONDS - 1
    assert excerpts.answering("a question").has("doc:1", "text")
    now[0] = SHOWN_FOR_SECONDS
    assert not excerpts.answering("another question").has("doc:1", "text")


def test_an_excerpt_counts_as_shown_for_a_limited_number_of_answers() -> None:
    excerpts = ShownExcerpts(clock=lambda: 0.0)
    excerpts.note([("doc:1", "text")])
    for number in range(SHOWN_FOR_ANSWERS):
        assert excerpts.answering(f"question {number}").has("doc:1", "text")
    assert not excerpts.answering("one more").has("doc:1", "text")
    excerpts.note([("doc:1", "text")])
    assert excerpts.answering("and one more").has("doc:1", "text")


def test_a_repeated_question_is_answered_in_full() -> None:
    excerpts = ShownExcerpts()
    assert not excerpts.answering("How is  it done?").has("doc:1", "text")
    excerpts.note([("doc:1", "text")])
    assert excerpts.answering("something else").has("doc:1", "text")
    assert not excerpts.answering("how is it done?").has("doc:1", "text")
