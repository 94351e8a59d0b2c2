"""Splitting sections into chunks: code stays whole, small neighbours are merged, and no anchor is lost."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deltos.domains.docs.chunk import DocsChunk, chunk_document
from deltos.markup.model import Block, BlockKind, Document, Section


def chunk_page(
    *sections: Section, title: str = "Page", max_tokens: int = 100, small_tokens: int = 20
) -> list[DocsChunk]:
    return chunk_document(Document(title, sections), max_tokens=max_tokens, small_tokens=small_tokens)


def make_section(heading: str, *texts: str, kind: BlockKind = "prose", is_definition: bool = False) -> Section:
    blocks = tuple(Block(text, kind) for text in texts)
    return Section(("Page", heading), (heading.lower(),), blocks, is_definition)


LONG = "word " * 60


def test_short_sections_with_their_own_headings_are_not_merged() -> None:
    assert [chunk.text for chunk in chunk_page(make_section("One", "first"), make_section("Two", "second"))] == [
        "first",
        "second",
    ]


def test_tiny_adjacent_sections_are_merged_with_both_headings_and_anchors() -> None:
    (chunk,) = chunk_page(
        make_section("One", "first", is_definition=True), make_section("Two", "second", is_definition=True)
    )
    assert chunk.text == "first\n\n### Two\n\nsecond"
    assert (chunk.path, chunk.anchors) == (("Page", "One"), ("one", "two"))


def test_large_adjacent_sections_are_not_merged() -> None:
    assert [chunk.path[-1] for chunk in chunk_page(make_section("One", LONG), make_section("Two", LONG))] == [
        "One",
        "Two",
    ]


def test_entries_of_a_reference_are_merged_only_if_tiny() -> None:
    text = "This entry says a little about the function that it describes, no more."
    one, two = make_section("one", text, is_definition=True), make_section("two", text, is_definition=True)
    assert len(chunk_page(one, two)) == 2
    assert (
        len(chunk_page(make_section("one", "x", is_definition=True), make_section("two", "y", is_definition=True))) == 1
    )


def test_a_heading_without_text_is_merged_with_the_next_section() -> None:
    (chunk,) = chunk_page(Section(("Page",), ("top",), ()), make_section("One", LONG))
    assert (chunk.path, chunk.anchors) == (("Page", "One"), ("one", "top"))


def test_empty_chunks_are_dropped_and_their_anchors_move_to_the_next() -> None:
    empty, fences = make_section("Gone"), make_section("Fences", "```python\n\n```", kind="code")
    found = chunk_page(empty, make_section("One", LONG), fences, make_section("Two", LONG), make_section("Last"))
    assert [(chunk.path[-1], chunk.anchors) for chunk in found] == [
        ("One", ("one", "gone")),
        ("Two", ("two", "last", "fences")),
    ]
    assert chunk_page(empty, fences) == []


def test_the_text_of_an_undocumented_entry_is_its_signature() -> None:
    one, two = make_section("open(path)", is_definition=True), make_section("close(file)", LONG, is_definition=True)
    assert [(chunk.path[-1], chunk.text) for chunk in chunk_page(one, two)] == [
        ("open(path)", "open(path)"),
        ("close(file)", LONG),
    ]


def test_the_page_title_begins_the_breadcrumb_once() -> None:
    (chunk,) = chunk_page(Section(("Other",), (), (Block("x"),)), title="Page")
    assert chunk.path == ("Page", "Other")


def test_long_sections_are_split_between_paragraphs() -> None:
    parts = chunk_page(make_section("One", LONG, LONG, LONG))
    assert [chunk.text for chunk in parts] == [LONG, LONG, LONG]
    assert [chunk.anchors for chunk in parts] == [("one",)] * 3


def test_an_introduction_stays_with_the_code_it_introduces() -> None:
    code = "```\n" + "line\n" * 60 + "```"
    first, second = chunk_page(Section(("Page",), (), (Block(LONG), Block("Like this:"), Block(code, "code"))))
    assert first.text == LONG
    assert second.text == f"Like this:\n\n{code}"


def test_an_introduction_stays_with_the_list_it_introduces() -> None:
    first, second = chunk_page(make_section("One", LONG, "**Parameters:**", f"* {LONG}"))
    assert first.text == LONG
    assert second.text == f"**Parameters:**\n\n* {LONG}"


def test_code_is_split_only_if_it_is_extremely_long() -> None:
    code = "```python\n" + "x = 1\n" * 300 + "```"
    assert [chunk.text for chunk in chunk_page(Section(("Page",), (), (Block(code, "code"),)))] == [code]
    huge = "```python\n" + "x = 1\n" * 5_000 + "```"
    parts = chunk_page(Section(("Page",), (), (Block(huge, "code", ("here",)),)))
    assert len(parts) > 1
    assert all(part.text.startswith("```python\n") and part.text.endswith("\n```") for part in parts)


@pytest.mark.parametrize("body", ["", "\n" + "`" * 13_000, "\n" + "x = 1\n" * 20_000 + "`" * 13_000])
def test_a_block_with_a_very_long_fence_is_neither_truncated_nor_repeated(body: str) -> None:
    text = "`" * 13_000 + body
    shown = "".join(chunk.text for chunk in chunk_page(make_section("One", text, kind="code")))
    assert shown.count("`") == text.count("`")
    assert shown.count("x = 1") == text.count("x = 1")


def test_a_paragraph_longer_than_a_chunk_is_split_at_sentences() -> None:
    text = " ".join(f"Sentence number {n} says something." for n in range(60))
    parts = chunk_page(Section(("Page",), (), (Block(text),)))
    assert all(part.tokens <= 101 for part in parts)
    assert all(part.text.endswith(".") for part in parts)
    assert len("".join(chunk_page(Section(("Page",), (), (Block("x" * 900),)))[0].text)) == 400
    lines = "\n".join(f"- item {n}  two  spaces. Further" for n in range(60))
    assert all(part.text in lines for part in chunk_page(Section(("Page",), (), (Block(lines),)))), (
        "the text must be unchanged"
    )


PARAGRAPH = (
    "The server with the lowest number of connections receives the\n"
    "connection. It is recommended where very long sessions are\n"
    "expected, such as those of a directory or of a database."
)


def preformatted_chunks(*anchors: str) -> Section:
    text = "\n\n".join(f"  entry {number}   {PARAGRAPH}" for number in range(9))
    return Section(("Page",), ("top",), (Block(f"```\n{text}\n```", "code", anchors), Block("end " * 90)))


def test_preformatted_prose_is_split_between_its_paragraphs() -> None:
    *parts, last = chunk_page(preformatted_chunks("balance"))
    assert len(parts) == 5
    assert "".join(each.text for each in parts).count(PARAGRAPH) == 9, "a paragraph was split"
    assert all(each.text.startswith("```\n  entry") and each.text.endswith("\n```") for each in parts)
    assert {each.anchors for each in (*parts, last)} == {("balance", "top")}, "a chunk has the wrong anchor"


def test_a_numeric_anchor_is_not_repeated_in_later_chunks() -> None:
    first, *others = chunk_page(preformatted_chunks("index-3"))
    assert first.anchors == ("top", "index-3")
    assert {each.anchors for each in others} == {("top",)}


@pytest.mark.parametrize(
    "code",
    [
        "```python\n" + f"'{PARAGRAPH}'\n" * 9 + "```",
        "```\n" + "# the first line of a comment\nlet value = call(the.thing)\n" * 30 + "```",
        "```\n" + "while this is not done do {\n  then go on with that;\n}\n" * 20 + "```",
        "```\n" + "".join(f"long field{number};   /* what is kept in this field */\n" for number in range(30)) + "```",
    ],
)
def test_code_that_contains_words_is_not_split_as_prose(code: str) -> None:
    (chunk,) = chunk_page(Section(("Page",), ("top",), (Block(code, "code"),)))
    assert chunk.text == code


@settings(max_examples=50)
@given(st.lists(st.tuples(st.sampled_from(["a", "b", "c"]), st.lists(st.integers(1, 900), max_size=5)), max_size=8))
def test_all_text_and_anchors_are_kept(shape: list[tuple[str, list[int]]]) -> None:
    sections = tuple(
        Section(
            ("Page", heading),
            (f"s{n}",),
            tuple(Block(f"w{n}x{m} " * size, anchors=(f"b{n}x{m}",)) for m, size in enumerate(sizes)),
        )
        for n, (heading, sizes) in enumerate(shape)
    )
    found = chunk_page(*sections)
    assert all(chunk.text for chunk in found)
    anchors = {anchor for chunk in found for anchor in chunk.anchors}
    assert not found or anchors == {
        name for s in sections for name in (*s.anchors, *(a for b in s.blocks for a in b.anchors))
    }
    words = " ".join(chunk.text for chunk in found).split()
    for s in sections:
        for block in s.blocks:
            assert words.count(block.text.split()[0]) >= len(block.text.split()) - 1


def test_every_part_of_a_split_table_has_its_header() -> None:
    rows = [f"| name{n} | the meaning of number {n} |" for n in range(40)]
    for head in (["| Name | Meaning |\n| --- | --- |"], ["| Name | Meaning |", "|---|---|"]):
        parts = chunk_page(make_section("Options", *head, *rows, kind="row"))
        assert len(parts) > 1
        opening = "\n".join(head)
        assert all(part.text.startswith(f"{opening}\n| name") for part in parts)
        assert [line for part in parts for line in part.text.split("\n") if line.startswith("| name")] == rows
        other = ["| Key | Use |\n| --- | --- |"] if len(head) == 1 else ["| Key | Use |", "|---|---|"]
        for first in range(1, 40):  # each table keeps its own header, wherever the previous one ends
            keys = [f"| key{n} | - |" for n in range(60)]
            parts = chunk_page(make_section("Options", *head, *rows[:first], "| - | - |", *other, *keys, kind="row"))
            for part in parts:
                opening = ""
                for line in part.text.split("\n"):
                    opening = line if line in ("| Name | Meaning |", "| Key | Use |") else opening
                    assert opening[:5].lower() == line[:5] or not line.startswith(("| name", "| key"))
    bare = chunk_page(make_section("Options", *rows, kind="row"))
    assert [line for part in bare for line in part.text.split("\n")] == rows, "a row was mistaken for a header"
