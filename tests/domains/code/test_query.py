"""Code search queries are parsed into names, literals, patterns and words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltos.domains.code.query.parse import MAX_QUERY_CHARACTERS, MAX_TERMS, CodeQuery, parse_query
from deltos.errors import BadArgument
from deltos.text.words import Words

WORDS = Words()


def parsed_query(text: str) -> CodeQuery:
    return parse_query(text, WORDS)


@pytest.mark.parametrize(
    "text",
    ["parse", "parse_args", "parseArgs", "ArgumentParser", "Parser.parse_args", "std::vector", "File#read", "valid?",
     "save!", "$scope", "_private", "parse_args()", "a/b", "ptr->next"],
)  # fmt: skip
def test_a_name_is_a_symbol(text: str) -> None:
    query = parsed_query(text)
    assert query.kind == "symbol"
    assert query.names[0] == text.removesuffix("()")


def test_the_last_part_of_a_dotted_name_is_looked_up_too() -> None:
    assert parsed_query("Parser.parse_args").names == ("Parser.parse_args", "parse_args")
    assert parsed_query("std::vector").names == ("std::vector", "vector")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("where is parse_args called", ("parse_args",)),
        ("how does HTTPServer work", ("HTTPServer",)),
        ("convert Foo.bar() to json", ("Foo.bar", "bar")),
        ("read the file", ()),
    ],
)
def test_names_inside_a_question_are_found(text: str, names: tuple[str, ...]) -> None:
    query = parsed_query(text)
    assert query.kind == "words"
    assert set(names) <= set(query.names)
    assert bool(names) == bool(query.names)


@pytest.mark.parametrize(
    ("text", "literal"),
    [('"not found"', "not found"), ("'x = 1'", "x = 1"), ("`a && b`", "a && b"), ('  "("  ', "("), ('"日本"', "日本")],
)
def test_a_quoted_text_is_a_literal(text: str, literal: str) -> None:
    assert parsed_query(text) == CodeQuery(literal, "literal")


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("/def \\w+/", "def \\w+"),
        ("/TODO/i", "(?i)TODO"),
        ("def \\w+\\(", "def \\w+\\("),
        ("raise .*Error", "raise .*Error"),
        ("^import", "^import"),
        ("foo(bar|baz)", "foo(bar|baz)"),
        ("[a-z]+_id", "[a-z]+_id"),
    ],
)
def test_a_regular_expression_is_recognised(text: str, pattern: str) -> None:
    assert parsed_query(text) == CodeQuery(pattern, "pattern")


@pytest.mark.parametrize(
    "text",
    [
        "what does foo.bar do",
        "a OR b AND c NOT d",
        'the "quoted" word inside',
        "does it cost 5$ or more than that",
        "NEAR(a b, 5)",
        "col:value *",
        "C++",
        "path/to some/where",
    ],
)
def test_other_text_is_searched_by_its_words(text: str) -> None:
    query = parsed_query(text)
    assert query.kind == "words"
    assert query.terms


def test_question_words_stop_words_and_the_verbs_of_commits_are_dropped() -> None:
    assert parsed_query("how does the server handle a timeout").terms == ("server", "timeout")
    assert parsed_query("Fix crash when parsing headers").terms == ("crash", "pars", "header")
    assert parsed_query("where is it").terms != ()


def test_adjacent_words_are_joined() -> None:
    assert {"ratelimit", "limitmiddleware", "ratelimitmiddleware"} <= set(parsed_query("rate limit middleware").joined)


def test_a_query_about_tests_is_recognised() -> None:
    assert parsed_query("tests of the parser").about_tests
    assert not parsed_query("parser").about_tests


@pytest.mark.parametrize("text", ["", "   ", "\n\t", "\0\x01\x1b"])
def test_an_empty_query_raises(text: str) -> None:
    with pytest.raises(BadArgument, match="query is empty"):
        parsed_query(text)


def test_control_characters_are_read_as_spaces() -> None:
    assert parsed_query("rate\0limit\x1b").terms == parsed_query("rate limit").terms


def test_a_very_long_query_is_truncated() -> None:
    query = parsed_query("some words that repeat and repeat " * 300)
    assert len(query.text) <= MAX_QUERY_CHARACTERS
    many = parsed_query(" ".join(f"word{n}x" for n in range(2_000)))
    assert len(many.terms) == MAX_TERMS
    assert len(many.joined) <= 2 * MAX_TERMS


@given(st.text(max_size=60))
def test_any_text_is_parsed_or_rejected_with_an_error(text: str) -> None:
    try:
        query = parsed_query(text)
    except BadArgument:
        return
    assert query.kind in ("words", "symbol", "literal", "pattern")
    assert query.text


def test_any_text_can_be_parsed_as_words() -> None:
    assert parse_query('"raise .*Error"', WORDS, exact=False).kind == "words"
