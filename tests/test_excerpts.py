"""What a conversation was shown."""

from __future__ import annotations

from deltos.excerpts import Excerpts


def test_an_excerpt_is_known_by_its_id_and_its_text() -> None:
    excerpts = Excerpts()
    excerpts.note([("code:a.py#f", "def f(): ...")])
    assert excerpts.has("code:a.py#f", "def f(): ...")
    assert not excerpts.has("code:a.py#f", "def f(x): ...")
    assert not excerpts.has("code:b.py#f", "def f(): ...")


def test_the_oldest_excerpts_are_forgotten_when_there_are_too_many() -> None:
    excerpts = Excerpts()
    excerpts.note([(f"doc:{number}", "text") for number in range(20_001)])
    assert not excerpts.has("doc:0", "text")
    assert excerpts.has("doc:20000", "text")
