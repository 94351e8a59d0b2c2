"""Sections of text formats that have no grammar."""

from __future__ import annotations

import pytest

from deltos.languages.sections import sections


def sections_of(language: str, text: str) -> list[tuple[str, int, int, int]]:
    """Return every section with its first line, the line of its title and its last line."""
    found = sections(language, text.split("\n"))
    return [(each.qualified_name, each.start_line, each.line, each.end_line) for each in found]


def test_restructuredtext_titles_nest_in_order_of_their_adornments() -> None:
    text = "=====\nTitle\n=====\n\ntext\n\nPart\n----\nx\n\nInner\n~~~~~\ny\n\nPart two\n--------\nz"
    assert sections_of("restructuredtext", text) == [
        ("Title", 1, 2, 17),
        ("Title.Part", 7, 7, 14),
        ("Title.Part.Inner", 11, 11, 14),
        ("Title.Part two", 15, 15, 17),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "a\n\n----\n\nb",  # a horizontal line between paragraphs
        "    def f\n    -----\n",  # code
        "Longer than this\n---\n",
        "===  ===\na    b\n===  ===\n",  # a table
        "======\n------\n",
        "",
    ],
)
def test_lines_that_only_look_like_titles_are_ignored(text: str) -> None:
    assert sections_of("restructuredtext", text) == []


def test_asciidoc_titles_are_found_outside_listings() -> None:
    text = "= Guide\n\n== Keys\n\n----\n== no title\n----\n\n=== Lost\n\n== End"
    assert [name for name, *_ in sections_of("asciidoc", text)] == [
        "Guide",
        "Guide.Keys",
        "Guide.Keys.Lost",
        "Guide.End",
    ]


def test_thousands_of_titles_take_linear_time() -> None:
    assert len(sections("restructuredtext", ["Part", "----"] * 50_000)) == 50_000


def test_a_line_that_is_too_long_is_not_a_title() -> None:
    assert sections_of("asciidoc", "= " + "x" * 1_000) == []
