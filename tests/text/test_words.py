"""Words are extracted from code and queries."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltos.text import words as module
from deltos.text.identifiers import split_identifier
from deltos.text.words import Words, documentation_query_words, documentation_words, plain_words, unique

WORDS = Words()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("parseHTTPResponse", "pars http respons parsehttpresponse"),
        ("snake_case_name", "snake case name snakecasename"),
        ("SCREAMING_CASE", "scream case screamingcase"),
        ("connections connecting", "connect connect"),
        ("utf8", "utf utf8"),
        ("the self return", ""),
        ("a b c", ""),
        ("x" * 65, ""),
        ("größe", "gr öß größe"),
        ("データベース", "データベース デー タベ ース"),
        ("接続する", "接続 続す する"),
        ("用", "用"),
        ("長" * 70, "長長"),
    ],
)
def test_identifiers_are_split_and_stemmed_and_compounds_kept(text: str, words: str) -> None:
    assert set(WORDS.of(text).split()) >= set(words.split())
    assert bool(WORDS.of(text)) == bool(words)


def test_a_question_and_its_answer_share_words() -> None:
    code = set(WORDS.of("def load_user_settings(path):").split())
    question = set(WORDS.of("where are the user settings loaded").split())
    assert {"load", "user", "set"} <= code & question


@given(st.text(max_size=80))
def test_words_contain_no_white_space_or_quotes(text: str) -> None:
    for word in WORDS.of(text).split(" "):
        assert '"' not in word
        assert word == "" or word.split() == [word]


def test_the_word_cache_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MAX_CACHED_WORDS", 10)
    words = Words()
    for number in range(100):
        words.of(f"word{number}")
    assert len(words._cache) <= 10
    assert words.of("word1") == WORDS.of("word1")


def test_identifiers_and_texts_are_split() -> None:
    assert split_identifier("HTTPServer_port2") == ["http", "server", "port", "2"]
    assert plain_words("a-b c.d") == ["a", "b", "c", "d"]
    assert unique(["b", "a", "b"]) == ["b", "a"]


@pytest.mark.parametrize(
    ("text", "words", "asked"),
    [
        ("execute statements from C", "execut statement c", "execut statement c"),
        ("interface to C++ objects", "interfac cpp object", "interfac cpp object"),
        ("C#, F# and .NET", "csharp fsharp dotnet net", "csharp fsharp dotnet net"),
        ("How do I use R?", "how use r", "how use r"),
        ("Go and D.", "go d", "go d"),
        ("call c from R", "call r", "call c r"),
        ("A plan: I don't. What's e.g. a B-tree at AT&T?", "plan don what tree", "plan don what tree"),
        ("System.Net example.net x.C vitamin-C", "system net exampl net vitamin", "system net exampl net vitamin"),
    ],
)
def test_documentation_words_include_single_letters_and_names_with_punctuation(
    text: str, words: str, asked: str
) -> None:
    assert documentation_words(text) == words
    assert documentation_query_words(text) == asked


def test_other_documentation_words_are_extracted_as_in_code() -> None:
    text = "parseHTTPResponse of connections, データベース, a self.return"
    assert documentation_words(text) == documentation_query_words(text) == WORDS.of(text)
