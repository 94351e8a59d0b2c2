"""Identifiers are distinguished from the words of a sentence."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltos.text.identifier_parts import ASCII_PART
from deltos.text.identifiers import (
    SYMBOL_SIGNS,
    is_distinctive,
    last_part,
    looks_like_code,
    names_in_prose,
    names_in_question,
    spaced,
    split_identifier,
    symbols_in_query,
    words_inside,
)


@pytest.mark.parametrize("name", ["parseUrl", "parse_url", "std::vector", "os.open(path", "run()"])
def test_names_are_distinguished_from_words(name: str) -> None:
    assert looks_like_code(f"how does {name} work")
    assert looks_like_code(name, SYMBOL_SIGNS)


def test_only_code_search_treats_a_plural_acronym_as_a_name() -> None:
    assert looks_like_code("IDs", SYMBOL_SIGNS)
    assert not looks_like_code("IDs")
    assert not looks_like_code("Parser")


def test_a_digit_makes_a_name_distinctive() -> None:
    assert is_distinctive("utf8")
    assert not is_distinctive("open")


def test_each_domain_finds_the_code_names_in_its_questions() -> None:
    assert symbols_in_query("where does JsonReader call _peek( today", is_symbol=False) == ["JsonReader", "_peek"]
    assert symbols_in_query("Parser.feed", is_symbol=True) == ["Parser.feed", "feed"]
    assert names_in_question("what does Path.read_text() return?") == {"path.read_text", "read_text"}
    assert names_in_prose("In src/app.py the Parser calls readLine. Plain words.") == ["src/app.py", "readLine"]


def test_names_are_split() -> None:
    assert last_part("std::io->Reader") == "Reader"
    assert spaced("GetHTTPHeader") == "Get HTTP Header"
    assert spaced("GetHTTPHeader", after_acronyms=False) == "Get HTTPHeader"
    assert words_inside(["src/naïveParser.py", "parser"]) == "src na ve parser py"


@given(st.text("abXYZ_19-éß٣", max_size=20))
def test_both_splitters_agree_on_ascii(text: str) -> None:
    ours = [part for part in split_identifier(text) if part.isascii() or part.isdecimal()]
    assert ours == [part.lower() for part in ASCII_PART.findall(text)]
