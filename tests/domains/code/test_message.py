"""A message that somebody saw is found as it stands in the code, whatever values it was filled with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from deltos.app import App
from deltos.config import Config
from deltos.domains.code.message import message_part
from tests.calling import Desk
from tests.repositories import write_files

if TYPE_CHECKING:
    from pathlib import Path

    from deltos.isolated.process import Workers

FILES = {
    "src/export.py": (
        "def write(rows, most):\n    for row in rows:\n        send(row)\n"
        "    if len(rows) > most:\n"
        '        raise TooLong(f"CSV contains more than {most} bytes")\n\n\n'
        'def more_bytes(csv):\n    """The bytes that a CSV contains, more than enough."""\n    return csv.bytes\n'
    ),
    "tests/test_export.py": 'def test_csv_bytes():\n    assert "CSV contains more than 9 bytes" in seen()\n',
    "src/other.py": "def contains(csv, more):\n    # csv contains more bytes than that\n    return csv\n",
}


@pytest.fixture
def desk(tmp_path: Path, workers: Workers) -> Desk:
    project = tmp_path / "project"
    write_files(project, FILES)
    return Desk(App(Config(tmp_path / "home"), workers=workers).tools(), project)


def test_a_message_is_answered_with_the_statement_and_nothing_that_only_shares_its_words(desk: Desk) -> None:
    text = desk.call("search_code", query="CSV contains more than 104857600 bytes").text
    first, rest = text.split("\n\n")
    assert first.startswith("src/export.py:1-5 write\n")
    assert 'raise TooLong(f"CSV contains more than {most} bytes")' in first
    assert rest.startswith("tests/test_export.py:2 test_csv_bytes")
    assert "weak" not in text


def test_a_concise_answer_to_a_message_shows_the_whole_statement(desk: Desk) -> None:
    first = desk.call("search_code", query="CSV contains more than 104857600 bytes", concise=True).text.split("\n")[0]
    assert first.startswith("src/export.py:5 write")
    assert first.endswith('raise TooLong(f"CSV contains more than {most} bytes")')


def test_a_question_in_the_words_of_a_message_is_a_question(desk: Desk) -> None:
    text = desk.call("search_code", query="where is it that a CSV contains more than so many bytes").text
    assert "src/other.py" in text


@pytest.mark.parametrize(
    ("query", "line", "part"),
    [
        ("page 8: out of bounds: 6 (stack: [3])", 'err("page %d: out of bounds: %d (stack: %v)")', "out of bounds:"),
        ("cannot open a.txt: no such file", "fail(`cannot open ${name}: no such file`)", "no such file"),
        ("cannot open a.txt: no such file", "# no such file", ""),
        ("cannot open a.txt: no such file", "it doesn't matter when there is no such file", ""),
        ("cannot open a.txt: no such file", "    // like 'no such file'", ""),
        ("cannot open a.txt: no such file", '    """There is no such file.', ""),
        ("cannot open a.txt: no such file", "raise Gone(f'cannot open, no such file: {name}')", "no such file"),
        ("crash when queue is full", 'errors.New("queue is full")', "queue is full"),
        ("crash on start when queue is full", 'errors.New("queue is full")', ""),
        ("fix queue is full", 'errors.New("queue is full")', ""),
        ("no such", '"no such"', ""),
        ("is of no use", '"is of no use"', "is of no use"),
        ("how is of no use", '"is of no use"', ""),
        ("is it of no use?", '"is it of no use"', ""),
        ("one two three four five six seven eight nine ten", '"one two three"', ""),
    ],
)
def test_the_part_is_the_longest_that_stands_after_a_quote(query: str, line: str, part: str) -> None:
    assert message_part(query, ["other\n" + line]) == part
