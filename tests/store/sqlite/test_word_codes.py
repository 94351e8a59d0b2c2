"""Words are stored as codes, which are found in joined codes only as a whole and can be converted back."""

from __future__ import annotations

import sqlite3

import pytest

from deltos.store.sqlite.word_codes import WORD_TABLE, WordCoder, code_of, codes_of

BOUNDARY_NUMBERS = (0, 1, 127, 128, (1 << 13) - 1, 1 << 13, (1 << 19) - 1, 1 << 19, (1 << 26) - 1)


@pytest.fixture
def connection() -> sqlite3.Connection:
    """An empty table of words."""
    connection = sqlite3.connect(":memory:")
    connection.executescript(WORD_TABLE)
    return connection


@pytest.mark.parametrize("number", BOUNDARY_NUMBERS)
def test_a_code_occurs_in_joined_codes_only_as_a_whole(number: int) -> None:
    others = [code_of(other) for other in BOUNDARY_NUMBERS if other != number]
    assert code_of(number) not in b"".join(others)
    assert code_of(number) not in b"".join(reversed(others))
    assert code_of(number) in b"".join([*others[:3], code_of(number), *others[3:]])


def test_joined_codes_are_converted_back_to_words(connection: sqlite3.Connection) -> None:
    coder = WordCoder(connection)
    words = [f"word{number}" for number in range(20_000)]
    coder.add(words)
    joined = coder.join(words[:3] + words[-3:])
    assert coder.words_in(joined) == words[:3] + words[-3:]
    coder.add(["later"])
    assert coder.words_in(coder.join(["later"])) == ["later"]
    assert WordCoder(connection).words_in(joined) == words[:3] + words[-3:]


def test_a_word_keeps_its_code_and_an_unknown_word_has_none(connection: sqlite3.Connection) -> None:
    WordCoder(connection).add(["cache", "größe"])
    before = codes_of(connection, ["cache", "größe", "absent"])
    WordCoder(connection).add(["größe", "more"])
    assert codes_of(connection, ["cache", "größe", "absent"]) == before
    assert set(before) == {"cache", "größe"}
